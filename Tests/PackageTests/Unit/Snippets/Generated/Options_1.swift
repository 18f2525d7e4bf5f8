// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func Options_1() async throws {
  func configuration(with cache: HTTPCache) -> URLSessionConfiguration {
    var options = CachingOptions()
    options.shouldIntercept = { $0.url?.host == "api.example.com" }  // other requests bypass the cache
    options.willCache = { proposed, request in
      request.url?.path.hasPrefix("/account") == true
        ? CachedURLResponse(
          response: proposed.response, data: proposed.data, userInfo: nil, storagePolicy: .allowedInMemoryOnly)
        : proposed
    }
    return .caching(with: cache, options: options)
  }
}
