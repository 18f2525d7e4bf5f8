// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheAsyncHTTPClient
import HTTPCacheTesting
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import Synchronization
import Testing

@testable import Gateway

/// Answers the upstream calls from memory, and counts them.
private final class UpstreamsInMemory: RequestSending {
  private let calls = Mutex(0)

  var callCount: Int { calls.withLock { $0 } }

  func execute(
    _ request: HTTPClientRequest, deadline: NIODeadline, logger: Logger?
  ) async throws -> HTTPClientResponse {
    let number = calls.withLock { calls in
      calls += 1
      return calls
    }
    return HTTPClientResponse(status: .ok, body: .bytes(ByteBuffer(string: "answer \(number)")))
  }
}

@Suite("The routes of the gateway")
struct RouteTests {
  @Test("A dashboard is made of two upstream calls, and stored until the prices change")
  func dashboard() async throws {
    let upstreams = UpstreamsInMemory()
    let gateway = try Gateway(upstreams: Upstreams(), client: upstreams, clock: TestClock())
    let app = Application(responder: gateway.responder())
    try await app.test(.router) { client in
      for _ in 1...2 {
        try await client.execute(uri: "/dashboard", method: .get) { #expect($0.status == .ok) }
      }
      #expect(upstreams.callCount == 2)
      #expect(gateway.routeCache.counts[.hit] == 1)

      try await client.execute(uri: "/prices", method: .put) { #expect($0.status == .ok) }
      try await client.execute(uri: "/dashboard", method: .get) { #expect($0.status == .ok) }
      #expect(upstreams.callCount == 5)
    }
    try await gateway.shutdown()
  }

  @Test("Clients must not store offers, and their parameters do not matter")
  func offers() async throws {
    let upstreams = UpstreamsInMemory()
    let gateway = try Gateway(upstreams: Upstreams(), client: upstreams, clock: TestClock())
    let app = Application(responder: gateway.responder())
    try await app.test(.router) { client in
      for uri in ["/offers", "/offers?utm_source=mail"] {
        try await client.execute(uri: uri, method: .get) { response in
          #expect(response.headers[.cacheControl] == "no-store")
        }
      }
      #expect(upstreams.callCount == 1)
    }
    try await gateway.shutdown()
  }
}
