// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Small frames of HTTP/2", .timeLimit(.minutes(10)))
struct SmallFramesTests {
  /// Keeps nothing of what is read.
  private final class Sink: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
  }

  /// A frame as bytes (RFC 9113 §4.1).
  private static func frame(_ type: UInt8, stream: UInt8, size: Int) -> [UInt8] {
    [0, UInt8(size >> 8), UInt8(size & 0xFF), type, 0, 0, 0, 0, stream] + Array(repeating: 0, count: size)
  }

  @Test(
    "Frames are counted wherever the bytes are cut, until their streams read them or end",
    arguments: [1, 9, 100_000])
  func counts(_ piece: Int) throws {
    try inOneThread {
      let frames = SmallFrames()
      var excess = 0
      frames.onExcess = { excess += 1 }
      let channel = EmbeddedChannel(handlers: [frames, Sink()])
      func send(_ bytes: [UInt8]) throws {
        for start in stride(from: 0, to: bytes.count, by: piece) {
          let cut = bytes[start..<min(bytes.count, start + piece)]
          try channel.writeInbound(ByteBuffer(bytes: cut))
        }
      }
      try send(Array(repeating: 0x50, count: 24) + Self.frame(4, stream: 0, size: 0))
      // Of these, only one is small and has content.
      try send(Self.frame(1, stream: 1, size: 10) + Self.frame(0, stream: 1, size: 257))
      try send(Self.frame(0, stream: 1, size: 256))
      try send((1..<SmallFrames.limit).flatMap { _ in Self.frame(0, stream: 1, size: 1) })
      #expect(excess == 0)
      try send(Self.frame(0, stream: 3, size: 1))
      #expect(excess == 1)
      frames.read(by: 1, size: 257)
      frames.read(by: 1, size: 1)
      frames.ended(3)
      try send(Self.frame(0, stream: 3, size: 1))
      #expect(excess == 1)
      try send(Self.frame(0, stream: 3, size: 1))
      #expect(excess == 2)
      frames.ended(1)
      frames.ended(3)
      try send((0..<SmallFrames.limit).flatMap { _ in Self.frame(0, stream: 5, size: 0) })
      #expect(excess == 2)
      _ = try channel.finish()
    }
  }
}
