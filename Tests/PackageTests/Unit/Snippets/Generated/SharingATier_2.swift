// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheEngine
import HTTPCaching

private func SharingATier_2() async throws {
  func priceChanged(_ product: TargetURI, in cache: HTTPCache) async throws {
    cache.remove(.group("prices", of: product))
    // Only if no process may serve an old response after this.
    let reach = await cache.confirmRemovals()
    if reach != .everywhere { print("Another process may serve the old price until it is told, two seconds at most.") }
  }
}
