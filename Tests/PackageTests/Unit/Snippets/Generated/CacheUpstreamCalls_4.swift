// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheAsyncHTTPClient
import Logging
import NIOCore
import NIOHTTP1

private func CacheUpstreamCalls_4() async throws {
  struct Prices: Sendable {
    let client: any RequestSending

    func load() async throws -> String {
      let request = HTTPClientRequest(url: "https://api.example.com/prices")
      let response = try await client.execute(request, timeout: .seconds(5))
      return String(buffer: try await response.body.collect(upTo: 1 << 20))
    }
  }

  struct PricesFromMemory: RequestSending {
    func execute(
      _ request: HTTPClientRequest, deadline: NIODeadline, logger: Logger?
    ) async throws -> HTTPClientResponse {
      HTTPClientResponse(status: .ok, body: .bytes(ByteBuffer(string: "apples 3")))
    }
  }

  func test() async throws {
    let prices = Prices(client: PricesFromMemory())
    print(try await prices.load())
  }
}
