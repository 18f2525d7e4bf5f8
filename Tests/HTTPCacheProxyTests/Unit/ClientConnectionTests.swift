// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCaching
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Client connections without sockets", .timeLimit(.minutes(10)))
struct ClientConnectionTests {
  private static func get(_ path: String, _ fields: String = "") -> String {
    "GET \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
  }

  @Test(
    "Pipelined requests are answered from memory in order, however their bytes arrive",
    arguments: [true, false])
  func pipelining(isWhole: Bool) async throws {
    let cache = try await ConnectionFixture.filledCache()
    try inOneThread {
      let fixture = try ConnectionFixture(cache: cache)
      let requests =
        "\r\n" + Self.get("/1") + "HEAD /2 HTTP/1.1\r\nHost: a\r\n\r\n"
        + "OPTIONS /3 HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n"
        + "TRACE /4 HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n" + Self.get("/2", "Connection: close\r\n")
      try fixture.receive(requests + Self.get("/1"), isWhole: isWhole)
      let sent = fixture.wire.sent
      #expect(sent.ranges(of: "HTTP/1.1 ").count == 5, "\(sent)")
      let order = ["hello /1", "HTTP/1.1 200", "TRACE /4 HTTP/1.1", "Connection: close\r\n", "hello /2"]
      var rest = sent[...]
      for text in order {
        let range = try #require(rest.firstRange(of: text), "\(text) in \(rest)")
        rest = rest[range.upperBound...]
      }
      #expect(rest.isEmpty)
      // Bytes that have already arrived show that the client may still send (RFC 9112 §9.6).
      #expect(isWhole ? fixture.wire.outputIsClosed : !fixture.channel.isActive)
      fixture.finish()
    }
  }

  @Test("No request is read or answered while the client does not accept responses")
  func backPressure() async throws {
    let cache = try await ConnectionFixture.filledCache()
    try inOneThread {
      let fixture = try ConnectionFixture(cache: cache)
      fixture.channel.isWritable = false
      let reads = fixture.wire.reads
      try fixture.receive(Self.get("/1") + Self.get("/2"))
      #expect(fixture.wire.sent.isEmpty)
      #expect(fixture.wire.reads == reads)
      fixture.channel.isWritable = true
      fixture.channel.pipeline.fireChannelWritabilityChanged()
      #expect(fixture.wire.sent.ranges(of: "hello /").count == 2)
      #expect(fixture.wire.reads > reads)
      fixture.finish()
    }
  }

  @Test("Large content goes out piece by piece, as the channel takes it")
  func pieces() async throws {
    let cache = try await ConnectionFixture.filledCache(["/large": String(repeating: "a", count: 300_000)])
    try inOneThread {
      let fixture = try ConnectionFixture(takes: false, cache: cache)
      try fixture.receive(Self.get("/large") + Self.get("/1"))
      let first = fixture.wire.sent.utf8.count
      #expect((16_000..<200_000).contains(first))
      fixture.takeAll()
      #expect((first + 16_000..<300_000).contains(fixture.wire.sent.utf8.count))
      while fixture.takeAll() {}
      #expect(fixture.wire.sent.hasSuffix("\r\n\r\nhello /1"))
      #expect(fixture.wire.sent.utf8.count(where: { $0 == UInt8(ascii: "a") }) >= 300_000)
      fixture.finish()
    }
  }

  @Test("Content from a file keeps a block while the client takes it, for a second at most")
  func files() async throws {
    // So a piece has 8 KiB, and 6 blocks may be in memory.
    try await HTTPCache.withContents(["/large": 300_000], inFiles: true, transit: 2 << 20) { cache, _ in
      try inOneThread {
        let fixture = try ConnectionFixture(takes: false, cache: cache)
        let range = "GET /large HTTP/1.1\r\nHost: a\r\nRange: bytes=100000-100099\r\n\r\n"
        try fixture.receive(Self.get("/large") + range)
        var content: OutgoingContent? {
          if case .content(let content)? = fixture.connection.current?.work { content } else { nil }
        }
        #expect(content?.hasBlock == true && cache.transit.used == 72 << 10)
        fixture.pass(.milliseconds(999))
        #expect(content?.hasBlock == true && cache.transit.used == 72 << 10)
        fixture.pass(.milliseconds(1))
        #expect(content?.hasBlock == false && cache.transit.used == 8 << 10)
        while fixture.takeAll() { fixture.pass(.seconds(1)) }
        let bytes = fixture.wire.sentBytes
        let (all, part) = (contentBytes(300_000), contentBytes(100, from: 100_000))
        let start = try #require(bytes.firstRange(of: all.prefix(100))).lowerBound
        #expect(bytes.dropFirst(start).starts(with: all))
        #expect(bytes.suffix(100) == part[...] && cache.transit.used == 0)
        fixture.finish()
      }
    }
  }

  @Test("A client that takes everything at once gets large content in several turns of the event loop")
  func turns() async throws {
    let count = 3 * OutgoingContent.turn
    let cache = try await ConnectionFixture.filledCache(["/large": String(repeating: "a", count: count)])
    try inOneThread {
      let fixture = try ConnectionFixture(cache: cache)
      try fixture.receive(Self.get("/large") + Self.get("/1"))
      var sent = 0
      for _ in 1...3 {
        let now = fixture.wire.sent.utf8.count
        #expect((1...OutgoingContent.turn + 200_000).contains(now - sent))
        sent = now
        fixture.channel.embeddedEventLoop.run()
        #expect(fixture.wire.sent.utf8.count == sent)
        fixture.pass(LoopTurns.pause)
      }
      #expect(fixture.wire.sent.utf8.count > count)
      #expect(fixture.wire.sent.hasSuffix("\r\n\r\nhello /1"))
      #expect(fixture.connection.context.cache.transit.used == 0)
      fixture.finish()
    }
  }

  @Test(
    "Invalid requests are refused, however their bytes arrive, and the rest is discarded",
    arguments: [true, false])
  func refusals(isWhole: Bool) throws {
    for (request, status) in RefusedRequests.all {
      // Where content follows, a task waits for it.
      let hasContent = request.contains("HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
      if hasContent { continue }
      let fixture = try ConnectionFixture {
        $0.limits.headLineBytes = 1000
        $0.limits.headFields = 20
        $0.limits.requestBytes = 1000
      }
      try fixture.receive(request + Self.get("/smuggled"), isWhole: isWhole)
      let sent = fixture.wire.sent
      #expect(sent.hasPrefix("HTTP/1.1 \(status) "), "\(request.debugDescription): \(sent)")
      #expect(sent.ranges(of: "\r\nVia: ").count == 1, "\(request.debugDescription): \(sent)")
      #expect(fixture.wire.outputIsClosed)
      fixture.finish()
    }
  }

  @Test("The PROXY header precedes the first request", arguments: [true, false])
  func proxyHeader(isWhole: Bool) async throws {
    let cache = try await ConnectionFixture.filledCache()
    try inOneThread {
      let fixture = try ConnectionFixture(cache: cache) {
        $0.expectsProxyHeader = true
        $0.trustedPeers = [try ProxyConfiguration.AddressRange(parsing: "127.0.0.1")]
      }
      try fixture.receive("PROXY TCP4 192.0.2.1 192.0.2.2 4711 80\r\n" + Self.get("/1"), isWhole: isWhole)
      #expect(fixture.wire.sent.hasSuffix("hello /1"))
      #expect(fixture.connection.forwarder?.address == IPAddress("192.0.2.1"))
      fixture.finish()
    }
  }

  @Test("A stopping proxy ends idle connections at once, and others after a started request")
  func stopping() async throws {
    let cache = try await ConnectionFixture.filledCache()
    try inOneThread {
      for begun in ["", "GET /1 HT"] {
        let fixture = try ConnectionFixture(cache: cache)
        try fixture.receive(begun)
        fixture.connection.context.isDraining.store(true, ordering: .relaxed)
        fixture.connection.drain(isPatient: false)
        #expect(fixture.wire.outputIsClosed == begun.isEmpty)
        if !begun.isEmpty {
          try fixture.receive("TP/1.1\r\nHost: a\r\n\r\n" + Self.get("/2"))
          #expect(fixture.wire.sent.hasSuffix("Connection: close\r\n\r\nhello /1"))
          #expect(fixture.wire.outputIsClosed)
        }
        fixture.finish()
      }
    }
  }

  @Test("After its last response, a connection waits two seconds for the client to close")
  func lingering() throws {
    let fixture = try ConnectionFixture()
    try fixture.receive("nonsense\r\n\r\n")
    #expect(fixture.wire.outputIsClosed)
    fixture.pass(.milliseconds(1999))
    #expect(fixture.channel.isActive)
    fixture.pass(.milliseconds(1))
    #expect(!fixture.channel.isActive)
    fixture.finish()
  }

  @Test(
    "A client that does not read a refusal is disconnected after the stall timeout",
    arguments: ["GET / HT", "nonsense\r\n\r\n"])
  func refusalUnread(request: String) throws {
    let fixture = try ConnectionFixture(takes: false) {
      // The head has had its time as soon as it begins.
      $0.timeouts.head = .zero
      $0.timeouts.stall = .seconds(1)
    }
    try fixture.receive(request)
    fixture.pass(.zero)
    #expect(!fixture.wire.sent.isEmpty)
    fixture.pass(.milliseconds(999))
    #expect(fixture.channel.isActive)
    fixture.pass(.milliseconds(1))
    #expect(!fixture.channel.isActive)
    fixture.finish()
  }

  @Test(
    "A trusted proxy has ten times the stall timeout, whatever its client is",
    arguments: [("10.0.0.0/8", false, 1), ("127.0.0.1", false, 10), ("127.0.0.1", true, 10)])
  func trustedStall(trusted: String, sendsHeader: Bool, factor: Int64) throws {
    let fixture = try ConnectionFixture(takes: false) {
      $0.timeouts.stall = .seconds(1)
      $0.trustedPeers = [try ProxyConfiguration.AddressRange(parsing: trusted)]
      $0.expectsProxyHeader = sendsHeader
    }
    if sendsHeader { try fixture.receive("PROXY TCP4 192.0.2.1 192.0.2.2 1 80\r\n") }
    try fixture.receive("nonsense\r\n\r\n")
    fixture.pass(.milliseconds(1000 * factor - 1))
    #expect(fixture.channel.isActive)
    fixture.pass(.milliseconds(1))
    #expect(!fixture.channel.isActive)
    fixture.finish()
  }

  @Test("A client that takes bytes of a refusal has time for the rest")
  func refusalTakenSlowly() throws {
    let fixture = try ConnectionFixture(takes: false) { $0.timeouts.stall = .seconds(1) }
    var taken: UInt64 = 0
    fixture.connection.uptake = PeerUptake { _ in PeerUptake.Queue(acknowledged: taken, isEmpty: false) }
    try fixture.receive("nonsense\r\n\r\n")
    for _ in 1...10 {
      taken += 1
      fixture.pass(.milliseconds(900))
      #expect(fixture.channel.isActive)
    }
    fixture.pass(.milliseconds(1250))
    #expect(!fixture.channel.isActive)
    fixture.finish()
  }

  @Test("A head that is not complete after the head timeout gets 408")
  func headTimeout() throws {
    let fixture = try ConnectionFixture()
    fixture.pass(.seconds(59))
    try fixture.receive("GET / HT")
    fixture.pass(.milliseconds(9999))
    #expect(fixture.wire.sent.isEmpty)
    fixture.pass(.milliseconds(1))
    #expect(fixture.wire.sent.hasPrefix("HTTP/1.1 408 "))
    #expect(fixture.wire.outputIsClosed)
    fixture.finish()
  }

  @Test("An idle connection is closed after the idle timeout, before or after a request")
  func idleTimeout() async throws {
    let cache = try await ConnectionFixture.filledCache()
    try inOneThread {
      for request in ["", Self.get("/1")] {
        let fixture = try ConnectionFixture(cache: cache)
        fixture.pass(.seconds(74))
        if !request.isEmpty {
          try fixture.receive(request)
          fixture.pass(.seconds(74))
        }
        let sent = fixture.wire.sent
        fixture.pass(.milliseconds(999))
        #expect(fixture.channel.isActive)
        fixture.pass(.milliseconds(1))
        #expect(!fixture.channel.isActive)
        #expect(fixture.wire.sent == sent)
        fixture.finish()
      }
    }
  }
}
