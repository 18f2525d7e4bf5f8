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
      let client = try EmbeddedClient(cache, window: scenario.window, requests: [1, 3])
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
      let client = try EmbeddedClient(cache, window: 65_535, requests: [1])
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
      let client = try EmbeddedClient(cache, window: 65_535, isTrusted: isTrusted)
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
      let client = try EmbeddedClient(cache, window: 65_535, requests: [1, 3])
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
      let client = try EmbeddedClient(cache, window: 65_535, requests: [1])
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
}
