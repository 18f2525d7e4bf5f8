// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheObserving
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import NIOCore
import NIOHPACK
import NIOHTTP2

/// A stream of a connection of HTTP/2 to the origin: one request, and the responses to it.
///
/// ``OriginConnectionStateMachine`` decides, as for a connection that serves one request. This handler has the frames and the
/// channel.
final class OriginStream: ChannelInboundHandler, OriginHandler {
  typealias InboundIn = HTTP2Frame.FramePayload
  typealias OutboundOut = HTTP2Frame.FramePayload
  typealias Machine = OriginConnectionStateMachine

  /// A response whose small content is awaited.
  private struct Held {
    var head: HTTPResponse
    /// The announced length of the content.
    var length: Int?
    var bytes = ByteBuffer()
    /// When the response is delivered without it.
    var end: NIODeadline
  }

  private let liveCount = LiveCount(.originStream)
  private let connection: OriginHTTP2Connection
  private var context: ChannelHandlerContext?
  private var machine: Machine
  /// The request until its stream is open.
  private var waiting: OriginRequest?
  private var request = Machine.Request()
  /// The number of the stream, once its head was sent.
  private(set) var number: Int?
  private var started: NIODeadline
  /// The frames that wait until the next response is wanted.
  private var frames = CircularBuffer<HTTP2Frame.FramePayload>()
  private var headsWaiting = 0
  private var receiver: OriginReply.Receiver?
  private var held: Held?
  private var feed: BodyFeed?
  /// The announced length of the content that has not arrived; `nil` without one.
  private var announced: Int?
  private var sending: Task<Void, Never>?
  /// Number of frames of the request that the origin must take.
  private var writesPending = 0
  /// The bytes by which the origin has opened the window of the stream (RFC 9113 §6.9).
  private var opened = 0
  private var hasReset = false
  /// Bytes that count as content in flight: a window while nothing is read.
  private var counted = 0 { didSet { connection.transit.change(by: counted - oldValue) } }

  init(_ connection: OriginHTTP2Connection) {
    self.connection = connection
    machine = Machine(connection.timeouts, at: connection.loop.now)
    started = connection.loop.now
    connection.began(self)
  }

  var exchanges: Int { machine.exchanges }

  private var now: NIODeadline { connection.loop.now }

  // MARK: - The request

  func start(_ request: OriginRequest, _ receiver: @escaping OriginReply.Receiver) {
    self.request = request.properties
    do throws(OriginError) {
      let deadline = try machine.requestStarted(
        self.request, isLarge: request.body.length != 0,
        isActive: connection.channel.isActive && !connection.isRetired,
        isEnding: false, at: now)
      self.receiver = receiver
      started = now
      connection.armTimer(by: deadline)
    } catch {
      connection.ended(self)
      return receiver(.failure(connection.lastStream == nil ? error : unsent))
    }
    guard let multiplexer = connection.multiplexer else { return failToOpen() }
    waiting = request
    let bound = NIOLoopBound(self, eventLoop: connection.loop)
    let opened = connection.loop.makePromise(of: (any Channel).self)
    // A connection that has closed meanwhile makes no channel.
    opened.futureResult.whenFailure { _ in bound.value.failToOpen() }
    // In the next turn of this event loop.
    multiplexer.createStreamChannel(promise: opened) { stream in
      stream.eventLoop.makeCompletedFuture { try bound.value.open(stream) }
    }
  }

  /// Adds the handler to the channel that was made for it.
  ///
  /// - Throws: an error if there is nothing to send any more, or nothing to send it on.
  private func open(_ stream: any Channel) throws {
    guard machine.input == .head, connection.channel.isActive, !connection.isRetired else {
      throw ChannelError.ioOnClosedChannel
    }
    try stream.pipeline.syncOperations.addHandler(self)
  }

  private func failToOpen() {
    waiting = nil
    end(machine.end(unsent, hasBytes: false))
    connection.ended(self)
  }

  func channelActive(context: ChannelHandlerContext) {
    context.fireChannelActive()
    guard let request = waiting.take() else { return }
    write(request, context)
    context.read()
  }

  private func write(_ request: OriginRequest, _ context: ChannelHandlerContext) {
    let fields = HTTP2RequestFields.fields(of: request, scheme: connection.scheme)
    let isEmpty = request.isWhole && request.body.length == 0
    context.write(wrapOutboundOut(.headers(.init(headers: fields, endStream: isEmpty))), promise: nil)
    if request.isWhole, !isEmpty {
      request.body.withBytes { bytes in
        let last = FrameMemory.current.cut(bytes) { _ = write($0, endsStream: false, context) }
        _ = write(last, endsStream: true, context)
      }
    }
    context.flush()
    number = (try? context.channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)).map { Int($0) }
    // `NIOHTTP2Handler` would end the process behind the last number (§5.1.1).
    if let number, number > 1 << 30 { connection.retire() }
  }

  /// Whether the head was sent. Until then it waits for the socket, or for the end of other streams.
  private var isHeadSent: Bool { number.map { $0 <= connection.sent.lastHead } ?? false }

  /// Whether more content of the request must follow what was sent.
  var hasContentToSend: Bool { isHeadSent && (machine.isSending || writesPending > 0) }

  /// Handles GOAWAY: a head that was not sent must not be sent any more.
  func stopUnsent() {
    if number != nil, !isHeadSent { close(unsent) }
  }

  private func write(
    _ bytes: ByteBuffer, endsStream: Bool, _ context: ChannelHandlerContext
  ) -> EventLoopFuture<Void> {
    let written = connection.loop.makePromise(of: Void.self)
    writesPending += 1
    let bound = NIOLoopBound(self, eventLoop: connection.loop)
    written.futureResult.whenComplete { _ in
      let stream = bound.value
      stream.writesPending -= 1
      if stream.writesPending == 0, stream.machine.isSending {
        stream.machine.uploadChanged(to: .awaitsClient, at: stream.now)
      } else {
        stream.machine.requestTaken(at: stream.now)
      }
    }
    context.write(
      wrapOutboundOut(.data(.init(data: .byteBuffer(bytes), endStream: endsStream))), promise: written)
    return written.futureResult
  }

  func beginSending() -> Bool { machine.isSending }

  func attach(_ task: Task<Void, Never>) {
    if machine.isSending { sending = task } else { task.cancel() }
  }

  func send(_ bytes: ByteBuffer) -> EventLoopFuture<Void> {
    guard let context, machine.isSending else {
      return connection.loop.makeFailedFuture(ChannelError.ioOnClosedChannel)
    }
    machine.uploadChanged(to: .awaitsOrigin, at: now)
    var (rest, bytes) = (bytes.readableBytes, bytes)
    while rest > FrameMemory.frame, let frame = bytes.readSlice(length: FrameMemory.frame) {
      _ = write(frame, endsStream: false, context)
      rest -= FrameMemory.frame
    }
    defer { context.flush() }
    return write(bytes, endsStream: false, context)
  }

  func finishSending() {
    guard let context, machine.isSending else { return }
    machine.uploadChanged(to: .nothing, at: now)
    sending = nil
    _ = write(ByteBuffer(), endsStream: true, context)
    context.flush()
  }

  // MARK: - Channel

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    hasReadAll()
    if let number { connection.sent.clear(number) }
    counted = 0
    connection.ended(self)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    switch frame {
    case .headers, .data: break
    case .windowUpdate(let increment):
      if writesPending > 0, !hasRoom { machine.requestTaken(at: now) }
      opened += increment
      return
    default: return
    }
    guard machine.received(at: now) else { return }
    if case .headers = frame { headsWaiting += 1 }
    frames.append(frame)
    process()
    if headsWaiting > Machine.interimLimit.count {
      close(OriginError(.protocolError, "the origin has sent too many interim responses"))
    }
  }

  /// Whether the window of the stream is not full. Content that waits nevertheless waits for its turn on the connection.
  private var hasRoom: Bool {
    guard let number else { return true }
    return connection.initialWindow + opened > connection.sent.content(of: number)
  }

  private func hasReadAll() {
    if let number { connection.unread.clear(number) }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    hasReadAll()
    settleHeld()
    readOn()
  }

  private func readOn() {
    switch machine.input {
    case .end, .head: resume()
    case .content:
      if held != nil || feed?.isFull == false { resume() } else { counted = OriginHTTP2Connection.window }
    case .nothing: break
    }
  }

  private func resume() {
    counted = 0
    context?.read()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let error = error as? NIOHTTP2Errors.StreamClosed else {
      return close(OriginError(.protocolError, "the origin's stream of HTTP/2 failed: \(error)"))
    }
    // §8.1: an origin that needs no more of the request may say so when its response is whole.
    if error.errorCode == .noError { endInput() } else { close(reason(error.errorCode)) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    if number != nil, !isHeadSent {
      close(unsent)
    } else if let failure = connection.failure {
      close(failure)
    } else {
      endInput()
    }
  }

  /// After an interim response, what has arrived waits until it is wanted.
  private func endInput() {
    end(machine.inputEnded(hasBytes: !frames.isEmpty))
    guard machine.inputIsClosed else { return }
    // What the origin has sent needs no more of the request.
    machine.uploadChanged(to: .nothing, at: now)
    sending?.cancel()
    sending = nil
  }

  /// Why the stream was closed.
  private func reason(_ code: NIOHTTP2.HTTP2ErrorCode) -> OriginError {
    // §6.8, §8.7: the origin has not looked at the request.
    if code == .refusedStream { return refused }
    if let number, number > connection.lastStream ?? number { return unsent }
    if let failure = connection.failure { return failure }
    if code == .http11Required {
      return OriginError(
        .protocolError,
        "the origin requires HTTP/1.1 for this request: with ProxyConfiguration.Origin.http2 = .never, or --origin-http2 never, it gets no other version"
      )
    }
    return OriginError(.protocolError, "the origin has reset the stream (\(code))")
  }

  private var unsent: OriginError {
    // Without GOAWAY, the connection has just ended.
    guard let last = connection.lastStream else {
      return OriginError(.connectionTerminated, "the origin closed the connection", reach: .unsent)
    }
    var error = refused
    // The announced end of a connection may name a stream that was never sent: each such connection would lead to the next.
    error.hasServedOthers = last > 0 && connection.sent.lastHead > 0
    return error
  }

  private var refused: OriginError {
    var error = OriginError(.connectionTerminated, "the origin has refused the stream", reach: .unsent)
    error.isRefusal = true
    return error
  }

  // MARK: - Responses

  func next(_ receiver: @escaping OriginReply.Receiver) {
    do throws(OriginError) {
      try machine.nextRequested()
    } catch {
      return receiver(.failure(error))
    }
    self.receiver = receiver
    process()
    // All that comes has now been processed, up to another interim response.
    if machine.inputIsClosed { return endInput() }
    settleHeld()
    readOn()
  }

  /// Delivers a held response, or sets the timer for it.
  private func settleHeld() {
    guard let held else { return }
    // Without a length, more may come at any time.
    if held.length == nil { deliverHeld() } else { connection.armTimer(by: held.end) }
  }

  private func process() {
    // The reply comes after what has arrived of its content.
    var awaited: (OriginReply.Receiver?, OriginReply)?
    defer { if let (receiver, reply) = awaited { receiver?(.success(reply)) } }
    do throws(MessageFault) {
      while !frames.isEmpty {
        let input = machine.input
        if input == .nothing { return }
        let frame = frames.removeFirst()
        if case .headers = frame { headsWaiting -= 1 }
        switch (frame, input) {
        case (.headers(let frame), .head):
          if let reply = try read(frame) { awaited = (receiver.take(), reply) }
        case (.data, .head): throw MessageFault(502, "content precedes the head (RFC 9113 §8.1)")
        case (.headers(let frame), .content):
          guard frame.endStream else {
            throw MessageFault(502, "trailers do not end the stream (RFC 9113 §8.1)")
          }
          let trailers = try HTTPFields.reading(trailers: frame.headers, connection.limits)
          if let reply = try endContent(trailers) { awaited = (receiver.take(), reply) }
        case (.data(let frame), .content):
          if case .byteBuffer(let bytes) = frame.data { try add(bytes) }
          if frame.endStream, let reply = try endContent(nil) { awaited = (receiver.take(), reply) }
        default: break
        }
      }
    } catch {
      close(OriginError(.protocolError, "the origin's response is malformed: \(error.reason)"))
    }
  }

  /// Reads a head; returns the response unless it waits for its content.
  private func read(_ frame: HTTP2Frame.FramePayload.Headers) throws(MessageFault) -> OriginReply? {
    let (head, count) = try HTTPResponse.reading(frame.headers, connection.limits)
    switch try machine.headReceived(head, .http2, bytes: count, to: request, at: now) {
    case .deliverInterim:
      guard !frame.endStream else {
        throw MessageFault(502, "an interim response ends the stream (RFC 9113 §8.1)")
      }
      return OriginReply(head: head)
    case .switchProtocols: throw MessageFault(502, "101 is not part of HTTP/2 (RFC 9113 §8.6)")
    case .fail(let error):
      close(error)
      return nil
    case .deliver(let framing):
      announced = framing == .none ? 0 : framing.length
      if frame.endStream {
        if let announced, announced > 0 { throw Self.shortfall }
        finish()
        return OriginReply(head: head)
      }
      if let announced, announced > OriginReply.smallContent {
        let feed = makeFeed()
        connection.armTimer(by: now + machine.contentTime)
        return OriginReply(head: head, content: .arriving(feed, length: announced))
      }
      held = Held(head: head, length: announced, end: now + OriginReply.holdingTime)
      return nil
    }
  }

  private static let shortfall = MessageFault(
    502, "the content is shorter than Content-Length (RFC 9113 §8.1.1)")

  private func add(_ bytes: ByteBuffer) throws(MessageFault) {
    guard bytes.readableBytes > 0 else { return }
    if let left = announced {
      guard bytes.readableBytes <= left else {
        throw MessageFault(502, "the content is longer than Content-Length (RFC 9113 §8.1.1)")
      }
      announced = left - bytes.readableBytes
    }
    guard held != nil else {
      feed?.push(bytes)
      return
    }
    held?.bytes.writeImmutableBuffer(bytes)
    if let held, held.bytes.readableBytes > OriginReply.smallContent { deliverHeld() }
  }

  /// Ends the content; returns the response that has waited for it.
  private func endContent(_ trailers: HTTPFields?) throws(MessageFault) -> OriginReply? {
    if let announced, announced > 0 { throw Self.shortfall }
    // A response with trailers has a reader, who gets them.
    if trailers != nil { deliverHeld() }
    let (held, feed) = (self.held, self.feed)
    (self.held, self.feed) = (nil, nil)
    finish()
    feed?.finish(.success(()), trailers: trailers)
    guard let held else { return nil }
    let bytes = Array(buffer: held.bytes)
    return OriginReply(head: held.head, content: bytes.isEmpty ? .none : .whole(bytes))
  }

  /// Delivers the held response with the part of its content that has arrived.
  private func deliverHeld() {
    guard let held = held.take() else { return }
    let feed = makeFeed()
    if held.bytes.readableBytes > 0 { feed.push(held.bytes) }
    connection.armTimer(by: now + machine.contentTime)
    receiver.take()?(.success(OriginReply(head: held.head, content: .arriving(feed, length: held.length))))
  }

  private func makeFeed() -> BodyFeed {
    let bound = NIOLoopBound(self, eventLoop: connection.loop)
    let loop = connection.loop
    let feed = BodyFeed(transit: connection.transit) { signal in
      loop.execute {
        let stream = bound.value
        guard stream.feed != nil else { return }
        switch signal {
        case .demand:
          stream.machine.contentWanted(at: stream.now)
          stream.readOn()
        case .abandoned: stream.close(nil)
        }
      }
    }
    self.feed = feed
    return feed
  }

  /// Handles the end of the response.
  private func finish() {
    end(machine.responseEnded(hasBytes: false, at: now))
    // The rest of the request is of no use.
    if writesPending > 0 { reset() }
  }

  // MARK: - Endings

  func close(_ error: OriginError?) {
    let ending = machine.end(error, hasBytes: false)
    switch ending {
    case .head: break
    // A head may be malformed only together with what follows. A whole response is about to be delivered.
    default: if let error, held == nil, machine.exchanges == 0 { receiver.take()?(.failure(error)) }
    }
    end(ending)
  }

  func stopSending() {
    if machine.isSending {
      close(OriginError(.connectionTerminated, "the client sent no more of its content", isByProxy: true))
    }
  }

  private func end(_ ending: Machine.Ending) {
    if ending == .none { return }
    deliverHeld()
    sending?.cancel()
    sending = nil
    frames.removeAll()
    headsWaiting = 0
    switch ending {
    case .none, .quietly, .idle: break
    case .head(let error): receiver.take()?(.failure(error))
    case .content(let error):
      feed?.finish(error.map { .failure($0) } ?? .success(()))
      feed = nil
    }
    reset()
  }

  /// Resets the stream, unless both sides have ended it.
  private func reset() {
    guard !hasReset, let context, context.channel.isActive else { return }
    hasReset = true
    // To close the channel does not suffice while the head waits: it would be sent later.
    if number != nil, !isHeadSent {
      context.writeAndFlush(wrapOutboundOut(.rstStream(.cancel)), promise: nil)
    }
    context.channel.close(promise: nil)
    // The stream ends when the socket takes the frame, which may be never.
    counted = 0
    connection.ended(self)
  }

  // MARK: - Time

  /// Performs what is due.
  ///
  /// - Parameter hasTaken: whether the origin has taken bytes of the connection since the last check.
  /// - Returns: when to check again; `nil` if nothing has a time.
  func checkTime(hasTaken: Bool) -> NIODeadline? {
    if let held, held.end <= now { deliverHeld() }
    guard machine.idleDeadline == nil else { return nil }
    do throws(OriginError) {
      // What other streams send is no progress of one whose own window is full.
      let isTaking = writesPending > 0 && hasRoom
      let deadline = try machine.checkTime(
        at: now, isContentAwaited: feed?.isAwaited == true, hasTaken: isTaking && hasTaken, isTaking: isTaking
      )
      return deadline.map { deadline in held.map { Swift.min($0.end, deadline) } ?? deadline }
    } catch {
      // Nothing has come for any request: the way to the origin may be gone without a word, and the next request needs another.
      if connection.received <= started { connection.retire() }
      close(error)
      return nil
    }
  }
}
