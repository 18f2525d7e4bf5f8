// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheObserving
import HTTPCaching
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Windows of a client of HTTP/2", .timeLimit(.minutes(10)))
struct ClientWindowTests {
  /// What the client takes of two responses of 90,000 bytes. The window of the connection has 65,535 bytes at first (RFC 9113
  /// §6.9.2), and the first response fills it.
  struct Scenario: CustomTestStringConvertible {
    /// The window of each stream, in bytes.
    var window: Int
    /// The room that the client gives to streams, 0 for the connection, before the first second, in bytes.
    var first: [Int: Int] = [:]
    /// The streams, 0 for the connection, which get a byte more each second.
    var opened: Set<Int>
    /// The streams that are given up because the client takes nothing of them.
    var failing: Set<Int>

    var testDescription: String {
      "window \(window), first \(first.sorted { $0.key < $1.key }), opens \(opened.sorted())"
    }
  }

  /// The fields of `GET /long` of the host `a` (RFC 7541).
  fileprivate static let request: [UInt8] =
    [0x82, 0x86, 0x04, 0x05] + Array("/long".utf8) + [0x01, 0x01, 0x61]

  @Test(
    "A response that waits for its turn on the connection is given up only when the client takes nothing of any",
    arguments: [
      Scenario(window: 1 << 20, opened: [], failing: [1, 3]),
      Scenario(window: 1 << 20, opened: [0], failing: []),
      Scenario(window: 1 << 20, opened: [1, 3], failing: [1, 3]),
      Scenario(window: 65_535, first: [0: 1 << 20], opened: [], failing: [1, 3]),
      Scenario(window: 65_535, first: [0: 1 << 20], opened: [0], failing: [1, 3]),
      Scenario(window: 65_535, first: [0: 1 << 20], opened: [1, 3], failing: []),
      Scenario(window: 65_535, first: [0: 1 << 20], opened: [0, 1], failing: [3]),
      Scenario(window: 65_535, first: [1: 1 << 20, 3: 1 << 20], opened: [0], failing: []),
      // The first response fills its own window with its next byte.
      Scenario(window: 65_536, opened: [0], failing: [1]),
    ])
  func waiting(_ scenario: Scenario) async throws {
    let cache = try await Self.cache()
    try inOneThread {
      let client = try Client(cache, window: scenario.window, requests: [1, 3])
      defer { client.finish() }
      let (connection, loop) = (client.connection, client.channel.embeddedEventLoop)
      #expect(connection.sent.content(of: 1) == 65_535 && connection.sent.content(of: 3) == 0)
      for (stream, count) in scenario.first { try client.open(stream, by: count) }
      for _ in 0..<20 {
        let gone = try client.reset()
        for stream in scenario.opened where !gone.contains(stream) { try client.open(stream, by: 1) }
        loop.advanceTime(by: .seconds(1))
      }
      #expect(try client.reset() == scenario.failing)
      #expect(client.context.statistics.openStreams == 2 - scenario.failing.count)
      // Without a byte of any, all end.
      loop.advanceTime(by: .seconds(10))
      #expect(try client.reset() == [1, 3])
      #expect(connection.sent.isClear && client.context.statistics.openStreams == 0)
    }
  }

  @Test("Any number of window updates keeps the connection, and few of them wait")
  func manyUpdates() async throws {
    let cache = try await Self.cache()
    try inOneThread {
      let client = try Client(cache, window: 65_535, requests: [1])
      defer { client.finish() }
      var most = 0
      for _ in 0..<20_000 {
        try client.open(1, by: 1)
        most = max(most, client.connection.unread.others)
        client.channel.embeddedEventLoop.run()
      }
      #expect(
        most <= client.connection.unread.limit + 1 && client.context.statistics.http2Failures.value == 0)
      #expect(try #require(client.connection.streams.values.first).opened > 8192)
      try client.open(0, by: 1 << 20)
      try client.open(1, by: 1 << 20)
      client.channel.embeddedEventLoop.run()
      #expect(client.connection.sent.isClear && client.context.statistics.openStreams == 0)
    }
  }

  @Test(
    "A client that resets more than 1,000 requests loses its connection, and a proxy in front does not",
    arguments: [(1000, false), (1001, false), (1001, true)])
  func resets(count: Int, isTrusted: Bool) async throws {
    let cache = try await Self.cache()
    try inOneThread {
      let client = try Client(cache, window: 65_535, isTrusted: isTrusted)
      defer { client.finish() }
      for number in 0..<count {
        try client.request(2 * number + 1)
        client.channel.embeddedEventLoop.run()
        try client.leave(2 * number + 1)
      }
      client.channel.embeddedEventLoop.run()
      let loses = count > 1000 && !isTrusted
      #expect(client.context.statistics.http2Failures.value == (loses ? 1 : 0))
      #expect(client.channel.isActive == !loses)
      // The client must not take its requests for unprocessed, and repeat them (§6.8).
      #expect(try client.goAway() == (loses ? [2 * count - 1] : []))
      #expect(client.context.statistics.streams.value == count)
    }
  }

  @Test(
    "After GOAWAY with the last stream, one for an error does not name a later stream",
    arguments: [true, false])
  func lastStreamStays(exceedsLimit: Bool) async throws {
    let cache = try await Self.cache()
    try inOneThread {
      let client = try Client(cache, window: 65_535, requests: [1, 3])
      defer { client.finish() }
      client.connection.drain(isPatient: true)
      try client.answerPing()
      let announced = try client.goAway()
      #expect(announced.last == 3)
      try client.request(5)
      if exceedsLimit {
        for _ in 0..<1000 where client.channel.isActive { try client.ping() }
      } else {
        try client.sendContentOfNoStream()
      }
      let all = try client.goAway()
      #expect(all.count > announced.count && all.dropFirst(announced.count).allSatisfy { $0 == 3 })
    }
  }

  @Test("A client that leaves with an error of its socket is no failure of the protocol")
  func leaves() async throws {
    let cache = try await Self.cache()
    try inOneThread {
      let client = try Client(cache, window: 65_535, requests: [1])
      defer { client.finish() }
      client.channel.pipeline.fireErrorCaught(IOError(errnoCode: ECONNRESET, reason: "read"))
      client.channel.close(promise: nil)
      client.channel.embeddedEventLoop.run()
      #expect(client.context.statistics.http2Failures.value == 0)
      #expect(client.context.statistics.openStreams == 0)
    }
  }

  private static func cache() async throws -> HTTPCache {
    try await ConnectionFixture.filledCache(["/long": String(repeating: "a", count: 90_000)])
  }

  /// A client that has sent requests for `/long`, without a socket.
  private final class Client {
    let channel: EmbeddedChannel
    let context: ProxyContext
    let connection: ClientHTTP2Connection
    private var received: [UInt8] = []

    /// - Parameters:
    ///   - window: of each stream, in bytes.
    ///   - requests: the streams.
    init(_ cache: HTTPCache, window: Int, requests: [Int] = [], isTrusted: Bool = false) throws {
      let loop = EmbeddedEventLoop()
      context = try ProxyContext.embedded(on: loop, cache: cache) { $0.timeouts.stall = .seconds(5) }
      channel = EmbeddedChannel(loop: loop)
      let forwarder = Forwarder(IPAddress("127.0.0.1"), context.settings.value)
      connection = try ClientHTTP2Connection.add(
        to: channel, context, client: .init(forwarder: forwarder, isPeerTrusted: isTrusted), log: nil)
      channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
      try send(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + WireFrame.settings(window: window).bytes)
      for stream in requests { try request(stream) }
      loop.run()
      // As over a socket: a stream gets the frames that it reads.
      for stream in connection.streams.values {
        try stream.channelContext?.channel.syncOptions?.setOption(.autoRead, value: false)
      }
    }

    private func send(_ bytes: [UInt8]) throws { try channel.writeInbound(ByteBuffer(bytes: bytes)) }

    func request(_ stream: Int) throws {
      try send(WireFrame(type: 1, flags: 5, stream: stream, payload: ClientWindowTests.request).bytes)
    }

    func leave(_ stream: Int) throws {
      try send(WireFrame(type: 3, stream: stream, payload: [0, 0, 0, 8]).bytes)
    }

    func open(_ stream: Int, by count: Int) throws {
      try send(WireFrame.opening(stream, by: count).bytes)
    }

    func ping() throws {
      try send(WireFrame(type: 6, stream: 0, payload: Array(repeating: 0, count: 8)).bytes)
    }

    /// Sends what the protocol forbids (§6.1).
    func sendContentOfNoStream() throws { try send(WireFrame(type: 0, stream: 0, payload: [1]).bytes) }

    /// Acknowledges the last PING.
    func answerPing() throws {
      guard let ping = try frames(6).last else { return }
      try send(WireFrame(type: 6, flags: 1, stream: 0, payload: ping.payload).bytes)
    }

    /// Returns the streams that were reset.
    func reset() throws -> Set<Int> { Set(try frames(3).map(\.stream)) }

    /// Returns the last stream of each GOAWAY.
    func goAway() throws -> [Int] {
      try frames(7).map { $0.payload.prefix(4).reduce(0) { $0 << 8 | Int($1) } }
    }

    private func frames(_ type: UInt8) throws -> [WireFrame] {
      while let data = try channel.readOutbound(as: IOData.self) {
        if case .byteBuffer(let bytes) = data { received += bytes.readableBytesView }
      }
      return WireFrame.all(in: received).filter { $0.type == type }
    }

    func finish() { _ = try? channel.finish(acceptAlreadyClosed: true) }
  }
}
