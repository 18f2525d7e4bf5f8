// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import NIOCore
import NIOPosix

/// A TCP proxy between a node and Redis, which delays, holds back or closes what passes.
final class FaultLine: Sendable {
  enum Mode: Hashable, Sendable {
    case open
    case delayed(milliseconds: Int64)
    /// Nothing passes, and the connections stay.
    case held
    /// The connections end, and no new one is made.
    case cut
  }

  private struct State {
    var mode = Mode.open
    var target = 0
    var ends: [ObjectIdentifier: LineEnd] = [:]
  }

  private let state: Mutex<State>
  private let channel = Mutex<(any Channel)?>(nil)

  init(to target: Int) async throws {
    state = Mutex(State(target: target))
    let group = MultiThreadedEventLoopGroup.singleton
    let server = try await ServerBootstrap(group: group)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { [self] inner in accept(inner) }
      .bind(host: "127.0.0.1", port: 0).get()
    channel.withLock { $0 = server }
  }

  var port: Int { channel.withLock { $0?.localAddress?.port } ?? 0 }

  var mode: Mode {
    get { state.withLock { $0.mode } }
    set {
      let ends = state.withLock { state in
        state.mode = newValue
        return Array(state.ends.values)
      }
      for end in ends { end.modeChanged(newValue) }
    }
  }

  private func accept(_ inner: any Channel) -> EventLoopFuture<Void> {
    if mode == .cut { return inner.eventLoop.makeFailedFuture(ChannelError.eof) }
    let target = state.withLock { $0.target }
    // On the same event loop, so that both ends need no lock.
    return ClientBootstrap(group: inner.eventLoop)
      .channelOption(.socketOption(.tcp_nodelay), value: 1)
      .connect(host: "127.0.0.1", port: target)
      .flatMap { [self] outer in
        let (near, far) = (LineEnd(inner, to: outer, self), LineEnd(outer, to: inner, self))
        state.withLock { state in
          state.ends[ObjectIdentifier(near)] = near
          state.ends[ObjectIdentifier(far)] = far
        }
        return inner.pipeline.addHandler(near).and(outer.pipeline.addHandler(far)).map { _ in }
      }
  }

  fileprivate func ended(_ end: LineEnd) { state.withLock { $0.ends[ObjectIdentifier(end)] = nil } }
}

/// What one side sends to the other. Used on its event loop only, except ``modeChanged(_:)``.
private final class LineEnd: ChannelInboundHandler, @unchecked Sendable {
  // Unchecked: all state is used on the event loop.
  typealias InboundIn = ByteBuffer

  private let channel: any Channel
  private let partner: any Channel
  private let line: FaultLine
  private var held: [ByteBuffer] = []
  private var last = NIODeadline.now()

  init(_ channel: any Channel, to partner: any Channel, _ line: FaultLine) {
    self.channel = channel
    self.partner = partner
    self.line = line
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = unwrapInboundIn(data)
    switch line.mode {
    case .open: pass(bytes, after: 0)
    case .delayed(let milliseconds): pass(bytes, after: milliseconds)
    case .held: held.append(bytes)
    case .cut: context.close(promise: nil)
    }
  }

  private func pass(_ bytes: ByteBuffer, after milliseconds: Int64) {
    // In order, also when the delay becomes shorter.
    last = max(last, .now() + .milliseconds(milliseconds))
    if held.isEmpty, last <= .now() { return partner.writeAndFlush(bytes, promise: nil) }
    let partner = partner
    channel.eventLoop.scheduleTask(deadline: last) { partner.writeAndFlush(bytes, promise: nil) }
  }

  func modeChanged(_ mode: FaultLine.Mode) {
    channel.eventLoop.execute { [self] in
      switch mode {
      case .cut: channel.close(promise: nil)
      case .held: break
      case .open, .delayed:
        let bytes = held
        held = []
        for bytes in bytes { pass(bytes, after: 0) }
      }
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    line.ended(self)
    partner.close(promise: nil)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
