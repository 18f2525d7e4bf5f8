// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPCacheProxy

@Suite("Writes at the end of a turn of the event loop")
struct FlushQueueTests {
  /// Adds a channel again when it is flushed, once.
  private final class Again: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    let queue: FlushQueue
    private(set) var flushes = 0

    init(_ queue: FlushQueue) { self.queue = queue }

    func flush(context: ChannelHandlerContext) {
      flushes += 1
      context.flush()
      if flushes == 1 { queue.add(context.channel) }
    }
  }

  @Test("Connections are flushed in their order, each turn those that were added before it")
  func turns() throws {
    let (queue, loop) = (FlushQueue(), EmbeddedEventLoop())
    let channels = [EmbeddedChannel(loop: loop), EmbeddedChannel(handler: Again(queue), loop: loop)]
    for turn in 1...3 {
      for channel in channels {
        channel.write(ByteBuffer(integer: UInt8(turn)), promise: nil)
        queue.add(channel)
        #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
      }
      loop.run()
      for channel in channels {
        #expect(try channel.readOutbound(as: ByteBuffer.self) == ByteBuffer(integer: UInt8(turn)))
      }
    }
    for channel in channels { _ = try channel.finish() }
  }
}
