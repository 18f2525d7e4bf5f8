// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPCacheProxy

@Suite("Tunnels in virtual time", .timeLimit(.minutes(10)))
struct TunnelTests {
  /// Counts how often the socket is asked for bytes.
  private final class Reads: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    private(set) var count = 0

    func read(context: ChannelHandlerContext) { count += 1 }
  }

  private struct Side {
    let channel = EmbeddedChannel()
    let reads = Reads()

    init(_ end: TunnelEnd) throws {
      try channel.pipeline.syncOperations.addHandlers([reads, end])
      channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
    }

    func receive(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }
    func sent() throws -> String? { try channel.readOutbound(as: ByteBuffer.self).map { String(buffer: $0) } }
  }

  @Test("A side of a tunnel is not read while the other does not accept bytes")
  func backPressure() throws {
    let ends = Tunnel.ends(ProxyConfiguration.Timeouts(), ProxyStatistics(), at: .uptimeNanoseconds(0)) { _ in
    }
    let (client, origin) = (try Side(ends.client), try Side(ends.origin))
    ends.origin.readOn()
    #expect(origin.reads.count == 1)
    try origin.receive("a")
    #expect(try client.sent() == "a")
    #expect(origin.reads.count == 2)
    client.channel.isWritable = false
    client.channel.pipeline.fireChannelWritabilityChanged()
    try origin.receive("b")
    #expect(origin.reads.count == 2)
    // The other direction goes on.
    let before = client.reads.count
    try client.receive("c")
    #expect(try origin.sent() == "c")
    #expect(client.reads.count == before + 1)
    client.channel.isWritable = true
    client.channel.pipeline.fireChannelWritabilityChanged()
    #expect(origin.reads.count == 3)
    _ = try? client.channel.finish()
    _ = try? origin.channel.finish()
  }

  @Test("Both ends of a tunnel are released when one connection closes", arguments: [true, false])
  func release(clientGoes: Bool) throws {
    weak var first: TunnelEnd?
    weak var second: TunnelEnd?
    var written: Int?
    do {
      let ends = Tunnel.ends(ProxyConfiguration.Timeouts(), ProxyStatistics(), at: .uptimeNanoseconds(0)) {
        written = $0
      }
      (first, second) = (ends.client, ends.origin)
      let (client, origin) = (try Side(ends.client), try Side(ends.origin))
      try origin.receive("abc")
      (clientGoes ? client : origin).channel.close(promise: nil)
      client.channel.embeddedEventLoop.run()
      origin.channel.embeddedEventLoop.run()
      #expect(!client.channel.isActive && !origin.channel.isActive)
      _ = try? client.channel.finish()
      _ = try? origin.channel.finish()
    }
    #expect(written == 3)
    #expect(first == nil && second == nil)
  }

  @Test("After the origin closes, unread bytes wait for the client until the stall timeout")
  func stalled() throws {
    var timeouts = ProxyConfiguration.Timeouts()
    timeouts.stall = .milliseconds(1000)
    let ends = Tunnel.ends(timeouts, ProxyStatistics(), at: .uptimeNanoseconds(0)) { _ in }
    let (client, origin) = (try Side(ends.client), try Side(ends.origin))
    let unread = Unread()
    try client.channel.pipeline.syncOperations.addHandler(unread, position: .first)
    try origin.receive("abc")
    origin.channel.close(promise: nil)
    client.channel.embeddedEventLoop.advanceTime(by: .milliseconds(500))
    #expect(client.channel.isActive)
    client.channel.embeddedEventLoop.advanceTime(by: .milliseconds(600))
    #expect(!client.channel.isActive)
    _ = try? client.channel.finish()
    _ = try? origin.channel.finish()
  }

  @Test("After the origin closes, a client that takes bytes has time for the rest")
  func takesSlowly() throws {
    var timeouts = ProxyConfiguration.Timeouts()
    timeouts.stall = .milliseconds(1000)
    let ends = Tunnel.ends(timeouts, ProxyStatistics(), at: .uptimeNanoseconds(0)) { _ in }
    var taken: UInt64 = 0
    ends.client.uptake = PeerUptake { _ in PeerUptake.Queue(acknowledged: taken, isEmpty: false) }
    let (client, origin) = (try Side(ends.client), try Side(ends.origin))
    try client.channel.pipeline.syncOperations.addHandler(Unread(), position: .first)
    try origin.receive("abc")
    origin.channel.close(promise: nil)
    for _ in 1...10 {
      taken += 1
      client.channel.embeddedEventLoop.advanceTime(by: .milliseconds(900))
      #expect(client.channel.isActive)
    }
    client.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1250))
    #expect(!client.channel.isActive)
    _ = try? client.channel.finish()
    _ = try? origin.channel.finish()
  }

  @Test("A tunnel ends when nothing has moved for the tunnel timeout", arguments: [true, false])
  func idle(clientSends: Bool) throws {
    var timeouts = ProxyConfiguration.Timeouts()
    timeouts.tunnel = .seconds(10)
    let ends = Tunnel.ends(timeouts, ProxyStatistics(), at: .uptimeNanoseconds(0)) { _ in }
    let (client, origin) = (try Side(ends.client), try Side(ends.origin))
    func pass(_ time: TimeAmount) {
      client.channel.embeddedEventLoop.advanceTime(by: time)
      origin.channel.embeddedEventLoop.advanceTime(by: time)
    }
    pass(.seconds(9))
    try (clientSends ? client : origin).receive("a")
    pass(.milliseconds(9999))
    #expect(client.channel.isActive && origin.channel.isActive)
    pass(.milliseconds(1))
    #expect(!client.channel.isActive && !origin.channel.isActive)
    _ = try? client.channel.finish()
    _ = try? origin.channel.finish()
  }

  /// A client that takes nothing.
  private final class Unread: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    private var promises: [EventLoopPromise<Void>] = []

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      if let promise { promises.append(promise) }
    }

    func flush(context: ChannelHandlerContext) {}

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      for promise in promises { promise.fail(ChannelError.ioOnClosedChannel) }
      promises = []
      context.close(mode: mode, promise: promise)
    }
  }
}
