// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Testing

@testable import CacheBench
@testable import CacheBenchServers

@Suite(.timeLimit(.minutes(10))) struct ThreadedOriginTests {
  @Test func `the origin keeps connections, counts requests, and refuses them after its end`() async throws {
    let origin = try ThreadedOrigin { request in
      let body = request.isFor("/long") ? "longer" : request.has("accept: a") ? "a" : ""
      return Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
    }
    let clients = try (0..<3).map { _ in try LoopbackClient(port: origin.port) }
    for client in clients + clients {
      #expect(try client.get("/long").bodyBytes == 6)
      #expect(try client.get("/short").bodyBytes == 0)
      #expect(try client.get("/short", fields: ["Accept: a"]).bodyBytes == 1)
    }
    #expect(origin.requestCount == 18)
    await origin.stop()
    for client in clients {
      #expect(throws: BenchError.self) { try client.get("/long") }
    }
    #expect(throws: BenchError.self) { _ = try LoopbackClient(port: origin.port) }
  }
}
