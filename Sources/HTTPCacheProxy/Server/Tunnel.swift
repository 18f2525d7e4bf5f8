// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCacheStore
import NIOCore

/// Two connections on one event loop that forward each other's bytes, after the origin has switched protocols.
///
/// Neither side is read while the other does not accept the bytes. The end of one direction is forwarded, and the
/// opposite direction stays open. The tunnel ends when both directions have ended, when one connection closes, or when
/// nothing has moved for too long.
final class Tunnel {
  private let liveCount = LiveCount(.tunnel)
  fileprivate let timeouts: ProxyConfiguration.Timeouts
  fileprivate var progress: NIODeadline

  private init(_ timeouts: ProxyConfiguration.Timeouts, at now: NIODeadline) {
    self.timeouts = timeouts
    progress = now
  }

  /// Makes the two ends of a tunnel.
  ///
  /// - Parameters:
  ///   - now: the time of the event loop.
  ///   - onEnd: called with the number of bytes sent to the client when the connection to the client closes.
  static func ends(
    _ timeouts: ProxyConfiguration.Timeouts, _ statistics: ProxyStatistics, at now: NIODeadline,
    onEnd: @escaping (Int) -> Void
  ) -> (client: TunnelEnd, origin: TunnelEnd) {
    let tunnel = Tunnel(timeouts, at: now)
    let client = TunnelEnd(
      tunnel, onWrite: { statistics.bytesSent.increment(by: $0) }, onEnd: onEnd)
    let origin = TunnelEnd(tunnel, onWrite: { _ in }, onEnd: { _ in })
    (client.other, origin.other) = (origin, client)
    return (client, origin)
  }
}

/// One end of a ``Tunnel``: the handler next to the socket, or to TLS. The handler after it sees only the end of the connection.
final class TunnelEnd: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let tunnel: Tunnel
  private let onWrite: (Int) -> Void
  private let onEnd: (Int) -> Void
  /// `nil` as soon as this connection is closed: until then the two ends refer to each other.
  fileprivate var other: TunnelEnd?
  private var context: ChannelHandlerContext?
  private var timer: Scheduled<Void>?
  private var written = 0
  private var inputIsClosed = false
  private var outputIsClosing = false
  /// Whether the connection ends as soon as its bytes are sent.
  private var isClosing = false
  /// What the peer has taken of the bytes that this end sent.
  var uptake = PeerUptake()

  fileprivate init(_ tunnel: Tunnel, onWrite: @escaping (Int) -> Void, onEnd: @escaping (Int) -> Void) {
    self.tunnel = tunnel
    self.onWrite = onWrite
    self.onEnd = onEnd
  }

  // MARK: - Channel

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    armTimer(context, at: context.eventLoop.now + tunnel.timeouts.tunnel.timeAmount)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    end()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    // The other side may keep them long.
    ReadBuffer.current.trim(&bytes)
    other?.write(bytes)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    other?.context?.flush()
    readOn()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable {
      tunnel.progress = context.eventLoop.now
      other?.readOn()
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed = event {
      closeInput()
    } else {
      context.fireUserInboundEventTriggered(event)
    }
  }

  /// Also after an end without a word in TLS: the other side would take it for a proper one.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    onEnd(written)
    other?.closeAfterWrites()
    end()
    context.fireChannelInactive()
  }

  private func end() {
    timer?.cancel()
    timer = nil
    other = nil
    context = nil
  }

  // MARK: - The other end's calls

  /// Sends bytes at the next flush.
  func write(_ bytes: ByteBuffer) {
    guard let context, bytes.readableBytes > 0, !outputIsClosing else { return }
    tunnel.progress = context.eventLoop.now
    written += bytes.readableBytes
    onWrite(bytes.readableBytes)
    context.write(wrapOutboundOut(bytes), promise: nil)
  }

  func flush() { context?.flush() }

  /// Reads if the other side accepts more bytes.
  func readOn() {
    guard let context, !inputIsClosed, other?.context?.channel.isWritable == true else { return }
    context.read()
  }

  /// Records that this side has sent its last byte.
  func closeInput() {
    inputIsClosed = true
    other?.closeOutput()
  }

  /// Ends one direction after all earlier bytes have been sent: closing earlier would lose them.
  private func closeOutput() {
    guard !outputIsClosing, let context else { return }
    outputIsClosing = true
    afterWrites(context) { end, context in
      context.close(mode: end.inputIsClosed ? .all : .output, promise: nil)
    }
  }

  /// Ends this connection after all its bytes have been sent, or after the time-out of a stalled client.
  private func closeAfterWrites() {
    guard let context else { return }
    outputIsClosing = true
    isClosing = true
    tunnel.progress = context.eventLoop.now
    timer?.cancel()
    timerRang()
    afterWrites(context) { _, context in context.close(promise: nil) }
  }

  private func afterWrites(
    _ context: ChannelHandlerContext, _ body: @escaping (TunnelEnd, ChannelHandlerContext) -> Void
  ) {
    let bound = NIOLoopBound((self, body), eventLoop: context.eventLoop)
    let promise = context.eventLoop.makePromise(of: Void.self)
    promise.futureResult.whenComplete { _ in
      let (end, body) = bound.value
      if let context = end.context { body(end, context) }
    }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: promise)
  }

  // MARK: - Time

  /// Each end has one timer, and none is set for a byte: a timer that fires early is set again.
  private func armTimer(_ context: ChannelHandlerContext, at deadline: NIODeadline) {
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(deadline: deadline) { bound.value.timerRang() }
  }

  private func timerRang() {
    guard let context else { return }
    let now = context.eventLoop.now
    let limit = isClosing ? tunnel.timeouts.stall : tunnel.timeouts.tunnel
    if isClosing || tunnel.progress + limit.timeAmount <= now, uptake.hasAdvanced(context.channel) {
      tunnel.progress = now
    }
    let deadline = tunnel.progress + limit.timeAmount
    if deadline <= now { return context.close(promise: nil) }
    armTimer(
      context, at: isClosing ? Swift.min(deadline, now + PeerUptake.interval(within: limit)) : deadline)
  }
}
