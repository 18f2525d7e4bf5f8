import HTTPCacheObserving
import HTTPCaching
import HTTPTypes
import NIOCore
import NIOPosix
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// From the parts of a response to bytes, in the framing that its head has chosen.
extension ClientConnection {
  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard var current else {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    switch unwrapOutboundIn(data) {
    case .interim(let response):
      // RFC 9110 §15.2: not to clients of HTTP/1.0.
      guard !current.hasHead, current.request.minorVersion > 0 else {
        promise?.succeed()
        return
      }
      watch(promise, context)
      write(response, context, promise)
    case .wantContent: promise?.succeed()
    case .head(let head):
      prepare(head, &current)
      self.current = current
      writer.write(head, closes: current.closes, to: &output.bytes)
      send(context, promise)
    case .whole(let head, let body): writeWhole(head, body, context, promise: promise)
    case .chunk(let bytes): writeChunk(bytes, current, context, promise)
    case .end(let trailers):
      switch current.framing {
      case .chunked:
        output.bytes.writeStaticString("0\r\n")
        for field in trailers?.asTrailers() ?? [:] { output.bytes.write(field) }
        output.bytes.writeStaticString("\r\n")
        send(context, promise)
      case .length(let count) where current.sent < count:
        promise?.fail(ChannelError.eof)
        return abort(context)
      case .none, .length, .untilClose:
        promise?.succeed()
      }
      finish(context)
    case .abort:
      promise?.succeed()
      abort(context)
    }
  }

  func flush(context: ChannelHandlerContext) {
    hasUnflushed = false
    context.flush()
  }

  func write(
    _ interim: HTTPResponse, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>? = nil
  ) {
    writer.writeInterim(interim, to: &output.bytes)
    send(context, promise)
  }

  func prepare(_ head: ResponseHead, _ current: inout Current) {
    current.hasHead = true
    current.framing = head.framing
    current.status = head.response.status.code
    current.provenance = head.provenance
    if head.framing == .untilClose { current.closes = true }
    // What the client still sends would be taken for the next request.
    if case .content = reading { current.closes = true }
    if context.isDraining.load(ordering: .relaxed) { current.closes = true }
    current.microsecondsToHead = (NIODeadline.now() - current.start).nanoseconds / 1000
    context.statistics.latency.record(microseconds: current.microsecondsToHead)
    context.statistics.answered(head.provenance.outcome, current.status)
  }

  func writeWhole(
    _ head: ResponseHead, _ body: MessageBody, _ context: ChannelHandlerContext,
    promise: EventLoopPromise<Void>?
  ) {
    guard var current else { return }
    prepare(head, &current)
    let count = body.length ?? 0
    current.sent = count
    self.current = current
    writer.write(head, closes: current.closes, to: &output.bytes)
    if head.framing == .chunked, count > 0 { writeChunkHead(count) }
    if head.framing != .none { body.withBytes { $0.withUnsafeBytes { _ = output.bytes.writeBytes($0) } } }
    if head.framing == .chunked {
      output.bytes.writeStaticString(count == 0 ? "0\r\n\r\n" : "\r\n0\r\n\r\n")
    }
    var promise = promise
    // Small ones are part of the buffers that every connection has.
    if head.framing != .none, count > Responder.smallPiece {
      let (transit, written) = (self.context.cache.transit, promise ?? context.eventLoop.makePromise())
      transit.change(by: count)
      written.futureResult.whenComplete { _ in transit.change(by: -count) }
      promise = written
    }
    send(context, promise)
    finish(context)
  }

  func writeChunkHead(_ count: Int) {
    output.bytes.writeString(String(count, radix: 16))
    output.bytes.writeStaticString("\r\n")
  }

  func writeChunk(
    _ bytes: ArraySlice<UInt8>, _ current: Current, _ context: ChannelHandlerContext,
    _ promise: EventLoopPromise<Void>?
  ) {
    var current = current
    current.sent += bytes.count
    self.current = current
    switch current.framing {
    case .none: promise?.succeed()
    case .length(let count) where current.sent > count:
      promise?.fail(ChannelError.eof)
      abort(context)
    case .length, .untilClose:
      output.bytes.writeBytes(bytes)
      watch(promise, context)
      send(context, promise)
    case .chunked:
      guard !bytes.isEmpty else {
        promise?.succeed()
        return
      }
      writeChunkHead(bytes.count)
      output.bytes.writeBytes(bytes)
      output.bytes.writeStaticString("\r\n")
      watch(promise, context)
      send(context, promise)
    }
  }

  /// Knows that the client is to take something, for as long as it has not.
  func watch(_ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
    guard let promise else { return }
    writesPending += 1
    progress = .now()
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    promise.futureResult.whenComplete { _ in
      bound.value.writesPending -= 1
      bound.value.progress = .now()
    }
  }

  /// Hands what was written to the socket at the next flush.
  func send(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
    hasUnflushed = true
    context.statisticsSent(output.bytes.readableBytes, self.context.statistics)
    context.write(wrapOutboundOut(output.take()), promise: promise)
  }

  /// The response is over: on to the next request, or to the end.
  func finish(_ context: ChannelHandlerContext) {
    guard let ended = current else { return }
    current = nil
    progress = .now()
    note(ended, endedAt: progress, isAborted: false)
    if ended.closes {
      flush(context)
      if case .content(let feed, _, _) = reading { feed.finish(.failure(CancellationError())) }
      end(context)
      return
    }
    reading = .head
    // Called from a task's write: nobody else looks for the request that waits already.
    if !isProcessing {
      process(context)
      flush(context)
      readOn(context)
    }
  }

  /// Lets the client see that the response is not whole.
  func abort(_ context: ChannelHandlerContext) {
    self.context.statistics.aborted.increment()
    if current?.framing == .untilClose, let options = context.channel as? any SocketOptionProvider {
      // The end of the connection would be the end of the content: a reset is not.
      options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete {
        [context = NIOLoopBound(context, eventLoop: context.eventLoop)] _ in
        context.value.close(promise: nil)
      }
      return
    }
    context.close(promise: nil)
  }
}

extension ChannelHandlerContext {
  fileprivate func statisticsSent(_ count: Int, _ statistics: ProxyStatistics) {
    statistics.bytesSent.increment(by: count)
  }
}
