// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheAsyncHTTPClient
import HTTPCaching
import HTTPTypes
import Loopback
import NIOCore

/// Requests through AsyncHTTPClient to an origin on loopback, with a cache and without, one after another.
struct ClientBench {
  var requests: Int
  var valueSize: Int
  var progress: ProgressLine

  func run() async throws -> [Measurement] {
    let body = [UInt8](repeating: UInt8(ascii: "x"), count: valueSize)
    let origin = try await LoopbackOrigin.start { _ in
      .init(
        fields: [
          .cacheControl: "max-age=3600", .eTag: "\"1\"", .contentType: "text/plain",
          .lastModified: "Tue, 02 Jan 2024 03:04:05 GMT",
        ], bytes: body)
    }
    var configuration = HTTPClient.Configuration()
    configuration.redirectConfiguration = .disallow
    let plain = HTTPClient(configuration: configuration)
    let result: Result<[Measurement], any Error>
    do {
      result = .success(try await measure(origin, plain))
    } catch {
      result = .failure(error)
    }
    try await plain.shutdown()
    await origin.stop()
    return try result.get()
  }

  private func measure(_ origin: LoopbackOrigin, _ plain: HTTPClient) async throws -> [Measurement] {
    let cache = try HTTPCache(
      .init(kind: .shared, memoryCapacity: (64 << 20) + 4 * requests * (valueSize + 1024)))
    let client = CachingHTTPClient(plain, cache: cache)
    let (fresh, valueSize) = (HTTPClientRequest(url: origin.url("/fresh")), valueSize)
    func load(_ url: String) async throws -> () -> RequestLane.Answer {
      let response = try await client.execute(HTTPClientRequest(url: url), deadline: .distantFuture)
      let content = try await response.body.collect(upTo: valueSize)
      return { (content.readableBytes, response.cacheStatus?.source) }
    }
    let head = HTTPRequest(
      method: .get, scheme: "http", authority: "127.0.0.1:\(origin.port)", path: "/fresh")
    // Before the measurement, store the entry to hit, and open the connection.
    _ = try await load(origin.url("/fresh"))()
    let lanes = [
      RequestLane(.plainClient, .asyncHTTPClient, source: nil) { _ in
        let response = try await plain.execute(fresh, deadline: .distantFuture)
        let content = try await response.body.collect(upTo: valueSize)
        return { (content.readableBytes, nil) }
      },
      RequestLane(.clientMiss, source: .network) { try await load(origin.url("/fresh/\($0)")) },
      RequestLane(.clientHit, source: .hit, isWarmedUp: true) { _ in try await load(origin.url("/fresh")) },
      RequestLane(.respond, source: .hit, isWarmedUp: true) { _ in
        let response = try await cache.respond(to: head) { _, _ in throw CancellationError() }
        let content = try await response.body.collect(upTo: valueSize)
        _ = response.head
        return { (content.count, response.source) }
      },
    ]
    return try await RequestLane.measure(
      lanes, .session, requests: requests, valueSize: valueSize,
      originRequests: { origin.requestCount }, progress)
  }
}
