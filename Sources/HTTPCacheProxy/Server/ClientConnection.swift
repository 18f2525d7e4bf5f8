import HTTPCacheObserving
import HTTPCaching
import Logging
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

/// A client's connection: reads requests, one after the other, and writes the responses in their order.
///
/// What memory can answer is answered here, on the event loop, in the same turn in which the request was read. Everything
/// else gets a task, which hands the parts of the response to the channel and waits until each is on its way: that, and
/// not reading from the socket while nobody wants what comes, is all the back-pressure there is.
final class ClientConnection: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ResponsePart
  typealias OutboundOut = ByteBuffer

  /// What comes next from the client.
  private enum Reading {
    case head
    case content(BodyFeed, BodyDecoder, left: Int)
    /// The request is whole; what comes is the next, and waits.
    case nothing
    /// Whatever comes is thrown away until the client closes.
    case draining
  }

  /// The request that is being answered.
  private struct Current {
    var request: ClientRequest
    var start: NIODeadline
    var framing = ResponseFraming.none
    var sent = 0
    var hasHead = false
    var closes: Bool
    var wantsContent = false
    var task: Task<Void, Never>?
  }

  private let context: ProxyContext
  private let writer: ResponseWriter
  private var channelContext: ChannelHandlerContext?

  private var inbound = ByteBuffer()
  private var outbound = ByteBuffer()
  private var reader: HeadReader
  private var reading = Reading.head
  private var current: Current?
  private var inputIsClosed = false
  private var hasUnflushed = false
  private var isProcessing = false

  /// When something last moved, and when the head began that is not whole yet.
  private var progress = NIODeadline.now()
  private var headStart: NIODeadline?
  private var writesPending = 0
  private var timer: Scheduled<Void>?

  init(_ context: ProxyContext) {
    self.context = context
    writer = ResponseWriter(name: context.configuration.name, dates: DateCache())
    reader = HeadReader(limits: context.configuration.limits.head, isResponse: false)
  }

  // MARK: - Channel

  func handlerAdded(context: ChannelHandlerContext) {
    channelContext = context
    if context.channel.isActive { begin(context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    begin(context)
  }

  private func begin(_ context: ChannelHandlerContext) {
    guard timer == nil else { return }
    progress = .now()
    let timeouts = self.context.configuration.timeouts
    armTimer(context, at: progress + .milliseconds(Swift.min(timeouts.idle, timeouts.stall)))
    context.read()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    channelContext = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .draining = reading { return }
    progress = .now()
    var bytes = unwrapInboundIn(data)
    if inbound.readableBytes == 0 {
      inbound = bytes
    } else {
      inbound.writeBuffer(&bytes)
    }
    process(context)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    flush(context)
    readOn(context)
  }

  private func flush(_ context: ChannelHandlerContext) {
    guard hasUnflushed else { return }
    hasUnflushed = false
    context.flush()
  }

  /// Reads from the socket where somebody wants what comes.
  private func readOn(_ context: ChannelHandlerContext) {
    switch reading {
    // Nothing of the next request is read while the client does not take its responses.
    case .head: if context.channel.isWritable { context.read() }
    case .content(let feed, _, _): if !feed.isFull, current?.wantsContent == true { context.read() }
    // One read ahead shows the end of the connection, and the beginning of the next request.
    case .nothing: if inbound.readableBytes == 0 { context.read() }
    case .draining: context.read()
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable {
      progress = .now()
      process(context)
      flush(context)
      readOn(context)
    }
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed = event {
      inputIsClosed = true
      switch reading {
      case .content(let feed, _, _):
        feed.finish(.failure(MessageFault("the client broke off its request")))
        reading = .nothing
        current?.closes = true
      case .head, .draining: if current == nil { context.close(promise: nil) }
      // What came before the end may hold requests still.
      case .nothing: break
      }
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    timer = nil
    if case .content(let feed, _, _) = reading {
      feed.finish(.failure(MessageFault("the client broke off its request")))
    }
    reading = .draining
    current?.task?.cancel()
    current = nil
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  // MARK: - Requests

  private func process(_ context: ChannelHandlerContext) {
    // A response that ends inside calls here again.
    guard !isProcessing else { return }
    isProcessing = true
    defer { isProcessing = false }
    while true {
      switch reading {
      case .draining, .nothing: return
      case .head:
        guard current == nil, context.channel.isWritable else { return }
        do throws(MessageFault) {
          guard let request = try nextRequest() else {
            if inputIsClosed { end(context) }
            return
          }
          begin(request, context)
        } catch {
          refuse(error, context)
          return
        }
      case .content(let feed, var decoder, var left):
        do throws(MessageFault) {
          let event = try decoder.next(from: &inbound)
          switch event {
          case nil:
            reading = .content(feed, decoder, left: left)
            return
          case .data(let bytes):
            left -= bytes.readableBytes
            guard left >= 0 else { throw MessageFault(413, "the content of the request is too large") }
            reading = .content(feed, decoder, left: left)
            feed.push(bytes)
          case .end(let trailers):
            reading = .nothing
            feed.finish(.success(()), trailers: trailers)
            if current == nil { reading = .head }
          }
        } catch {
          feed.finish(.failure(error))
          reading = .nothing
          // The response may be on its way; what comes behind cannot be told apart from content.
          if current?.hasHead == true {
            context.close(promise: nil)
          } else {
            current?.task?.cancel()
            current = nil
            refuse(error, context)
          }
          return
        }
      }
    }
  }

  /// The next request, once its head is there.
  private func nextRequest() throws(MessageFault) -> ClientRequest? {
    // RFC 9112 §2.2: empty lines before a request are overlooked.
    while inbound.getInteger(at: inbound.readerIndex, as: UInt16.self) == 0x0D0A {
      inbound.moveReaderIndex(forwardBy: 2)
      reader.reset()
    }
    guard inbound.readableBytes > 0 else { return nil }
    guard let length = try reader.findEnd(in: inbound), let head = inbound.readSlice(length: length) else {
      if headStart == nil, let channelContext {
        headStart = .now()
        // The head's time is shorter than the idle connection's, whose timer is set.
        armTimer(channelContext, at: .now() + .milliseconds(context.configuration.timeouts.head))
      }
      return nil
    }
    headStart = nil
    let reader = reader
    self.reader.reset()
    return try ClientRequest(
      head, reader, scheme: context.configuration.scheme, authority: context.authority)
  }

  private func begin(_ request: ClientRequest, _ context: ChannelHandlerContext) {
    let isLast = request.closes || self.context.isDraining.load(ordering: .relaxed)
    var current = Current(request: request, start: progress, closes: isLast)
    if request.framing == .none, request.maxForwards != 0 {
      reading = .nothing
      // RFC 9111 §4: a hit needs nobody but memory. A HEAD or GET without content, as nearly all are.
      if request.request.method == .get || request.request.method == .head,
        let response = self.context.cache.storedResponse(for: request.request)
      {
        self.context.statistics[response.source].increment()
        guard let bytes = response.body.bytes, bytes.count <= Responder.piece else {
          let responder = Responder(context: self.context, channel: context.channel, client: request)
          current.task = Task { await responder.deliver(response) }
          self.current = current
          return
        }
        self.current = current
        let head = ResponseHead(
          response.head, to: request.request.method, minorVersion: request.minorVersion, isStored: true,
          length: bytes.count)
        writeWhole(head, bytes, context, promise: nil)
        return
      }
      current.task = respond(to: request, body: .empty, context)
      self.current = current
      return
    }
    if request.maxForwards == 0 {
      // RFC 9110 §7.6.2: the last recipient answers.
      let (response, bytes) =
        request.request.method == .trace
        ? GeneratedResponse.trace(request.request, minorVersion: request.minorVersion)
        : GeneratedResponse.options()
      current.closes = current.closes || request.framing != .none
      reading = .nothing
      self.current = current
      self.context.statistics[.generated].increment()
      let head = ResponseHead(
        response, to: request.request.method, minorVersion: request.minorVersion, isStored: true,
        length: bytes.count)
      writeWhole(head, bytes, context, promise: nil)
      return
    }
    let limit = self.context.configuration.limits.requestBytes
    var length: Int?
    if case .length(let count) = request.framing {
      guard count <= limit else {
        return refuse(MessageFault(413, "the content of the request has more than \(limit) bytes"), context)
      }
      length = count
    }
    if request.request.method == .trace {
      return refuse(MessageFault("TRACE has no content (RFC 9110 §9.3.8)"), context)
    }
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    let loop = context.eventLoop
    let feed = BodyFeed { signal in
      loop.execute { bound.value.requestContent(signal) }
    }
    reading = .content(
      feed, BodyDecoder(request.framing, limits: self.context.configuration.limits.head, isResponse: false),
      left: limit)
    current.task = respond(to: request, body: MessageBody(FeedReader(feed), length: length), context)
    self.current = current
  }

  /// The content of the request is wanted now, or not any more.
  private func requestContent(_ signal: BodyFeed.Signal) {
    guard let channelContext, case .content = reading else { return }
    switch signal {
    case .demand:
      guard var current else { return }
      if !current.wantsContent {
        current.wantsContent = true
        self.current = current
        progress = .now()
        // RFC 9110 §10.1.1; not behind the final response.
        if current.request.expectsContinue, !current.hasHead {
          write(HTTPResponse(status: .continue), channelContext)
        }
      }
      process(channelContext)
      flush(channelContext)
      readOn(channelContext)
    case .abandoned: break
    }
  }

  /// Answers in a task of its own: from the disk, from the origin, or from another's request.
  private func respond(to client: ClientRequest, body: MessageBody, _ context: ChannelHandlerContext) -> Task<
    Void, Never
  > {
    let responder = Responder(context: self.context, channel: context.channel, client: client)
    return Task { await responder.run(body) }
  }

  // MARK: - Refusals

  /// Answers what is wrong, and reads nothing more as a request.
  private func refuse(_ fault: MessageFault, _ context: ChannelHandlerContext) {
    self.context.statistics.refused.increment()
    self.context.logger.debug(
      "request refused", metadata: ["status": "\(fault.status)", "reason": "\(fault.reason)"])
    let (response, bytes) = GeneratedResponse.failure(fault, name: self.context.configuration.name)
    let head = ResponseHead(response, to: .get, minorVersion: 1, isStored: true, length: bytes.count)
    writer.write(head, closes: true, to: &outbound)
    outbound.writeBytes(bytes)
    context.write(wrapOutboundOut(takeOutbound()), promise: nil)
    current = nil
    end(context)
  }

  /// Closes the sending half, and waits for the client to take note: a connection closed with bytes unread is reset, and
  /// the response lost with it (RFC 9112 §9.6).
  private func end(_ context: ChannelHandlerContext) {
    reading = .draining
    inbound.clear()
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
      context.read()
    }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
  }

  // MARK: - Responses

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard var current else {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    switch unwrapOutboundIn(data) {
    case .interim(let response):
      // RFC 9110 §15.2: not to clients of HTTP/1.0.
      if !current.hasHead, current.request.minorVersion > 0 { write(response, context) }
      promise?.succeed()
    case .wantContent: promise?.succeed()
    case .head(let head):
      prepare(head, &current)
      self.current = current
      writer.write(head, closes: current.closes, to: &outbound)
      send(context, promise)
    case .whole(let head, let bytes): writeWhole(head, bytes, context, promise: promise)
    case .chunk(let bytes): writeChunk(bytes, current, context, promise)
    case .end(let trailers):
      switch current.framing {
      case .chunked:
        outbound.writeStaticString("0\r\n")
        for field in trailers?.asTrailers() ?? [:] { outbound.write(field) }
        outbound.writeStaticString("\r\n")
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

  private func write(_ interim: HTTPResponse, _ context: ChannelHandlerContext) {
    writer.writeInterim(interim, to: &outbound)
    send(context, nil)
  }

  private func prepare(_ head: ResponseHead, _ current: inout Current) {
    current.hasHead = true
    current.framing = head.framing
    if head.framing == .untilClose { current.closes = true }
    // What the client still sends would be taken for the next request.
    if case .content = reading { current.closes = true }
    if context.isDraining.load(ordering: .relaxed) { current.closes = true }
    context.statistics.latency.record(microseconds: (NIODeadline.now() - current.start).nanoseconds / 1000)
  }

  private func writeWhole(
    _ head: ResponseHead, _ bytes: ArraySlice<UInt8>, _ context: ChannelHandlerContext,
    promise: EventLoopPromise<Void>?
  ) {
    guard var current else { return }
    prepare(head, &current)
    self.current = current
    writer.write(head, closes: current.closes, to: &outbound)
    if head.framing == .chunked {
      if !bytes.isEmpty { writeChunkHead(bytes.count) }
    }
    if head.framing != .none { outbound.writeBytes(bytes) }
    if head.framing == .chunked { outbound.writeStaticString(bytes.isEmpty ? "0\r\n\r\n" : "\r\n0\r\n\r\n") }
    send(context, promise)
    finish(context)
  }

  private func writeChunkHead(_ count: Int) {
    outbound.writeString(String(count, radix: 16))
    outbound.writeStaticString("\r\n")
  }

  private func writeChunk(
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
      outbound.writeBytes(bytes)
      watch(promise, context)
      send(context, promise)
    case .chunked:
      guard !bytes.isEmpty else {
        promise?.succeed()
        return
      }
      writeChunkHead(bytes.count)
      outbound.writeBytes(bytes)
      outbound.writeStaticString("\r\n")
      watch(promise, context)
      send(context, promise)
    }
  }

  /// Knows that the client is to take something, for as long as it has not.
  private func watch(_ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
    guard let promise else { return }
    writesPending += 1
    progress = .now()
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    promise.futureResult.whenComplete { _ in
      bound.value.writesPending -= 1
      bound.value.progress = .now()
    }
  }

  /// Hands what was written to the socket at the next flush. The buffer is used again if the socket has taken it by then.
  private func send(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
    hasUnflushed = true
    context.statisticsSent(outbound.readableBytes, self.context.statistics)
    context.write(wrapOutboundOut(takeOutbound()), promise: promise)
  }

  private func takeOutbound() -> ByteBuffer {
    let bytes = outbound
    outbound = ByteBuffer()
    return bytes
  }

  /// The response is over: on to the next request, or to the end.
  private func finish(_ context: ChannelHandlerContext) {
    guard let ended = current else { return }
    current = nil
    progress = .now()
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
  private func abort(_ context: ChannelHandlerContext) {
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

  // MARK: - Time

  private func armTimer(_ context: ChannelHandlerContext, at deadline: NIODeadline) {
    timer?.cancel()
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(deadline: deadline) { bound.value.timerRang() }
  }

  /// One timer a connection, and none set or cancelled on the way of a request: it looks what there is to wait for.
  private func timerRang() {
    guard let context = channelContext else { return }
    let timeouts = self.context.configuration.timeouts
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
    armTimer(context, at: deadline)
  }

  /// Closes if nothing is under way, and else after it.
  func drain() {
    guard let channelContext else { return }
    if current == nil, inbound.readableBytes == 0 {
      channelContext.close(promise: nil)
    } else {
      current?.closes = true
    }
  }
}

extension ChannelHandlerContext {
  fileprivate func statisticsSent(_ count: Int, _ statistics: ProxyStatistics) {
    statistics.bytesSent.increment(by: count)
  }
}
