// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import HTTPTypes
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Windows and refusals of an origin of HTTP/2", .timeLimit(.minutes(10)))
struct OriginWindowTests {
  /// What the origin takes of two uploads of 90,000 bytes. The window of the connection has 65,535 bytes at first (RFC 9113
  /// §6.9.2), and the first upload fills it.
  struct Scenario: CustomTestStringConvertible {
    /// The window of each stream, in bytes.
    var window: Int
    /// The room that the origin gives to the connection before the first second, in bytes.
    var first = 0
    /// The streams, 0 for the connection, which get a byte more each second.
    var opened: Set<Int>
    /// The streams that fail because the origin takes nothing of them.
    var failing: Set<Int>

    var testDescription: String { "window \(window), first \(first), opens \(opened.sorted())" }
  }

  @Test(
    "An upload that waits for its turn on the connection fails only when the origin takes nothing of any",
    arguments: [
      Scenario(window: 1 << 20, opened: [], failing: [1, 3]),
      Scenario(window: 1 << 20, opened: [0], failing: []),
      Scenario(window: 1 << 20, opened: [1, 3], failing: [1, 3]),
      Scenario(window: 65_535, first: 1 << 20, opened: [], failing: [1, 3]),
      Scenario(window: 65_535, first: 1 << 20, opened: [0], failing: [1, 3]),
      Scenario(window: 65_535, first: 1 << 20, opened: [1, 3], failing: []),
      Scenario(window: 65_535, first: 1 << 20, opened: [0, 1], failing: [3]),
      // The first upload fills its own window with its next byte.
      Scenario(window: 65_536, opened: [0], failing: [1]),
    ], [true, false])
  func waiting(_ scenario: Scenario, isWhole: Bool) throws {
    try inOneThread {
      let channel = EmbeddedChannel()
      defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
      channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
      var timeouts = ProxyConfiguration.Origin.Timeouts()
      timeouts.firstByte = .seconds(5)
      var connection: OriginHTTP2Connection?
      try OriginHTTP2Connection.add(
        to: channel, by: .distantFuture, limits: .init(), timeouts: timeouts,
        transit: TransitBudget(capacity: 64 << 20), scheme: "http", report: { _, _ in }
      ).assumeIsolated().whenSuccess { connection = $0.connection.value }
      func receive(_ bytes: [UInt8]) throws { try channel.writeInbound(ByteBuffer(bytes: bytes)) }
      try receive(WireFrame.settings(window: scenario.window).bytes)
      let opened = try #require(connection)

      let failed = Recorder<Int>()
      let content = [UInt8](repeating: 1, count: 90_000)
      for number in [1, 3] {
        let stream = OriginStream(opened)
        var request = OriginRequest(
          request: HTTPRequest(method: .post, scheme: nil, authority: "a.example", path: "/"), via: "1.1 x")
        let chunks = AsyncThrowingStream<ArraySlice<UInt8>, any Error> { $0.finish() }
        request.body = isWhole ? MessageBody(content) : MessageBody(chunks, length: nil)
        stream.start(request) { if case .failure = $0 { failed.add(number) } }
        channel.embeddedEventLoop.run()
        if !isWhole { _ = stream.send(ByteBuffer(bytes: content)) }
      }
      if scenario.first > 0 { try receive(WireFrame.opening(0, by: scenario.first).bytes) }
      for _ in 0..<20 {
        for stream in scenario.opened where stream == 0 || !failed.all.contains(stream) {
          try receive(WireFrame.opening(stream, by: 1).bytes)
        }
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
      }
      #expect(Set(failed.all) == scenario.failing)
      // Without a byte of any, all end.
      channel.embeddedEventLoop.advanceTime(by: .seconds(10))
      #expect(Set(failed.all) == [1, 3])
      #expect(opened.sent.isClear)
    }
  }

  /// A request that an origin gives back with GOAWAY, and how often it may be sent again.
  struct GoneAway: Sendable {
    /// Number of requests that were sent before GOAWAY.
    var sent: Int
    /// The last stream that GOAWAY names.
    var last: Int
    /// Whether another connection will serve the request, because this one has served others.
    var hasServedOthers: Bool
  }

  @Test(
    "Only an origin that has got other requests on a connection gets a refused one on any number of further connections",
    arguments: [
      // A server that shuts down may announce it at once.
      GoneAway(sent: 0, last: Int(Int32.max), hasServedOthers: false),
      GoneAway(sent: 0, last: 0, hasServedOthers: false),
      GoneAway(sent: 2, last: 0, hasServedOthers: false),
      GoneAway(sent: 1, last: 1, hasServedOthers: true),
      GoneAway(sent: 2, last: 1, hasServedOthers: true),
      GoneAway(sent: 2, last: Int(Int32.max), hasServedOthers: true),
    ])
  func refused(_ given: GoneAway) throws {
    try inOneThread {
      let channel = EmbeddedChannel()
      defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
      channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
      var opened: OriginHTTP2Connection?
      try OriginHTTP2Connection.add(
        to: channel, by: .distantFuture, limits: .init(), timeouts: .init(),
        transit: TransitBudget(capacity: 64 << 20), scheme: "http", report: { _, _ in }
      ).assumeIsolated().whenSuccess { opened = $0.connection.value }
      try channel.writeInbound(ByteBuffer(bytes: WireFrame.settings(window: 65_535).bytes))
      let connection = try #require(opened)
      let errors = Recorder<OriginError>()
      func start() {
        let request = HTTPRequest(method: .post, scheme: nil, authority: "a.example", path: "/")
        OriginStream(connection).start(OriginRequest(request: request, via: "1.1 x")) {
          if case .failure(let error) = $0 { errors.add(error) }
        }
        channel.embeddedEventLoop.run()
      }
      for _ in 0..<given.sent { start() }
      let payload = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: given.last >> $0) } + [0, 0, 0, 0]
      try channel.writeInbound(ByteBuffer(bytes: WireFrame(type: 7, stream: 0, payload: payload).bytes))
      channel.embeddedEventLoop.run()
      #expect(errors.all.count == max(0, given.sent - (given.last + 1) / 2))
      // One that comes too late was not sent either.
      start()
      #expect(errors.all.count == max(0, given.sent - (given.last + 1) / 2) + 1)
      for error in errors.all {
        #expect(error.reach == .unsent && error.isRefusal && !error.isOutage)
        #expect(error.hasServedOthers == given.hasServedOthers)
      }
    }
  }
}
