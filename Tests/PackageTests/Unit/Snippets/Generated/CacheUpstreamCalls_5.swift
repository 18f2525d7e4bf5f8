// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheAsyncHTTPClient

private func CacheUpstreamCalls_5() async throws {
  func client(for cache: HTTPCache) -> CachingHTTPClient {
    var options = CachingHTTPClient.Options()
    options.canResendContent = { !$0.url.hasPrefix("https://uploads.example.com/") }
    return CachingHTTPClient(cache: cache, options: options)
  }
}
