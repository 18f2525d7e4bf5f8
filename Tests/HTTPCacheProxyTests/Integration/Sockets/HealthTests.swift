// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import HTTPCaching
import Logging
import NIOCore
import TestSupport
import Testing

@Suite("Health and readiness", .timeLimit(.minutes(10)))
struct HealthTests {
  @Test("Readiness follows from a connection without a request, or from requests")
  func readiness() async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
    } origin: { _, connection in
      try await connection.send(ok("hello", "Cache-Control: no-store\r\n"))
      return true
    } _: { proxy in
      expect(try await proxy.ask("GET /ready"), startsWith: "HTTP/1.1 200 ")
      #expect(proxy.origin.requests.isEmpty)
      expect(try await proxy.get("/"), startsWith: "HTTP/1.1 200 ")
      expect(try await proxy.ask("GET /ready"), startsWith: "HTTP/1.1 200 ")
    }
  }

  @Test("A proxy whose shared tier fails says so, and stays ready")
  func withoutTier() async throws {
    let tier = InMemorySharedTier(InMemorySharedServer(clock: SystemCacheClock.shared))
    tier.fault = .failing
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
    } cache: {
      $0.sharedTier = HTTPCache.SharedTierOptions(tier)
    } origin: { _, _ in
      true
    } _: { proxy in
      let answer = try await proxy.ask("GET /ready")
      expect(answer, startsWith: "HTTP/1.1 200 ")
      expect(answer, endsWith: "\r\n\r\nready; the shared tier is unavailable\n")
    }
  }

  @Test("Without an origin the proxy is healthy and not ready")
  func unreachable() async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
    } origin: { _, _ in
      false
    } _: { proxy in
      await proxy.origin.stop()
      let answer = try await proxy.ask("GET /ready")
      expect(answer, startsWith: "HTTP/1.1 503 ")
      #expect(!answer.contains("127.0.0.1"))
      expect(try await proxy.ask("GET /health"), startsWith: "HTTP/1.1 200 ")
    }
  }

  @Test("A draining proxy reports neither healthy nor ready until its last request ends")
  func draining() async throws {
    let (isAsked, isReleased) = (Gate(), Gate())
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
    } origin: { _, connection in
      isAsked.open()
      await isReleased.pass()
      try await connection.send(ok("hello"))
      return true
    } _: { proxy in
      let idle = try await RawClient.connect(to: proxy.port)
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
        await isAsked.pass()
        defer { isReleased.open() }
        proxy.proxy.stop()
        // The proxy closes the main port first, and then the idle connections.
        #expect(try await idle.talk { await $0.readAll() }.isEmpty)
        await #expect(throws: (any Error).self) {
          try await RawClient.connect(to: proxy.port).talk { _ in }
        }
        for path in ["/health", "/ready"] {
          let answer = try await proxy.ask("GET \(path)")
          expect(answer, startsWith: "HTTP/1.1 503 ")
          expect(answer, endsWith: "\r\nstopping\n")
        }
        isReleased.open()
        expect(await conversation.readAll(), endsWith: "\r\n\r\nhello")
      }
      try await proxy.running.value
      #expect((try? await proxy.ask("GET /health")) == nil)
    }
  }

  @Test("Stopping at once closes requests in flight, draining or not", arguments: [true, false])
  func atOnce(drainsFirst: Bool) async throws {
    let isAsked = Gate()
    try await ProxyFixture.run(origin: { _, connection in
      isAsked.open()
      _ = await connection.readAll()
      return false
    }) { proxy in
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
        await isAsked.pass()
        if drainsFirst { proxy.proxy.stop() }
        proxy.proxy.stopAtOnce()
        #expect(await conversation.readAll() == "")
      }
      try await proxy.running.value
    }
  }

  // MARK: - What changes while the proxy serves

  @Test("Limits, timeouts and the token change while the proxy serves, and nothing else")
  func update() async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
    } origin: { _, connection in
      try await connection.send(ok("hello", "Cache-Control: no-store\r\n"))
      return true
    } _: { proxy in
      let post = "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
      expect(try await proxy.exchange(post), startsWith: "HTTP/1.1 200 ")
      var configuration = proxy.proxy.configuration
      configuration.limits.requestBytes = 2
      configuration.adminToken = "secret"
      configuration.name = "other"
      try proxy.proxy.update(configuration)
      let refused = try await proxy.exchange(post)
      expect(refused, startsWith: "HTTP/1.1 413 ")
      let purge = "POST /purge?all HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n"
      expect(
        try await RawClient.connect(to: proxy.adminPort).exchange(purge + "\r\n"), startsWith: "HTTP/1.1 401 "
      )
      expect(
        try await RawClient.connect(to: proxy.adminPort).exchange(
          purge + "Authorization: Bearer secret\r\n\r\n"),
        startsWith: "HTTP/1.1 200 ")
      #expect(try await proxy.get("/").contains("Via: 1.1 httpcache\r\n"))
    }
  }

  @Test("A higher connection limit admits waiting clients")
  func connectionLimit() async throws {
    let mayAnswer = Gate()
    try await ProxyFixture.run {
      $0.limits.connections = 1
    } origin: { request, connection in
      if request.contains("/wait") { await mayAnswer.pass() }
      try await connection.send(ok("hello", "Cache-Control: no-store\r\n"))
      return true
    } _: { proxy in
      defer { mayAnswer.open() }
      try await RawClient.connect(to: proxy.port).talk { first in
        try await first.send("GET /wait HTTP/1.1\r\nHost: a.example\r\n\r\n")
        await proxy.origin.arrived(1)
        try await RawClient.connect(to: proxy.port).talk { second in
          try await second.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
          var configuration = proxy.proxy.configuration
          configuration.limits.connections = 2
          try proxy.proxy.update(configuration)
          expect(await second.read(until: "hello"), endsWith: "hello")
        }
      }
    }
  }

  @Test("A listen error names the address and the reason", arguments: [true, false])
  func listenError(isAdmin: Bool) async throws {
    try await ProxyFixture.run(origin: { _, _ in false }) { taken in
      var configuration = ProxyConfiguration(
        listen: [.init(host: "127.0.0.1", port: isAdmin ? 0 : taken.port)],
        origin: taken.proxy.configuration.origin
      )
      if isAdmin { configuration.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: taken.port) }
      let proxy = CachingProxy(
        configuration, cache: try HTTPCache(.init(kind: .shared)),
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      let error = await #expect(throws: CachingProxy.ListenError.self) { try await proxy.run() }
      #expect(error?.endpoint.port == taken.port)
      #expect(error?.purpose == (isAdmin ? .administrators : .clients))
      #expect(error?.reason.hasPrefix("address already in use; ") == true)
    }
  }

  // MARK: - What clients learn

  @Test("A 502 response reveals nothing about the origin", arguments: [true, false])
  func badGateway(isDown: Bool) async throws {
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send("nonsense at 10.1.2.3\r\n\r\n")
      return false
    }) { proxy in
      if isDown { await proxy.origin.stop() }
      let answer = try await proxy.get("/")
      expect(answer, startsWith: "HTTP/1.1 502 ")
      #expect(
        answer.contains(
          "Proxy-Status: httpcache; error=\(isDown ? "connection_refused" : "http_protocol_error")\r\n"))
      expect(
        answer,
        endsWith: isDown
          ? "\r\n502: the server cannot be reached.\n" : "\r\n502: the server sent an invalid response.\n")
      #expect(!answer.contains("127.0.0.1") && !answer.contains("nonsense"))
    }
  }
}
