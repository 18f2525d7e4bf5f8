// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Unread content of HTTP/2", .timeLimit(.minutes(10)))
struct UnreadContentTests {
  /// Keeps nothing of what is read.
  private final class Sink: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
  }

  private static func frame(_ type: UInt8, stream: Int, size: Int) -> [UInt8] {
    WireFrame(type: type, stream: stream, payload: Array(repeating: 0, count: size)).bytes
  }

  @Test("Heads count where they may wait, and the stream with most pieces is known")
  func heads() throws {
    try inOneThread {
      let unread = UnreadContent(limit: 100, preface: 0, headPieces: 40)
      let channel = EmbeddedChannel(handlers: [unread, Sink()])
      func send(_ type: UInt8, _ stream: Int, _ size: Int) throws {
        try channel.writeInbound(ByteBuffer(bytes: Self.frame(type, stream: stream, size: size)))
      }
      for stream in [1, 3] { try send(1, stream, 5) }
      for _ in 0..<20 { try send(0, 3, 1) }
      #expect(!unread.isExcessive && unread.fullest == 3)
      try send(1, 5, 0)
      #expect(unread.isExcessive)
      unread.clear(3)
      #expect(!unread.isExcessive && unread.fullest != 3)
      _ = try channel.finish()
    }
  }

  @Test(
    "Whole frames are passed on, none of a header alone, and large ones one at a time",
    arguments: [1, 8, 9, 10, 16_000, 70_000])
  func parts(piece: Int) throws {
    try inOneThread {
      let channel = EmbeddedChannel(handlers: [UnreadContent(limit: 1 << 20, preface: 24)])
      var random = SplitMix64(seed: UInt64(piece))
      let frames = (0..<60).map { number -> [UInt8] in
        let size =
          [0, 1, 100, 5000, 16_383, 16_384].prefix(piece > 10 ? 6 : 3).randomElement(using: &random) ?? 0
        return WireFrame(type: 0, stream: number, payload: contentBytes(size, from: number)).bytes
      }
      let bytes = [UInt8](repeating: 0x50, count: 24) + frames.joined()
      for start in stride(from: 0, to: bytes.count, by: piece) {
        try channel.writeInbound(ByteBuffer(bytes: bytes[start..<min(bytes.count, start + piece)]))
      }
      // Where a header begins.
      let starts = frames.reduce(into: [24]) { $0.append($0[$0.count - 1] + $1.count) }
      var passed: [UInt8] = []
      while let part = try channel.readInbound(as: ByteBuffer.self) {
        passed += part.readableBytesView
        let end = passed.count
        if part.readableBytes > 9 + 16_384 || starts.contains(where: { $0 < end && end < $0 + 9 }) {
          Issue.record("a part of \(part.readableBytes) bytes ends at \(end)")
        }
      }
      #expect(passed == bytes)
      _ = try channel.finish()
    }
  }

  @Test("Frames without content count once, and those of the connection never", arguments: [2, 3, 8, 9])
  func otherFrames(type: UInt8) throws {
    try inOneThread {
      let unread = UnreadContent(limit: 100, preface: 0)
      var excess = 0
      unread.onExcess = { excess += 1 }
      let channel = EmbeddedChannel(handlers: [unread, Sink()])
      for stream in [0, 1, 3] {
        for _ in 0..<(stream == 3 ? 1 : 100) {
          try channel.writeInbound(ByteBuffer(bytes: Self.frame(type, stream: stream, size: 4)))
        }
      }
      #expect(unread.others == 101 && excess == 1 && !unread.isExcessive)
      unread.hasReadOthers()
      #expect(unread.others == 0)
      _ = try channel.finish()
    }
  }

  @Test(
    "Pieces are counted wherever the bytes are cut, until their streams read them or end",
    arguments: [1, 9, 100_000])
  func counts(_ piece: Int) throws {
    try inOneThread {
      let limit = 8192
      let unread = UnreadContent(limit: limit, preface: 24)
      var excess = 0
      unread.onExcess = { excess += 1 }
      let channel = EmbeddedChannel(handlers: [unread, Sink()])
      func send(_ bytes: [UInt8]) throws {
        for start in stride(from: 0, to: bytes.count, by: piece) {
          let cut = bytes[start..<min(bytes.count, start + piece)]
          try channel.writeInbound(ByteBuffer(bytes: cut))
        }
      }
      try send(Array(repeating: 0x50, count: 24) + Self.frame(4, stream: 0, size: 0))
      try send(Self.frame(1, stream: 1, size: 10))
      try send((0..<limit).flatMap { Self.frame(0, stream: 1, size: $0 % 2) })
      #expect(excess == 0 && !unread.isExcessive)
      try send(Self.frame(1, stream: 9, size: 0) + Self.frame(1, stream: 3, size: 0))
      #expect(unread.lastStream == 9)
      try send(Self.frame(0, stream: 3, size: 1))
      #expect(excess == 1 && unread.isExcessive)
      unread.clear(1)
      #expect(!unread.isExcessive)
      // Each part that arrives by itself is a piece.
      try send(Self.frame(0, stream: 5, size: limit))
      #expect(unread.isExcessive == (piece == 1))
      unread.keep(only: [3])
      #expect(!unread.isExcessive)
      try send((1..<limit).flatMap { _ in Self.frame(0, stream: 7, size: 0) })
      #expect(!unread.isExcessive)
      try send(Self.frame(0, stream: 7, size: 0))
      #expect(unread.isExcessive)
      _ = try channel.finish()
    }
  }
}
