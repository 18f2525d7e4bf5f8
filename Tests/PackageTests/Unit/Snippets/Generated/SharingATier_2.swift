// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheEngine
import HTTPCaching

private func SharingATier_2() async throws {
  func priceChanged(_ product: TargetURI, in cache: HTTPCache) async throws {
    cache.remove(.group("prices", of: product))
    // Only where the next response must not be an old one anywhere, such as before the page of an editor is shown.
    let reach = await cache.confirmRemovals()
    if reach != .everywhere { print("Another process may serve the old price for two seconds.") }
  }
}
