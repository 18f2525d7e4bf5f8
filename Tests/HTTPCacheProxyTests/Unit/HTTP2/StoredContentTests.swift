// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import HTTPCacheProxy

/// Clients of HTTP/2 get stored content as they have room for it, and what they do not take costs no memory.
@Suite("Stored content in the windows of a client of HTTP/2", .timeLimit(.minutes(10)))
struct StoredContentTests {
  /// How a client opens its windows.
  struct Windows: CustomTestStringConvertible {
    /// The first window of each stream, in bytes.
    var first: Int
    /// What it opens each stream by at a time, in bytes.
    var ofStreams: Int
    /// The same for the connection.
    var ofConnection: Int
    /// The time between, in milliseconds.
    var pause: Int64
    var testDescription: String {
      "\(first), streams by \(ofStreams), connection by \(ofConnection), each \(pause) ms"
    }
  }

  private static let count = 150_000
  private static let streams = Array(stride(from: 1, to: 24, by: 2))
  private static let openings = [
    Windows(first: 0, ofStreams: 40_000, ofConnection: 1 << 20, pause: 0),
    Windows(first: 0, ofStreams: 9000, ofConnection: 1 << 20, pause: 700),
    Windows(first: 1, ofStreams: 50_000, ofConnection: 70_000, pause: 1000),
    Windows(first: 65_535, ofStreams: 16_384, ofConnection: 1 << 20, pause: 10),
    Windows(first: 65_535, ofStreams: 1 << 20, ofConnection: 33_333, pause: 100),
    Windows(first: 1 << 20, ofStreams: 0, ofConnection: 100_000, pause: 1500),
  ]

  @Test(
    "A response goes out whole, in the room that its client has", arguments: openings,
    [false, true].flatMap { inFiles in [64 << 20, 2 << 20].map { (inFiles, $0) } })
  func whole(_ windows: Windows, kind: (inFiles: Bool, transit: Int)) async throws {
    try await HTTPCache.withContents(["/long": Self.count], inFiles: kind.inFiles, transit: kind.transit) {
      cache, files in
      try inOneThread {
        let client = try EmbeddedClient(cache, window: windows.first, requests: Self.streams)
        defer { client.finish() }
        let (loop, transit) = (client.channel.embeddedEventLoop, cache.transit)
        var (milliseconds, turns) = (Int64(0), 0)
        while try client.content().values.reduce(0, { $0 + $1.count }) < Self.count * Self.streams.count {
          turns += 1
          try #require(turns < 5000, "the responses wait")
          #expect(transit.used <= kind.transit * 3 / 16)
          #expect(transit.used == Self.blocks(client) * 64 << 10)
          for stream in Self.streams where windows.ofStreams > 0 {
            try client.open(stream, by: windows.ofStreams)
          }
          try client.open(0, by: windows.ofConnection)
          milliseconds += max(1, windows.pause)
          loop.advanceTime(by: .milliseconds(max(1, windows.pause)))
        }
        let content = try client.content()
        for stream in Self.streams {
          #expect(content[stream] == contentBytes(Self.count), "stream \(stream)")
        }
        // Each stream reads its file for itself: twice at most, and a block more for each second.
        let blocks = Self.streams.count * (Int(milliseconds / 1000) + 2)
        #expect(files.bytesRead <= 2 * (Self.count + 100) * Self.streams.count + blocks * 64 << 10)
        #expect(transit.used == 0 && client.context.statistics.openStreams == 0)
      }
    }
  }

  @Test(
    "A client that takes nothing costs no memory after a second",
    arguments: [0, 1, 65_535, 1 << 20].flatMap { window in [10_000, 1 << 20].map { (window, $0) } },
    [false, true].flatMap { inFiles in [true, false].map { (inFiles, $0) } })
  func nothing(asked: (window: Int, size: Int), kind: (inFiles: Bool, takes: Bool)) async throws {
    let (window, size) = asked
    try await HTTPCache.withContents(["/long": size], inFiles: kind.inFiles) { cache, files in
      try inOneThread {
        let clients = try (0..<20).map { _ in
          try EmbeddedClient(cache, window: window, requests: Self.streams, takes: kind.takes)
        }
        defer { for client in clients { client.finish() } }
        for client in clients where !kind.takes { try client.open(0, by: 1 << 23) }
        // What is written waits for the socket; of all streams of a connection, it is at most a piece.
        let written =
          kind.takes ? 0 : clients.count * min(Responder.piece, min(window, size) * Self.streams.count)
        #expect(cache.transit.used <= cache.transit.passingCapacity * 3 / 8 + written)
        let blocks = clients.reduce(0) { $0 + Self.blocks($1) }
        #expect(blocks == 0 || cache.transit.used >= blocks * 64 << 10)
        for client in clients {
          client.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1001))
        }
        #expect(cache.transit.used <= written && clients.allSatisfy { Self.blocks($0) == 0 })
        // The first block of each, which says that the file can be read, and what was sent.
        let sent = try clients.reduce(0) { try $0 + $1.content().values.reduce(0) { $0 + $1.count } }
        #expect(files.bytesRead <= sent + written + 2 * clients.count * Self.streams.count * 65 << 10)
      }
      #expect(cache.transit.used == 0)
    }
  }

  /// The blocks of files that the streams of a client have in memory.
  private static func blocks(_ client: EmbeddedClient) -> Int {
    client.connection.streams.values.count { $0.content?.hasBlock == true }
  }

  @Test(
    "A client that takes everything gets large content in several turns of the event loop",
    arguments: [false, true])
  func turns(inFiles: Bool) async throws {
    let size = 3 * OutgoingContent.turn
    try await HTTPCache.withContents(["/long": size], inFiles: inFiles) { cache, _ in
      try inOneThread {
        let client = try EmbeddedClient(cache, window: 1 << 23, requests: [1])
        defer { client.finish() }
        try client.open(0, by: 1 << 23)
        client.channel.embeddedEventLoop.run()
        var sent = 0
        for _ in 1...3 {
          let now = try client.content()[1]?.count ?? 0
          #expect((1...OutgoingContent.turn + 400_000).contains(now - sent))
          // Another turn may be long in coming.
          #expect(cache.transit.used == Self.blocks(client) * 64 << 10)
          sent = now
          client.channel.embeddedEventLoop.advanceTime(by: LoopTurns.pause)
        }
        #expect(try client.content()[1] == contentBytes(size))
      }
    }
  }

  @Test("A stream that leaves gives its turn and its memory to the others", arguments: [false, true])
  func leaving(inFiles: Bool) async throws {
    try await HTTPCache.withContents(["/long": 300_000], inFiles: inFiles) { cache, _ in
      try inOneThread {
        let client = try EmbeddedClient(cache, window: 1 << 20, requests: [1, 3, 5])
        defer { client.finish() }
        #expect(try client.content().values.reduce(0) { $0 + $1.count } == 65_535)
        try client.leave(1)
        try client.leave(3)
        try client.open(0, by: 300_000)
        client.channel.embeddedEventLoop.run()
        #expect(try client.content()[5] == contentBytes(300_000))
        #expect(client.context.statistics.openStreams == 0 && cache.transit.used == 0)
      }
    }
  }

  @Test("A larger window for all streams lets those that wait go on", arguments: [false, true])
  func settings(inFiles: Bool) async throws {
    try await HTTPCache.withContents(["/long": 60_000], inFiles: inFiles) { cache, _ in
      try inOneThread {
        let client = try EmbeddedClient(cache, window: 10, requests: [1])
        defer { client.finish() }
        #expect(try client.content()[1]?.count == 10)
        try client.setWindow(50_000)
        #expect(try client.content()[1]?.count == 50_000)
        try client.setWindow(70_000)
        client.channel.embeddedEventLoop.run()
        #expect(try client.content()[1] == contentBytes(60_000))
        #expect(client.context.statistics.openStreams == 0)
      }
    }
  }
}
