// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheAsyncHTTPClient
import NIOCore

private func HTTPCacheAsyncHTTPClient_1() async throws {
  let cache = try HTTPCache(.init(kind: .shared, memoryCapacity: 256 << 20))
  let client = CachingHTTPClient(.shared, cache: cache)

  let request = HTTPClientRequest(url: "https://api.example.com/prices")
  let response = try await client.execute(request, timeout: .seconds(10))
  let prices = try await response.body.collect(upTo: 1 << 20)
  print(prices.readableBytes, response.cacheStatus?.description ?? "not cached")
  _ = cache
  _ = client
  _ = request
  _ = response
  _ = prices
}
