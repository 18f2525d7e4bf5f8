// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func MigratingFromURLCache_1() async throws {
  func migrate(_ folder: URL, _ request: URLRequest) {
    let cache = HTTPURLCache(memoryCapacity: 16 << 20, diskCapacity: 256 << 20, directory: folder)
    let session = URLSession(configuration: .caching(with: cache))  // instead of configuration.urlCache = cache
    _ = session

    _ = cache.cachedResponse(for: request)  // at any age
    cache.removeCachedResponses(since: Date(timeIntervalSinceNow: -86_400))
    cache.diskCapacity = 64 << 20  // evicts at once
  }
}
