import HTTPCacheObserving
import HTTPTypes
import Logging
import NIOCore

/// How a connection ends: by what is wrong with a request, by time, or when the proxy stops.
extension ClientConnection {
  /// Answers what is wrong, and reads nothing more as a request.
  ///
  /// - Parameter request: the request, if it could be read as one.
  func refuse(_ fault: MessageFault, _ context: ChannelHandlerContext, of request: ClientRequest? = nil) {
    self.context.logger.debug(
      "request refused", metadata: ["status": "\(fault.status)", "reason": "\(fault.reason)"])
    let (response, bytes) = GeneratedResponse.failure(fault, name: self.context.configuration.name)
    let head = ResponseHead(response, to: .get, minorVersion: 1, isStored: true, length: bytes.count)
    writer.write(head, closes: true, to: &output.bytes)
    output.bytes.writeBytes(bytes)
    note(fault, request, contentBytes: bytes.count)
    context.write(wrapOutboundOut(output.take()), promise: nil)
    current = nil
    end(context)
  }

  /// Closes the sending half, and waits for the client to take note: a connection closed with bytes unread is reset, and
  /// the response lost with it (RFC 9112 §9.6).
  func end(_ context: ChannelHandlerContext) {
    reading = .draining
    inbound = ByteBuffer()
    unreadable = nil
    headStart = nil
    progress = .now()
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    let written = context.eventLoop.makePromise(of: Void.self)
    written.futureResult.whenComplete { _ in
      let (connection, context) = bound.value
      guard connection.channelContext != nil else { return }
      if connection.inputIsClosed { return context.close(promise: nil) }
      context.close(mode: .output, promise: nil)
      connection.timer?.cancel()
      connection.timer = context.eventLoop.scheduleTask(in: .seconds(2)) { bound.value.1.close(promise: nil) }
      connection.read(context)
    }
    // The client may leave the last bytes unread.
    let channel = context.channel
    timer?.cancel()
    timer = context.eventLoop.scheduleTask(in: .milliseconds(self.context.settings.value.timeouts.stall)) {
      channel.close(promise: nil)
    }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
  }

  func armTimer(_ context: ChannelHandlerContext, at deadline: NIODeadline) {
    timer?.cancel()
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(deadline: deadline) { bound.value.timerRang() }
  }

  /// One timer a connection, and none set or cancelled on the way of a request: it looks what there is to wait for.
  func timerRang() {
    guard let context = channelContext else { return }
    let timeouts = self.context.settings.value.timeouts
    let now = NIODeadline.now()
    if let headStart {
      let deadline = headStart + .milliseconds(timeouts.head)
      if deadline <= now {
        return refuse(
          MessageFault(408, "the head of the request took more than \(timeouts.head) ms"), context)
      }
      return armTimer(context, at: deadline)
    }
    if let current {
      // The client's turn: it sends content that is wanted, or takes what was written.
      var isClients = writesPending > 0 || !context.channel.isWritable
      if case .content(let feed, _, _) = reading { isClients = isClients || feed.isAwaited }
      if !isClients { progress = now }
      let deadline = progress + .milliseconds(timeouts.stall)
      if deadline <= now {
        current.task?.cancel()
        self.context.statistics.aborted.increment()
        context.close(promise: nil)
        return
      }
      return armTimer(context, at: deadline)
    }
    let deadline = progress + .milliseconds(context.channel.isWritable ? timeouts.idle : timeouts.stall)
    if deadline <= now { return context.close(promise: nil) }
    // A request may come meanwhile, whose client has only so long.
    armTimer(context, at: Swift.min(deadline, now + .milliseconds(Swift.max(1, timeouts.stall))))
  }

  /// Closes if nothing is under way, and else after it.
  func drain() {
    guard let channelContext else { return }
    if case .draining = reading { return }
    if current == nil, inbound.readableBytes == 0 {
      // Not at once: a response may wait for the client to take it.
      end(channelContext)
    } else {
      current?.closes = true
    }
  }
}
