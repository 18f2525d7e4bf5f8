// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPCacheProxy

@Suite("The turns of an event loop")
struct LoopTurnsTests {
  /// Adds its channel again when it is flushed, once.
  private final class Again: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    let turns: LoopTurns
    private(set) var flushes = 0

    init(_ turns: LoopTurns) { self.turns = turns }

    func flush(context: ChannelHandlerContext) {
      flushes += 1
      context.flush()
      if flushes == 1 { turns.flushAtEnd(context.channel) }
    }
  }

  @Test("Channels are flushed at the end of a turn, all that were added before it")
  func flushing() throws {
    let loop = EmbeddedEventLoop()
    let turns = LoopTurns(loop)
    let channels = [EmbeddedChannel(loop: loop), EmbeddedChannel(handler: Again(turns), loop: loop)]
    for turn in 1...3 {
      for channel in channels {
        channel.write(ByteBuffer(integer: UInt8(turn)), promise: nil)
        turns.flushAtEnd(channel)
        #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
      }
      loop.run()
      for channel in channels {
        #expect(try channel.readOutbound(as: ByteBuffer.self) == ByteBuffer(integer: UInt8(turn)))
      }
    }
    for channel in channels { _ = try channel.finish() }
  }

  @Test("Work that waits is done one piece in each turn, in its order, although each piece adds another")
  func waiting() {
    let loop = EmbeddedEventLoop()
    let turns = LoopTurns(loop)
    var done: [Int] = []
    func work(_ number: Int) {
      done.append(number)
      if number < 4 { turns.doLater { work(number + 2) } }
    }
    for number in 1...2 { turns.doLater { work(number) } }
    loop.run()
    #expect(done == [])
    for count in 1...5 {
      loop.advanceTime(by: LoopTurns.pause)
      #expect(done == Array(1...min(count, 5)))
    }
    loop.advanceTime(by: LoopTurns.pause)
    #expect(done == [1, 2, 3, 4, 5])
    // Nothing is left of the past.
    turns.doLater { done = [] }
    loop.advanceTime(by: LoopTurns.pause)
    #expect(done == [])
  }

  @Test("An event loop has the same turns as long as it runs in its thread")
  func ofLoop() {
    let loops = [EmbeddedEventLoop(), EmbeddedEventLoop()]
    #expect(LoopTurns.of(loops[0]) === LoopTurns.of(loops[0]))
    #expect(LoopTurns.of(loops[0]) !== LoopTurns.of(loops[1]))
  }
}
