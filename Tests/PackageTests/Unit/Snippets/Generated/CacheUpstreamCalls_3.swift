// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheAsyncHTTPClient
import NIOCore

private func CacheUpstreamCalls_3() async throws {
  func settings(_ client: CachingHTTPClient) async throws -> HTTPClientResponse {
    let request = HTTPClientRequest(url: "https://config.example.com/settings")
    // Fresh for a minute, whatever the server says.
    return try await client.execute(
      request, timeout: .seconds(5), options: .init(lifetime: .seconds(60)))
  }
}
