// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPTypes
import Logging
import NIOCore
import NIOPosix
import TransportSecurity

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Performs the actions of the state machine.
extension ClientConnection {
  /// - Parameter request: the refused request, if it could be read as one.
  func perform(
    _ action: ClientConnectionStateMachine.Action, _ context: ChannelHandlerContext,
    of request: ClientRequest? = nil
  ) {
    switch action {
    case .none: break
    case .awaitHead:
      // The time-out for the head is shorter than that for the idle connection, whose timer is set.
      armTimer(context, at: now + self.context.settings.value.timeouts.head.timeAmount)
    case .armTimer(let deadline): armTimer(context, at: deadline)
    case .writeContinue: write(HTTPResponse(status: .continue), context)
    case .refuse(let fault, let start): refuse(fault, since: start, request, context)
    case .failContent(let fault, let closes):
      failContent(fault)
      if closes { context.close(promise: nil) }
    case .end: end(context)
    case .closeOutput:
      context.close(mode: .output, promise: nil)
      closeLater(context)
      read(context)
    case .close(let isAborted):
      if isAborted { self.context.statistics.aborted.increment() }
      context.close(promise: nil)
    case .giveUp:
      current?.work.cancel()
      self.context.statistics.aborted.increment()
      context.close(promise: nil)
    case .reset: reset(context)
    }
  }

  /// Sends an error response, and reads no more requests.
  private func refuse(
    _ fault: MessageFault, since start: NIODeadline, _ request: ClientRequest?,
    _ context: ChannelHandlerContext
  ) {
    self.context.logger.debug(
      "request refused", metadata: ["status": "\(fault.status)", "reason": "\(fault.reason)"])
    failContent(fault)
    let request = request ?? current?.request
    current?.work.cancel()
    current = nil
    let (response, bytes) = GeneratedResponse.failure(fault, name: self.context.configuration.name)
    let head = ResponseHead(
      generated: response, length: bytes.count, for: request, to: .get, in: .http11, by: self.context.cache)
    writer.write(head, closes: true, to: &output.bytes)
    output.bytes.writeBytes(bytes)
    note(
      fault, request, unreadable: unreadable ?? inbound, version: .http11, since: start,
      contentBytes: bytes.count)
    context.write(wrapOutboundOut(output.take()), promise: nil)
    hasUnflushed = true
    end(context)
  }

  /// Closes a connection that must not be served, without a response.
  func reject(_ reason: String, _ context: ChannelHandlerContext) {
    self.context.logger.debug("connection refused", metadata: ["reason": "\(reason)"])
    perform(machine.rejected(), context)
  }

  /// Writes the remaining output, and discards the received bytes.
  func end(_ context: ChannelHandlerContext) {
    failContent(CancellationError())
    inbound = ByteBuffer()
    unreadable = nil
    machine.writeBegan(at: now)
    flush(context)
    // Usually the socket has taken everything.
    if isWritten(context) { return perform(machine.endWritten(), context) }
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    let written = context.eventLoop.makePromise(of: Void.self)
    written.futureResult.whenComplete { _ in
      let (connection, context) = bound.value
      guard connection.channelContext != nil else { return }
      connection.perform(connection.machine.endWritten(), context)
    }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    // The client may leave the last bytes unread.
    if machine.isEnding { checkTime(context) }
  }

  /// Resets the connection: its normal end would look like the end of the content.
  private func reset(_ context: ChannelHandlerContext) {
    guard let options = context.channel as? any SocketOptionProvider else {
      return perform(.close(isAborted: true), context)
    }
    self.context.statistics.aborted.increment()
    options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete {
      [isAtSocket, context = NIOLoopBound(context, eventLoop: context.eventLoop)] _ in
      if isAtSocket {
        context.value.close(promise: nil)
      } else {
        context.value.triggerUserOutboundEvent(AbruptEnd(), promise: nil)
      }
    }
  }

  // MARK: - Time

  private func closeLater(_ context: ChannelHandlerContext) {
    let channel = context.channel
    setTimer(context, at: now + ClientConnectionStateMachine.lingering) { channel.close(promise: nil) }
  }

  private func armTimer(_ context: ChannelHandlerContext, at deadline: NIODeadline) {
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    setTimer(context, at: deadline) {
      if let context = bound.value.channelContext { bound.value.checkTime(context) }
    }
  }

  private func setTimer(
    _ context: ChannelHandlerContext, at deadline: NIODeadline, _ body: @escaping @Sendable () -> Void
  ) {
    timer?.cancel()
    // A write that fails may have closed the channel meanwhile.
    timer = context.channel.isActive ? context.eventLoop.scheduleTask(deadline: deadline, body) : nil
  }

  /// Performs the action that is due, and sets the timer.
  func checkTime(_ context: ChannelHandlerContext) {
    let action = machine.checkTime(
      at: now, timeouts, isWritable: context.channel.isWritable,
      isContentAwaited: content?.feed.isAwaited == true, hasTaken: uptake.hasAdvanced(context.channel))
    perform(action, context)
  }
}
