// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheAsyncHTTPClient
import NIOCore

private func CacheUpstreamCalls_1() async throws {
  func client(with cache: HTTPCache) -> CachingHTTPClient {
    var configuration = HTTPClient.Configuration()
    configuration.timeout = .init(connect: .seconds(1), read: .seconds(5))
    return CachingHTTPClient(configuration: configuration, redirects: .follow(max: 5), cache: cache)
  }
}
