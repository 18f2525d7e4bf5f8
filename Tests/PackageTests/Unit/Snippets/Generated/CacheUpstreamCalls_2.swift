// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheAsyncHTTPClient
import NIOHTTP1

private func CacheUpstreamCalls_2() async throws {
  func client(with cache: HTTPCache) -> CachingHTTPClient {
    var options = CachingHTTPClient.Options()
    options.partition = { $0.headers.first(name: "X-Account") }
    options.shouldIntercept = { $0.url.hasPrefix("https://api.example.com/") }  // others bypass the cache
    return CachingHTTPClient(cache: cache, options: options)
  }
}
