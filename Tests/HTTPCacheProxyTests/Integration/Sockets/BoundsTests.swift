// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import HTTPCaching
import NIOCore
import TestSupport
import Testing

@Suite("Resource limits for clients and origins", .timeLimit(.minutes(10)))
struct BoundsTests {
  private static let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"

  // MARK: - Interim responses

  static let floods: [(head: String, count: Int, status: Int)] = [
    (hint, 64, 200), (hint, 65, 502), ("HTTP/1.1 100 Continue\r\n\r\n", 64, 200),
    ("HTTP/1.1 100 Continue\r\n\r\n", 65, 502),
    ("HTTP/1.1 103 Early Hints\r\nLink: <\(String(repeating: "a", count: 2000))>\r\n\r\n", 31, 200),
    ("HTTP/1.1 103 Early Hints\r\nLink: <\(String(repeating: "a", count: 2000))>\r\n\r\n", 33, 502),
  ]

  @Test("An exchange has at most 64 interim responses, and 64 KiB of their heads", arguments: floods)
  func interimFlood(head: String, count: Int, status: Int) async throws {
    let isClosed = Gate()
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send(String(repeating: head, count: count) + ok("done"))
      if status != 200 {
        _ = await connection.read(until: "never")
        isClosed.open()
      }
      return status == 200
    }) { proxy in
      let answer = try await proxy.get("/")
      #expect(answer.contains("HTTP/1.1 \(status) "))
      #expect(answer.contains("error=http_protocol_error") == (status == 502))
      if head == Self.hint { #expect(answer.ranges(of: head).count == 64) }
      if status != 200 { await isClosed.pass() }
    }
  }

  @Test("A response after interim ones is delivered even if its connection has closed")
  func closedBehindInterim() async throws {
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send(
        Self.hint + Self.hint + "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
          + String(repeating: "a", count: 9999) + "z")
      return false
    }) { proxy in
      let answer = try await proxy.get("/")
      expect(answer, startsWith: Self.hint + Self.hint + "HTTP/1.1 200 OK\r\n")
      #expect(answer.contains("az\r\n"))
      expect(answer, endsWith: "\r\n0\r\n\r\n")
    }
  }

  // MARK: - Clients that leave

  static let partings: [(request: String, answer: String)] = [
    ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", ""),
    // The next request waits already, and the proxy reads no further.
    ("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n", ""),
    // The content is not wanted yet.
    ("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", ""),
    // The response is on its way.
    ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"),
  ]

  @Test("A client that disconnects ends the request to the origin", arguments: partings)
  func clientLeaves(request: String, answer: String) async throws {
    let (arrival, end) = (Gate(), Gate())
    try await ProxyFixture.run {
      $0.allowsHalfClosure = false
    } origin: { _, connection in
      try await connection.send(answer)
      arrival.open()
      _ = await connection.readAll()
      end.open()
      return false
    } _: { proxy in
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send(request)
        await arrival.pass()
        if !answer.isEmpty { await conversation.read(until: "half") }
        try await conversation.closeHalf()
        // The client still reads, and gets nothing more.
        #expect(await conversation.readAll().hasSuffix("half") == !answer.isEmpty)
        await end.pass()
      }
      await end.pass()
      #expect(proxy.origin.requests.count == 1)
    }
  }

  @Test("A half-closed client is served from memory, and from the origin if allowed")
  func halfClosure() async throws {
    let origin: RawOrigin.Answering = { _, connection in
      try await connection.send(ok("hello", "Cache-Control: max-age=3600\r\n"))
      return true
    }
    let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    try await ProxyFixture.run({ $0.allowsHalfClosure = false }, origin: origin) { proxy in
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send(request)
        await conversation.read(until: "hello")
      }
      expect(
        try await RawClient.connect(to: proxy.port).exchange(request + request, closesHalf: true),
        endsWith: "hello"
      )
    }
    try await ProxyFixture.run({ $0.allowsHalfClosure = true }, origin: origin) { proxy in
      expect(
        try await RawClient.connect(to: proxy.port).exchange(request, closesHalf: true), endsWith: "hello")
    }
  }

  // MARK: - Content in flight

  @Test("Content that clients leave unread counts as in flight until they disconnect")
  func unreadContent() async throws {
    let isGone = Gate()
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      let chunk = "1\r\na\r\n"
      let many = String(repeating: chunk, count: 10_000)
      while connection.channel.isActive {
        guard (try? await connection.send(many)) != nil else { break }
      }
      isGone.open()
      return false
    }) { proxy in
      let transit = proxy.proxy.cache.transit
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await conversation.read(until: "HTTP/1.1 200 ")
        // It reads no more.
        try await eventually { transit.used > 0 }
      }
      await isGone.pass()
      try await eventually { transit.used == 0 }
    }
  }
}
