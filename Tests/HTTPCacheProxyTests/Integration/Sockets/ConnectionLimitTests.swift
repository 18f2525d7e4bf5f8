// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCacheProxy
import HTTPCaching
import NIOCore
import TestSupport
import Testing

@Suite("Limits of client connections", .timeLimit(.minutes(10)))
struct ConnectionLimitTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"
  private static let wait = "GET /wait HTTP/1.1\r\nHost: a.example\r\n\r\n"

  /// A proxy whose origin answers `/wait` when the test says so.
  private static func run(
    _ configure: (inout ProxyConfiguration) -> Void,
    _ body: (ProxyFixture, Gate) async throws -> Void
  ) async throws {
    let mayAnswer = Gate()
    try await ProxyFixture.run {
      configure(&$0)
    } origin: { request, connection in
      if request.contains("/wait") { await mayAnswer.pass() }
      try await connection.send(ok("hello", "Cache-Control: no-store\r\n"))
      return true
    } _: { proxy in
      defer { mayAnswer.open() }
      try await body(proxy, mayAnswer)
    }
  }

  /// A client that is served, and then keeps its connection until the proxy closes it.
  private static func keep(_ client: RawClient, isServed: Gate) async throws -> String {
    try await client.talk { conversation in
      try await conversation.send(get)
      await conversation.read(until: "hello")
      isServed.open()
      return await conversation.readAll()
    }
  }

  @Test("At the limit, the connection that is idle longest is closed, and the new client is served")
  func oldest() async throws {
    try await Self.run {
      $0.limits.connections = 2
    } _: { proxy, _ in
      try await RawClient.connect(to: proxy.port).talk { first in
        try await first.send(Self.get)
        await first.read(until: "hello")
        let isServed = Gate()
        async let second = Self.keep(RawClient.connect(to: proxy.port), isServed: isServed)
        await isServed.pass()
        try await first.send(Self.get)
        await first.read(until: "hello", times: 2)
        expect(try await proxy.get("/"), endsWith: "hello")
        let text = try await second
        #expect(text.ranges(of: "hello").count == 1)
        try await first.send(Self.get)
        await first.read(until: "hello", times: 3)
      }
      #expect(proxy.proxy.statistics.idleClosed.value == 1)
    }
  }

  @Test("Connections that have sent nothing make room for clients with requests")
  func silent() async throws {
    try await Self.run {
      $0.limits.connections = 4
    } _: { proxy, _ in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 1...40 {
          let client = try await RawClient.connect(to: proxy.port)
          group.addTask { try await client.talk { _ = await $0.readAll() } }
        }
        for _ in 1...10 { expect(try await proxy.get("/"), endsWith: "hello") }
        proxy.proxy.stop()
        try await group.waitForAll()
      }
    }
  }

  @Test("A connection with a request in progress keeps its place until it is idle")
  func busy() async throws {
    try await Self.run {
      $0.limits.connections = 1
    } _: { proxy, mayAnswer in
      try await RawClient.connect(to: proxy.port).talk { first in
        try await first.send(Self.wait)
        await proxy.origin.arrived(1)
        let client = try await RawClient.connect(to: proxy.port)
        async let second = client.talk { conversation in
          try await conversation.send(Self.get)
          return await conversation.read(until: "hello")
        }
        mayAnswer.open()
        expect(await first.readAll(), endsWith: "hello")
        let text = try await second
        expect(text, endsWith: "hello")
      }
    }
  }

  @Test("An address at its limit loses its idle connection, and gets no other while all are busy")
  func perAddress() async throws {
    try await Self.run {
      $0.limits.connectionsPerAddress = 1
    } _: { proxy, mayAnswer in
      let isServed = Gate()
      async let first = Self.keep(RawClient.connect(to: proxy.port), isServed: isServed)
      await isServed.pass()
      try await RawClient.connect(to: proxy.port).talk { second in
        try await second.send(Self.wait)
        await proxy.origin.arrived(2)
        let third = try await RawClient.connect(to: proxy.port).talk { await $0.readAll() }
        #expect(third == "")
        mayAnswer.open()
        await second.read(until: "hello")
      }
      let text = try await first
      #expect(text.ranges(of: "hello").count == 1)
      expect(try await proxy.get("/"), endsWith: "hello")
    }
  }

  @Test("A trusted peer has no limit, and the address in its PROXY header has", arguments: [false, true])
  func trusted(expectsHeader: Bool) async throws {
    try await Self.run {
      $0.limits.connectionsPerAddress = 1
      $0.trustedPeers = (try? [ProxyConfiguration.AddressRange(parsing: "127.0.0.1")]) ?? []
      $0.expectsProxyHeader = expectsHeader
    } _: { proxy, mayAnswer in
      @Sendable func header(_ number: Int) -> String {
        expectsHeader ? "PROXY TCP4 192.0.2.\(number) 192.0.2.9 1 80\r\n" : ""
      }
      try await RawClient.connect(to: proxy.port).talk { first in
        try await first.send(header(1) + Self.wait)
        await proxy.origin.arrived(1)
        let close = Self.get.replacing("\r\n\r\n", with: "\r\nConnection: close\r\n\r\n")
        for (number, isServed) in [(1, !expectsHeader), (2, true)] {
          let answer = try await RawClient.connect(to: proxy.port).exchange(header(number) + close)
          #expect(answer.hasSuffix("hello") == isServed)
        }
        mayAnswer.open()
        await first.read(until: "hello")
      }
    }
  }
}
