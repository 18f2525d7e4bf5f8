// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func CacheYourAPIClient_3() async throws {
  func configuration(with cache: HTTPCache) -> URLSessionConfiguration {
    var options = CachingOptions()
    options.partition = { $0.value(forHTTPHeaderField: "X-Account") }
    return .caching(with: cache, options: options)
  }

  func signOut(_ account: String, from cache: HTTPCache) {
    cache.remove(.partition(account))
  }
}
