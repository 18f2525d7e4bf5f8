// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import Logging
import NIOCore
import NIOHPACK
import NIOHTTP2

/// A stream of a client's connection of HTTP/2: reads its request, and writes the response.
///
/// ``ClientStreamStateMachine`` decides. This handler has the frames and the channel. Content is read from the channel only
/// when it is wanted, and the client gets room for more in the window when the channel is read.
final class ClientStream: ChannelDuplexHandler, ClientHandler {
  typealias InboundIn = HTTP2Frame.FramePayload
  typealias OutboundIn = ResponsePart
  typealias OutboundOut = HTTP2Frame.FramePayload

  private let liveCount = LiveCount(.clientStream)
  private let connection: ClientHTTP2Connection
  let context: ProxyContext
  let loop: any EventLoop
  let service = ClientConnection.Service.answers
  private(set) var channelContext: ChannelHandlerContext?
  private var machine: ClientStreamStateMachine
  /// The number of the stream, once frames may wait in it.
  private(set) var number: Int?
  /// Carries the bytes of a tunnel.
  private var tunnel: StreamBytes?
  var current: RequestInFlight?
  /// The bytes by which the client has opened the window of the stream (RFC 9113 §6.9).
  private(set) var opened = 0
  /// Whether the client has ended its half of the stream.
  private var inputHasEnded = false
  private(set) var feed: BodyFeed?
  /// Bytes that count as content in flight until the stream ends: what the client may send.
  private var counted = 0 { didSet { context.cache.transit.change(by: counted - oldValue) } }

  var waiting = Waiting.none

  /// What stored content waits for.
  enum Waiting {
    case none
    /// The client opens the window of the stream.
    case window
    /// The connection has room, and it is the turn of this stream.
    case turn
  }

  init(_ connection: ClientHTTP2Connection) {
    self.connection = connection
    (context, loop) = (connection.context, connection.loop)
    machine = ClientStreamStateMachine(at: connection.loop.now)
  }

  var forwarder: Forwarder? { connection.forwarder }
  var tlsVersion: String? { connection.tlsVersion }
  var log: AccessLogLines? { connection.log }
  var contentBytes: Int { machine.contentBytes }

  // MARK: - Channel

  func handlerAdded(context: ChannelHandlerContext) {
    channelContext = context
    self.context.statistics.streamOpened()
    connection.opened(self)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    channelContext = nil
    counted = 0
    hasReadAll()
    if !connection.sent.isClear {
      findNumber(context)
      if let number { connection.sent.clear(number) }
    }
    self.context.statistics.streamClosed()
    connection.closed(self)
  }

  func channelActive(context: ChannelHandlerContext) {
    context.fireChannelActive()
    context.read()
  }

  func channelInactive(context: ChannelHandlerContext) {
    failContent(ClientConnectionStateMachine.brokenOff)
    current?.work.cancel()
    if let current {
      if machine.isIncomplete { self.context.statistics.aborted.increment() }
      note(current, endedAt: loop.now, isAborted: machine.isIncomplete)
    }
    current = nil
    context.fireChannelInactive()
  }

  /// The end of the channel follows.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .headers(let head) where machine.state == .opening:
      inputHasEnded = head.endStream
      begin(head.headers, hasContent: !head.endStream, context)
    case .headers(let trailers):
      inputHasEnded = true
      end(trailers.headers, context)
    case .data(let data):
      inputHasEnded = data.endStream
      if case .byteBuffer(let bytes) = data.data, bytes.readableBytes > 0 {
        let action = machine.contentReceived(bytes.readableBytes, at: loop.now)
        guard action == .none else { return perform(action, context) }
        feed?.push(bytes)
      }
      if data.endStream { endContent(trailers: nil, context) }
    case .windowUpdate(let increment):
      if !hasRoom { machine.windowOpened(at: loop.now) }
      opened += increment
    default: break
    }
  }

  /// Whether the window of the stream is not full. Content that waits nevertheless waits for its turn on the connection.
  private var hasRoom: Bool {
    guard let number else { return true }
    return connection.initialWindow + opened > connection.sent.content(of: number)
  }

  private func findNumber(_ context: ChannelHandlerContext) {
    if number != nil { return }
    number = (try? context.channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)).map { Int($0) }
  }

  private func hasReadAll() {
    if let number { connection.unread.clear(number) }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    hasReadAll()
    context.fireChannelReadComplete()
    readOn(context)
    windowMayHaveOpened()
  }

  /// Reads the frames that have come after the request, which open the window of the stream. To read each when it comes took 18 %
  /// more processor time for a response of 200 KB.
  func readRest() {
    guard inputHasEnded, let channelContext else { return }
    findNumber(channelContext)
    channelContext.read()
  }

  private func readOn(_ context: ChannelHandlerContext) {
    if machine.wantsContent, feed?.isFull == false { context.read() }
  }

  // MARK: - The request

  private func begin(_ fields: HPACKHeaders, hasContent: Bool, _ context: ChannelHandlerContext) {
    if hasContent { findNumber(context) }
    guard self.context.statistics.openStreams <= connection.limits.streams else {
      // §8.7: the client may repeat it at once, on another connection.
      self.context.statistics.streamsRefused.increment()
      self.context.streamLog.failed(
        "refused",
        "more than \(connection.limits.streams) requests of HTTP/2 at once: clients must repeat the others")
      return reset(.refusedStream, context)
    }
    self.context.streamLog.recovered()
    if hasContent { counted = ClientHTTP2Connection.window }
    var request: ClientRequest
    do throws(MessageFault) {
      request = try ClientRequest(
        fields, hasContent: hasContent, connection.limits.head, scheme: self.context.scheme,
        isEncrypted: tlsVersion != nil)
    } catch {
      return perform(machine.failed(error), context, fields)
    }
    connection.siteFinder.assign(&request, setsAuthority: false)
    connection.forwarder.nameClient(of: &request, self.context)
    do throws(MessageFault) {
      try self.context.check(request)
      if request.framing != .none, self.context.cache.transit.allowance(upTo: 1) == 0 {
        throw MessageFault(503, "the proxy has no memory for the content of the request")
      }
      let now = loop.now
      let answerer = try machine.requestReceived(
        Exchange.Request(request, service),
        contentLimit: request.framing == .none ? 0 : self.context.settings.value.limits.requestBytes,
        allowsUpgrade: self.context.configuration.allowsUpgrade, at: now)
      current = RequestInFlight(request, at: now)
      answer(request, by: answerer, context)
    } catch {
      perform(machine.failed(error), context, of: request, fields)
    }
  }

  func receiveContent(of request: ClientRequest, to feed: BodyFeed) { self.feed = feed }

  func contentWanted(_ context: ChannelHandlerContext) {
    perform(machine.contentWanted(at: loop.now), context)
    readOn(context)
  }

  private func end(_ fields: HPACKHeaders, _ context: ChannelHandlerContext) {
    do throws(MessageFault) {
      try fields.checkTrailers(connection.limits.head, status: 431)
      var trailers = HTTPFields()
      for (name, value, _) in fields { trailers.append(try HTTP2Field.parse(name, value).field) }
      endContent(trailers: trailers, context)
    } catch {
      perform(machine.failed(error), context)
    }
  }

  private func endContent(trailers: HTTPFields?, _ context: ChannelHandlerContext) {
    let action = machine.contentEnded()
    guard action == .none else { return perform(action, context) }
    feed?.finish(.success(()), trailers: trailers)
    feed = nil
  }

  private func failContent(_ error: @autoclosure () -> any Error) {
    guard let feed else { return }
    feed.finish(.failure(error()))
    self.feed = nil
  }

  /// - Parameters:
  ///   - request: the refused request, if it could be read as one.
  ///   - fields: the fields of the head that was refused.
  private func perform(
    _ action: ClientStreamStateMachine.Action, _ context: ChannelHandlerContext,
    of request: ClientRequest? = nil,
    _ fields: HPACKHeaders? = nil
  ) {
    switch action {
    case .none: break
    case .writeContinue: write(HTTPResponse(status: .continue), context, nil)
    case .refuse(let fault): refuse(fault, request ?? current?.request, fields, context)
    case .failContent(let fault):
      failContent(fault)
      reset(.protocolError, context)
    case .giveUp: reset(.cancel, context)
    }
  }

  /// Sends an error response.
  private func refuse(
    _ fault: MessageFault, _ request: ClientRequest?, _ fields: HPACKHeaders?,
    _ context: ChannelHandlerContext
  ) {
    self.context.logger.debug(
      "request refused", metadata: ["status": "\(fault.status)", "reason": "\(fault.reason)"])
    failContent(fault)
    current?.work.cancel()
    current = nil
    let (response, bytes) = GeneratedResponse.failure(fault, name: self.context.configuration.name)
    let isHead = request?.request.method == .head || fields?.first(name: ":method") == "HEAD"
    let head = ResponseHead(
      generated: response, length: bytes.count, for: request, to: isHead ? .head : .get, in: .http2,
      by: self.context.cache)
    var line = ByteBuffer()
    if request == nil, let fields {
      let (method, path) = (fields.first(name: ":method"), fields.first(name: ":path"))
      line.writeString("\(method ?? "-") \(path ?? "-") HTTP/2.0")
    }
    note(
      fault, request, unreadable: line, version: .http2, since: loop.now,
      contentBytes: isHead ? 0 : bytes.count)
    send(connection.responseFields.fields(of: head), endsStream: isHead, context)
    if !isHead { send(ByteBuffer(bytes: bytes), endsStream: true, context, nil) }
    context.flush()
  }

  /// Ends the stream so that the client sees a failure.
  private func reset(_ code: NIOHTTP2.HTTP2ErrorCode, _ context: ChannelHandlerContext) {
    if let current {
      self.context.statistics.aborted.increment()
      current.work.cancel()
      note(current, endedAt: loop.now, isAborted: true)
    }
    current = nil
    guard machine.reset() else { return }
    failContent(CancellationError())
    // Past the handlers of a tunnel, which take bytes.
    if let tunnel { return tunnel.reset(code) }
    context.writeAndFlush(wrapOutboundOut(.rstStream(code)), promise: nil)
  }

  // MARK: - The response

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard current != nil else {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    switch unwrapOutboundIn(data) {
    case .interim(let response):
      guard machine.allowsInterim else {
        promise?.succeed()
        return
      }
      watch(promise)
      write(response, context, promise)
    case .head(let head):
      prepare(head, at: loop.now)
      send(connection.responseFields.fields(of: head), endsStream: head.framing == .none, context)
      promise?.succeed()
    case .whole(let head, let body):
      promise?.succeed()
      writeWhole(head, body, context)
    case .chunk(let bytes):
      switch machine.contentSent(bytes.count) {
      case .skip: promise?.succeed()
      case .overrun:
        promise?.fail(ChannelError.eof)
        reset(.internalError, context)
      case .plain, .chunk:
        // Each frame is progress of the client, which may take minutes for all of them.
        let last = FrameMemory.current.cut(bytes.span.bytes) {
          send($0, endsStream: false, context, watch(loop.makePromise()))
        }
        send(last, endsStream: false, context, watch(promise))
      }
    case .end(let trailers):
      guard machine.ending != .shortfall else {
        promise?.fail(ChannelError.eof)
        return reset(.internalError, context)
      }
      let fields = trailers?.asTrailers() ?? [:]
      if fields.isEmpty {
        send(ByteBuffer(), endsStream: true, context, promise)
      } else {
        send(HTTP2ResponseFields.fields(ofTrailers: fields), endsStream: true, context, promise)
      }
      finish(at: loop.now)
    case .abort:
      promise?.succeed()
      reset(.internalError, context)
    }
  }

  private func write(
    _ interim: HTTPResponse, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?
  ) {
    send(connection.responseFields.fields(ofInterim: interim), endsStream: false, context, promise)
    context.flush()
  }

  private func prepare(_ head: ResponseHead, at now: NIODeadline) {
    began(head, at: now)
    machine.responseBegan(head.framing)
  }

  func writeWhole(_ head: ResponseHead, _ body: MessageBody, _ context: ChannelHandlerContext) {
    let now = loop.now
    prepare(head, at: now)
    let count = head.framing == .none ? 0 : body.length ?? 0
    send(connection.responseFields.fields(of: head), endsStream: count == 0, context)
    if count == 0 {
      context.flush()
      return finish(at: now)
    }
    if count <= Responder.smallPiece, body.isInMemory, count <= room(for: count) {
      _ = machine.contentSent(count)
      var bytes = ByteBuffer()
      body.withBytes { $0.withUnsafeBytes { _ = bytes.writeBytes($0) } }
      send(bytes, endsStream: true, context, wrote(count))
      context.flush()
      return finish(at: now)
    }
    current?.work = .content(
      OutgoingContent(body, isHeld: !head.isStored, transit: self.context.cache.transit, on: loop))
    // The head does not wait for content.
    context.flush()
    connection.wait(self)
  }

  /// Returns how many bytes of content the client has room for, up to a limit.
  private func room(for limit: Int) -> Int {
    let limit = Swift.min(limit, connection.room)
    return limit == 0 ? 0 : windowRoom(for: limit)
  }

  private func windowRoom(for limit: Int) -> Int {
    // Frames that open the window come behind the content of the request. While that comes, `NIOHTTP2Handler` keeps what does
    // not fit.
    guard inputHasEnded else { return limit }
    var room: Int { connection.initialWindow + opened - machine.contentBytes }
    // To read each frame when it comes took 18 % more processor time for a response of 200 KB.
    if room < limit { channelContext?.read() }
    return Swift.min(limit, Swift.max(0, room))
  }

  /// Writes on with stored content, as far as the client has room for it. The connection calls it for one stream at a time.
  ///
  /// - Returns: the number of bytes that were written.
  func writeOn() -> Int {
    waiting = .none
    guard let context = channelContext, let content else { return 0 }
    switch content.load({ [weak self] in if let self { connection.wait(self) } }) {
    case .take: break
    case .wait: return 0
    case .fail(let error):
      noteFailure(error)
      reset(.internalError, context)
      return 0
    }
    let room = room(for: content.left)
    guard room > 0 else {
      waitForClient()
      if connection.room == 0 { connection.wait(self) } else { waiting = .window }
      return 0
    }
    var (count, last) = (0, ByteBuffer())
    content.moveNext(room) { bytes in
      count = bytes.byteCount
      // One write for all of it instead of one for each frame saves 6 % of a hit of 64 KB.
      last = FrameMemory.current.cut(bytes, into: FrameMemory.piece) {
        send($0, endsStream: false, context, nil)
      }
    }
    let isLast = content.isEmpty
    _ = machine.contentSent(count)
    send(last, endsStream: isLast, context, watch(wrote(count, next: isLast ? nil : self)))
    context.flush()
    if isLast { finish(at: loop.now) } else if waiting == .none { waitForClient() }
    return count
  }

  /// The stored content that the client gets, or the rest of it.
  var content: OutgoingContent? {
    if case .content(let content)? = current?.work { content } else { nil }
  }

  /// Called when the stream waits for its client.
  func waitForClient() { content?.waitForClient() }

  /// Counts content for the connection until the promise of its last write ends.
  private func wrote(_ count: Int, next: ClientStream? = nil) -> EventLoopPromise<Void> {
    let written = loop.makePromise(of: Void.self)
    connection.wrote(count, until: written.futureResult, next: next)
    return written
  }

  /// Writes on if the window of the stream is open.
  func windowMayHaveOpened() {
    guard waiting == .window, windowRoom(for: 1) > 0 else { return }
    connection.wait(self)
  }

  /// Records that the client has output to take, until it has taken it.
  @discardableResult
  private func watch(_ promise: EventLoopPromise<Void>?) -> EventLoopPromise<Void>? {
    guard let promise else { return nil }
    machine.writeBegan(at: loop.now)
    let bound = NIOLoopBound(self, eventLoop: loop)
    promise.futureResult.whenComplete { _ in bound.value.machine.writeEnded(at: bound.value.loop.now) }
    return promise
  }

  private func send(
    _ fields: HPACKHeaders, endsStream: Bool, _ context: ChannelHandlerContext,
    _ promise: EventLoopPromise<Void>? = nil
  ) {
    // As they are without compression.
    var count = 0
    for (name, value, _) in fields { count += name.utf8.count + value.utf8.count }
    self.context.statistics.bytesSent.increment(by: count)
    context.write(
      wrapOutboundOut(.headers(.init(headers: fields, endStream: endsStream))),
      promise: endsStream ? resetAfter(promise) : promise)
  }

  private func send(
    _ bytes: ByteBuffer, endsStream: Bool, _ context: ChannelHandlerContext,
    _ promise: EventLoopPromise<Void>?
  ) {
    self.context.statistics.bytesSent.increment(by: bytes.readableBytes)
    context.write(
      wrapOutboundOut(.data(.init(data: .byteBuffer(bytes), endStream: endsStream))),
      promise: endsStream ? resetAfter(promise) : promise)
  }

  /// Resets the stream after its last frame, if the client has not ended its half: the rest of the request is of no use.
  /// Without an error, the client still gets the response (RFC 9113 §8.1).
  private func resetAfter(_ promise: EventLoopPromise<Void>?) -> EventLoopPromise<Void>? {
    if inputHasEnded { return promise }
    let written = promise ?? loop.makePromise(of: Void.self)
    let bound = NIOLoopBound(self, eventLoop: loop)
    written.futureResult.whenSuccess {
      let stream = bound.value
      guard !stream.inputHasEnded, let context = stream.channelContext else { return }
      context.writeAndFlush(stream.wrapOutboundOut(.rstStream(.noError)), promise: nil)
    }
    return written
  }

  /// Handles the end of the response.
  private func finish(at now: NIODeadline) {
    guard let ended = current.take() else { return }
    note(ended, endedAt: now, isAborted: false)
    machine.responseEnded(at: now)
    failContent(CancellationError())
  }

  // MARK: - Time

  /// Ends the stream, whatever it waits for.
  func giveUp() {
    if let channelContext { reset(.cancel, channelContext) }
  }

  /// Performs the action that is due.
  func checkTime(stall: Duration) {
    // It may end the stream.
    readRest()
    guard let channelContext else { return }
    let action = machine.checkTime(
      at: loop.now, stall: stall, isContentAwaited: feed?.isAwaited == true, waitsForRoom: waiting != .none,
      hasTaken: connection.hasTaken || connection.hasOpenedWindow && hasRoom)
    perform(action, channelContext)
  }

  // MARK: - Web sockets

  /// The response to an extended CONNECT is 200, and has no fields of the handshake (RFC 8441 §5).
  func switchProtocols(_ head: HTTPResponse, _ origin: OriginConnection.Handle) throws {
    guard let context = channelContext, context.channel.isActive, current != nil,
      let rest = origin.connection.value.takeOver()
    else { throw ChannelError.ioOnClosedChannel }
    let upgraded = ResponseHead(
      head, to: .get, in: .http2, isStored: false, length: nil, Provenance(.network))
    began(upgraded, at: loop.now)
    current?.status = HTTPResponse.Status.ok.code
    machine.switchedProtocols()
    // A tunnel reads what it gets, and many of them are open for hours.
    counted = 0
    self.context.statistics.upgrades.increment()
    let (client, server) = Tunnel.ends(connection.timeouts, self.context.statistics, at: loop.now) {
      [weak self] count in
      // For the log of the request at its end.
      self?.machine.tunnelEnded(sent: count)
    }
    var fields = head.headerFields
    if let name = HTTPField.Name("Sec-WebSocket-Accept") { fields[name] = nil }
    let response = HTTPResponse(status: .ok, headerFields: fields)
    send(connection.responseFields.fields(ofInterim: response), endsStream: false, context)
    let bytes = StreamBytes { [weak self] in self?.hasReadAll() }
    tunnel = bytes
    try context.pipeline.syncOperations.addHandlers([bytes, client], position: .before(self))
    try origin.channel.pipeline.syncOperations.addHandler(server, position: .before(origin.connection.value))
    client.write(rest.bytes)
    client.flush()
    if rest.isEnded { server.closeInput() }
    client.readOn()
    server.readOn()
  }
}
