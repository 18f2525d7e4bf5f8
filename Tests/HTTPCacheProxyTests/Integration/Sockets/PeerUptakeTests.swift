// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("What a peer has taken", .timeLimit(.minutes(10)))
struct PeerUptakeTests {
  private typealias Machine = ClientConnectionStateMachine

  private static func time(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }

  /// The channel of a response that is larger than all buffers of the kernel, and its reader.
  private static func withWaitingResponse(
    _ body: @Sendable (any Channel, inout Conversation) async throws -> Void
  ) async throws {
    let (accepted, channels) = AsyncStream.makeStream(of: (any Channel).self)
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channels.yield(channel)
        return channel.eventLoop.makeSucceededVoidFuture()
      }
      .bind(host: "127.0.0.1", port: 0).get()
    try await RawClient.connect(to: server.localAddress?.port ?? 0).talk { client in
      var iterator = accepted.makeAsyncIterator()
      let channel = try #require(await iterator.next())
      channel.writeAndFlush(ByteBuffer(repeating: 0x61, count: 64 << 20), promise: nil)
      try await body(channel, &client)
    }
    try await server.close()
  }

  @Test("A client that reads now and then gets all of its response, and one that stops is given up")
  func slowReader() async throws {
    try await Self.withWaitingResponse { channel, client in
      let loop = channel.eventLoop
      let uptake = try await loop.submit { NIOLoopBoundBox(PeerUptake(), eventLoop: loop) }.get()
      var machine = Machine(allowsHalfClosure: false, allowsUpgrade: false, at: Self.time(0))
      _ = machine.opened(at: Self.time(0))
      _ = try machine.requestReceived(.init(), contentLimit: 0, isStopping: false)
      _ = machine.responseBegan(.chunked, isStopping: false)
      // The only write: it never ends.
      machine.writeBegan(at: Self.time(0))
      /// Looks at the real socket; the clock of the machine stands at a time that the test chooses.
      func check(at seconds: Int64) async throws -> Machine.Action {
        let hasTaken = try await loop.submit { uptake.value.hasAdvanced(channel) }.get()
        return machine.checkTime(
          at: Self.time(seconds), ProxyConfiguration.Timeouts(), isWritable: false, isContentAwaited: false,
          hasTaken: hasTaken)
      }
      func acknowledged() async throws -> UInt64 {
        try await loop.submit { PeerUptake.Queue(of: channel)?.acknowledged ?? 0 }.get()
      }
      for minute in 1...5 as ClosedRange<Int64> {
        let before = try await acknowledged()
        while try await acknowledged() == before { _ = try await client.input.next() }
        #expect(
          try await check(at: 60 * minute) == .armTimer(at: Self.time(60 * minute) + .seconds(15)))
      }
      // What the client's own buffers take arrives within a few looks.
      var (now, action) = (Int64(300), Machine.Action.none)
      while action != .giveUp, now < 36_000 {
        now += 59
        action = try await check(at: now)
      }
      #expect(action == .giveUp)
      #expect(try await loop.submit { PeerUptake.Queue(of: channel)?.isEmpty }.get() == false)
    }
  }
}
