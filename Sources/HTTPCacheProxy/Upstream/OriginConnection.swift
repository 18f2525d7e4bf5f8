// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import NIOCore
import NIOPosix

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// One connection to the origin: one request at a time, and the responses to it.
///
/// The handler lives on its event loop; ``start(_:method:)`` and its result may be used from any thread.
final class OriginConnection: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  /// The head of a response, interim or final. After an interim response, ``Handle/next()`` returns the next response.
  struct Reply: Sendable {
    var head: HTTPResponse
    /// `nil` if there is no content.
    var feed: BodyFeed?
    var length: Int?

    /// Whether another response follows this one.
    var isInterim: Bool { head.status.kind == .informational }
  }

  /// Maximum interim responses of an exchange, including 100 (Continue), and maximum bytes of their heads. A real
  /// origin sends one or two.
  static let interimLimit = (count: 64, bytes: 64 << 10)

  private enum State {
    case idle
    case awaitingHead(EventLoopPromise<Reply>)
    /// An interim response was delivered. Nothing is read until the next one is requested.
    case interim
    case content(BodyFeed, BodyDecoder)
    /// The origin has switched protocols. Further bytes are kept for the tunnel that takes over.
    case switched
    case closed
  }

  let channel: any Channel
  private let liveCount = LiveCount(.originConnection)
  private let transit: TransitBudget
  private let limits: ProxyConfiguration.HeadLimits
  private let timeouts: ProxyConfiguration.Timeouts
  /// Called on the event loop when a request is finished and the connection can be reused.
  private let onIdle: @Sendable (OriginConnection.Handle) -> Void
  /// Called on the event loop when an idle connection has closed.
  private let onEnd: @Sendable (any Channel) -> Void

  private var state = State.idle
  private var buffer = ByteBuffer()
  private var reader: HeadReader
  private var method = HTTPRequest.Method.get
  /// Whether the client of this connection may send the request again; see ``OriginError/allowsRetry(_:hasContent:)``.
  private var isRepeatable = false
  /// The protocols that the origin may switch to.
  private var upgrade: String?
  private var isReusable = true
  /// Number of finished exchanges. Calls about an exchange come from other threads, and may come too late.
  private var exchange = 0
  /// Whether more content of the request must be sent; with it, the task that sends it, and whether the origin has yet
  /// to take a piece of it.
  private var isSending = false
  private var sending: Task<Void, Never>?
  private var isWriting = false
  /// What the origin has taken of the request; `nil` if the request is too small to take long.
  private var uptake: PeerUptake?
  private let makeUptake: () -> PeerUptake
  private var interim = (count: 0, bytes: 0)
  /// Whether the origin closed the connection after an interim response: the earlier bytes are still in ``buffer``.
  private var inputIsClosed = false
  /// Why the connection was closed, for later requests for the next response.
  private var failure: OriginError?
  private var progress: NIODeadline
  private var timer: Scheduled<Void>?
  private var timerDeadline: NIODeadline
  private var idleSince: NIODeadline?
  /// How long the origin keeps an idle connection, as it announces.
  private var idleLimit: Duration

  init(
    channel: any Channel, limits: ProxyConfiguration.HeadLimits, timeouts: ProxyConfiguration.Timeouts,
    transit: TransitBudget,
    uptake: @escaping () -> PeerUptake = { PeerUptake() },
    onIdle: @escaping @Sendable (OriginConnection.Handle) -> Void,
    onEnd: @escaping @Sendable (any Channel) -> Void
  ) {
    makeUptake = uptake
    self.channel = channel
    self.transit = transit
    self.onEnd = onEnd
    self.limits = limits
    self.timeouts = timeouts
    self.onIdle = onIdle
    idleLimit = timeouts.originIdle
    progress = channel.eventLoop.now
    timerDeadline = progress
    reader = HeadReader(limits: limits, isResponse: true)
  }

  /// The event loop's time, which tests can set.
  private var now: NIODeadline { channel.eventLoop.now }

  /// A reference to a connection for other threads.
  struct Handle: Sendable {
    let channel: any Channel
    let connection: NIOLoopBound<OriginConnection>
    /// The time after which the connection must not be used.
    let deadline: NIODeadline
    /// The exchange that the handle is for.
    let exchange: Int

    /// Runs on the event loop, unless the exchange is finished: the connection may then serve another request.
    private func during(_ body: @escaping @Sendable (OriginConnection) -> Void) {
      channel.eventLoop.execute {
        if connection.value.exchange == exchange { body(connection.value) }
      }
    }

    /// Sends a request's head, together with its content if that is in memory.
    ///
    /// - Parameters:
    ///   - isWhole: whether no content follows through ``OriginConnection/Handle/send(_:)``.
    ///   - upgrade: the protocols that the origin may switch to, which it does with 101 (Switching Protocols).
    func start(
      _ request: ByteBuffer, method: HTTPRequest.Method, isWhole: Bool, upgrade: String? = nil
    ) -> EventLoopFuture<Reply> {
      let promise = channel.eventLoop.makePromise(of: Reply.self)
      let start = { @Sendable in
        connection.value.upgrade = upgrade
        connection.value.start(request, method: method, isWhole: isWhole, promise)
      }
      // The task of a miss usually runs on this event loop.
      if channel.eventLoop.inEventLoop { start() } else { channel.eventLoop.execute(start) }
      return promise.futureResult
    }

    /// Returns the response after an interim one. The connection is read further only now.
    func next() -> EventLoopFuture<Reply> {
      let promise = channel.eventLoop.makePromise(of: Reply.self)
      channel.eventLoop.execute { connection.value.next(promise) }
      return promise.futureResult
    }

    /// Sets the task that sends the content of the request: it is cancelled when the connection ends.
    func attach(_ sending: Task<Void, Never>) {
      during { $0.attach(sending) }
    }

    /// Whether the request's head was written, and the connection has not ended since.
    func isOpen() async throws -> Bool {
      try await channel.eventLoop.submit { connection.value.isOpen }.get()
    }

    /// Sends a piece of the request's content; waits until it is written.
    func send(_ bytes: ByteBuffer) async throws {
      try await channel.eventLoop.flatSubmit { connection.value.send(bytes) }.get()
    }

    /// Marks the request as complete.
    func finishSending() {
      during { $0.finishSending() }
    }

    /// Cancels the exchange. Closing only the channel is not enough: content that ends with the connection would count
    /// as complete.
    func close() {
      during { $0.close(OriginError(.connectionTerminated, "the proxy closed the connection")) }
    }
  }

  func handle() -> Handle {
    Handle(
      channel: channel, connection: NIOLoopBound(self, eventLoop: channel.eventLoop),
      deadline: now + idleLimit.timeAmount, exchange: exchange)
  }

  // MARK: - Requests

  private func start(
    _ request: ByteBuffer, method: HTTPRequest.Method, isWhole: Bool, _ promise: EventLoopPromise<Reply>
  ) {
    // A repeatable request is sent again if it is lost: cheaper than to ask the kernel before each.
    isRepeatable = isWhole && method.isIdempotent
    guard case .idle = state, channel.isActive, isRepeatable || !isEnding else {
      var failure = OriginError(.connectionTerminated, "the origin closed the idle connection")
      failure.reach = .unsent
      promise.fail(failure)
      return close(failure)
    }
    self.method = method
    isSending = !isWhole
    interim = (0, 0)
    state = .awaitingHead(promise)
    progress = now
    uptake = isWhole && request.readableBytes <= Self.smallRequest ? nil : makeUptake()
    let time = timeouts.response
    let deadline = progress + (uptake == nil ? time.timeAmount : PeerUptake.interval(within: time))
    if timer == nil || deadline < timerDeadline { armTimer(at: deadline) }
    channel.writeAndFlush(request, promise: nil)
    channel.read()
    _ = uptake?.hasAdvanced(channel)
  }

  /// Maximum bytes of a request that an origin takes at once: others cost a system call more.
  private static let smallRequest = 64 << 10

  /// Whether the kernel knows that the origin has closed the connection, before the event loop has noticed.
  ///
  /// A request that must not be sent twice is lost on such a connection, and any other costs a second attempt.
  private var isEnding: Bool {
    #if os(Linux)
      guard exchange > 0, let options = channel as? any SocketOptionProvider else { return false }
      // The first byte of `struct tcp_info` is the state. The future has its value at once on the channel's event loop.
      let state: EventLoopFuture<UInt8> = options.unsafeGetSocketOption(
        level: .tcp, name: NIOBSDSocket.Option(rawValue: CInt(TCP_INFO)))
      let isEnding = NIOLoopBoundBox(false, eventLoop: channel.eventLoop)
      state.whenSuccess { isEnding.value = $0 != 1 }  // TCP_ESTABLISHED
      return isEnding.value
    #else
      return false
    #endif
  }

  var isOpen: Bool { if case .closed = state { false } else { true } }

  private func attach(_ task: Task<Void, Never>) {
    if case .closed = state { return task.cancel() }
    if isSending { sending = task }
  }

  private func send(_ bytes: ByteBuffer) -> EventLoopFuture<Void> {
    isWriting = true
    progress = now
    let written = channel.writeAndFlush(bytes)
    let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
    written.whenComplete { _ in
      bound.value.isWriting = false
      bound.value.progress = bound.value.now
    }
    return written
  }

  /// Records the end of the request: the time-out for the response begins.
  private func finishSending() {
    isSending = false
    sending = nil
    progress = now
  }

  // MARK: - Responses

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .closed = state { return }
    // The time-out of a head begins with the request, whatever the number of interim responses and pieces.
    if case .content = state { progress = now }
    buffer.add(unwrapInboundIn(data))
    process()
    buffer.trim()
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    readOn()
  }

  /// Reads more if more is wanted. A closed connection is always read, so that its end is noticed.
  private func readOn() {
    switch state {
    case .idle, .awaitingHead: channel.read()
    case .content(let feed, _): if !feed.isFull { channel.read() }
    case .interim, .switched, .closed: break
    }
  }

  private func next(_ promise: EventLoopPromise<Reply>) {
    guard case .interim = state else {
      return promise.fail(
        failure ?? OriginError(.connectionTerminated, "the origin closed the connection without a response"))
    }
    state = .awaitingHead(promise)
    process()
    buffer.trim()
    // All bytes before the end have now been processed, up to another interim response.
    guard inputIsClosed else { return readOn() }
    endInput()
    // The origin's half is closed already, and nothing else would close the other half.
    if case .closed = state { channel.close(promise: nil) }
  }

  private func process() {
    do throws(MessageFault) {
      while true {
        switch state {
        case .idle:
          // There was no request: these bytes do not answer the next one.
          if buffer.readableBytes > 0 { close(nil) }
          return
        case .closed, .interim, .switched: return
        case .awaitingHead(let promise): if try !readHead(promise) { return }
        case .content(let feed, var decoder):
          let event = try decoder.next(from: &buffer)
          state = .content(feed, decoder)
          switch event {
          case nil: return
          case .data(let bytes): feed.push(bytes)
          case .end(let trailers):
            finish()
            feed.finish(.success(()), trailers: trailers)
          }
        }
      }
    } catch {
      close(OriginError(.protocolError, "the origin's response is malformed: \(error.reason)"))
    }
  }

  /// Reads the head; `false` until it has arrived.
  private func readHead(_ promise: EventLoopPromise<Reply>) throws(MessageFault) -> Bool {
    guard let length = try reader.findEnd(in: buffer), let bytes = buffer.readSlice(length: length) else {
      return false
    }
    var start: (status: HTTPResponse.Status, minorVersion: Int)?
    var fields = HTTPFields()
    // To grow for ten fields takes three allocations more.
    fields.reserveCapacity(16)
    let reader = reader
    try reader.readLines(bytes) { line throws(MessageFault) in
      if start == nil {
        start = try HeadReader.statusLine(line)
      } else {
        fields.append(try reader.field(line).field)
      }
    }
    guard let (status, minorVersion) = start else { throw MessageFault(502, "the status line is missing") }
    let head = HTTPResponse(status: status, headerFields: fields)
    self.reader.reset()
    if head.status.kind == .informational {
      if head.status.code == 101 {
        guard let upgrade, Self.isAnswer(head, to: upgrade) else {
          throw MessageFault(502, "it switches protocols without a request to do so")
        }
        timer?.cancel()
        timer = nil
        state = .switched
        promise.succeed(Reply(head: head))
        return true
      }
      interim = (interim.count + 1, interim.bytes + length)
      guard interim.count <= Self.interimLimit.count, interim.bytes <= Self.interimLimit.bytes else {
        throw MessageFault(502, "it has too many interim responses")
      }
      state = .interim
      promise.succeed(Reply(head: head))
      return true
    }
    if head.status.code == 408, exchange > 0, isRepeatable, Self.closes(head) {
      // It was sent to the idle connection, and does not answer this request (RFC 9110 §15.5.9).
      var error = OriginError(.connectionTerminated, "the origin closed the idle connection")
      error.reach = .unanswered
      close(error)
      return false
    }
    progress = now
    let framing = try Framing(response: head, to: method)
    isReusable = isReusable && minorVersion == 1 && framing != .untilClose && !Self.closes(head)
    if let hint = Self.keepAliveSeconds(head) {
      // One second before the origin closes it, so that it does not close during a request.
      idleLimit = Swift.min(timeouts.originIdle, .seconds(Swift.max(0, hint - 1)))
    }
    if framing == .none || framing == .length(0) {
      finish()
      promise.succeed(Reply(head: head, length: framing == .none ? nil : 0))
      return true
    }
    let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
    let (loop, exchange) = (channel.eventLoop, exchange)
    let feed = BodyFeed(transit: transit) { signal in
      loop.execute {
        // The last piece of the content may have arrived before this signal.
        guard bound.value.exchange == exchange else { return }
        switch signal {
        case .demand:
          bound.value.progress = bound.value.now
          bound.value.readOn()
        case .abandoned:
          // The rest of an unread response would precede the next response.
          bound.value.close(nil)
        }
      }
    }
    state = .content(feed, BodyDecoder(framing, limits: limits, isResponse: true))
    let announced: Int? = if case .length(let count) = framing { count } else { nil }
    promise.succeed(Reply(head: head, feed: feed, length: announced))
    return true
  }

  /// RFC 9110 §7.8: the protocols that the origin switches to must be among those of the request.
  private static func isAnswer(_ head: HTTPResponse, to upgrade: String) -> Bool {
    func protocols(_ value: String) -> [String] {
      value.split(separator: ",").map { $0.trimmingOptionalWhitespace.lowercasedASCII }
    }
    let chosen = head.headerFields[.upgrade].map(protocols) ?? []
    return !chosen.isEmpty && Set(chosen).isSubset(of: protocols(upgrade))
  }

  /// Returns the bytes after the switch of protocols, and whether they are all; `nil` if the connection has ended
  /// otherwise.
  func takeOver() -> (bytes: ByteBuffer, isEnded: Bool)? {
    guard case .switched = state, channel.isActive else { return nil }
    defer { buffer = ByteBuffer() }
    return (buffer, inputIsClosed)
  }

  private static func closes(_ head: HTTPResponse) -> Bool {
    head.headerFields[.connection]?.split(separator: ",").contains {
      $0.trimmingOptionalWhitespace.lowercasedASCII == "close"
    } ?? false
  }

  private static func keepAliveSeconds(_ head: HTTPResponse) -> Int64? {
    guard let field = head.headerFields.first(where: { $0.name.canonicalName == "keep-alive" }) else {
      return nil
    }
    for parameter in field.value.split(separator: ",") {
      let parts = parameter.split(separator: "=").map { $0.trimmingOptionalWhitespace.lowercasedASCII }
      if parts.count == 2, parts[0] == "timeout", let seconds = Int64(parts[1]), seconds >= 0 {
        return Swift.min(seconds, 86_400)
      }
    }
    return nil
  }

  /// Handles the end of the response.
  private func finish() {
    state = .idle
    exchange += 1
    // An incomplete request, or an unrequested response, would disturb the next exchange.
    guard isReusable, !isSending, !inputIsClosed, buffer.readableBytes == 0 else { return close(nil) }
    idleSince = now
    let deadline = now + idleLimit.timeAmount
    if timer == nil || deadline < timerDeadline { armTimer(at: deadline) }
    onIdle(handle())
  }

  // MARK: - Endings

  func channelInactive(context: ChannelHandlerContext) {
    inputIsClosed = true
    endInput()
  }

  /// Only a connection that may become a tunnel outlives the end of its input.
  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed = event {
      inputIsClosed = true
      if case .switched = state { return }
      endInput()
      if case .closed = state { channel.close(promise: nil) }
    }
  }

  /// Ends the exchange, except for a response that came after an interim one and has not been requested yet.
  private func endInput() {
    if case .interim = state, buffer.readableBytes > 0 { return }
    end(nil)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    close(OriginError(.connectionTerminated, "the connection to the origin failed: \(error)"))
  }

  private func close(_ error: OriginError?) {
    end(error)
    channel.close(promise: nil)
  }

  private func end(_ error: OriginError?) {
    timer?.cancel()
    timer = nil
    let ended = state
    state = .closed
    failure = failure ?? error
    let isUnanswered = interim.count == 0 && buffer.readableBytes == 0
    buffer = ByteBuffer()
    sending?.cancel()
    sending = nil
    switch ended {
    case .idle: onEnd(channel)
    case .closed, .interim, .switched: break
    case .awaitingHead(let promise):
      var error =
        error ?? OriginError(.connectionTerminated, "the origin closed the connection without a response")
      if isUnanswered { error.reach = .unanswered }
      promise.fail(error)
    case .content(let feed, let decoder):
      if decoder.endsWithConnection, error == nil {
        feed.finish(.success(()))
      } else {
        feed.finish(
          .failure(
            error ?? OriginError(.responseIncomplete, "the origin closed the connection during its response"))
        )
      }
    }
  }

  /// Each connection has one timer, not one per request or read: a timer that fires early is set again.
  private func armTimer(at deadline: NIODeadline) {
    timer?.cancel()
    timerDeadline = deadline
    let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
    timer = channel.eventLoop.scheduleTask(deadline: deadline) { bound.value.timerRang() }
  }

  private func timerRang() {
    let isOurs: Bool
    switch state {
    case .closed, .switched: return
    case .idle:
      let deadline = (idleSince ?? progress) + idleLimit.timeAmount
      return deadline <= now ? close(nil) : armTimer(at: deadline)
    // The client's turn ends when it has sent a piece of its content, and the origin's when it has taken it.
    case .awaitingHead: isOurs = !isSending || isWriting
    case .interim: isOurs = true
    case .content(let feed, _): isOurs = feed.isAwaited
    }
    // While the connection waits for the client instead of the origin, only the client's own time-outs apply. An origin
    // that takes the request slowly responds later.
    let hasTaken = uptake?.hasAdvanced(channel) == true
    if !isOurs || hasTaken { progress = now }
    let deadline = progress + timeouts.response.timeAmount
    guard deadline <= now else {
      let isTaking = isSending || hasTaken || uptake?.isWaiting == true
      return armTimer(
        at: isTaking ? Swift.min(deadline, now + PeerUptake.interval(within: timeouts.response)) : deadline)
    }
    let time = timeouts.response
    if case .content = state {
      close(OriginError(.responseTimeout, "the origin was silent for \(time)"))
    } else {
      close(OriginError(.responseTimeout, "the origin sent no final response within \(time)"))
    }
  }
}
