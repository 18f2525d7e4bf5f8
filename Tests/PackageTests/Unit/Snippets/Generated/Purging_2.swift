// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCaching

private func Purging_2() async throws {
  func tagged() throws -> HTTPCache {
    var configuration = HTTPCache.Configuration(kind: .shared)
    configuration.rules.tagFields = ["Surrogate-Key", "Cache-Tag"]
    return try HTTPCache(configuration)
  }

  func saved(_ product: Int, in cache: HTTPCache) {
    // All responses with `Surrogate-Key: … product-7 …`, on all hosts, in one pass.
    cache.remove(.groups(["product-\(product)", "home"]))
  }
}
