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

/// One connection to the origin: a request at a time, and the responses to it.
///
/// The handler lives on its event loop; ``start(_:method:)`` and what it returns may be used from anywhere.
final class OriginConnection: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  /// The head of a response, interim or final, and what comes behind it.
  struct Reply: Sendable {
    var head: HTTPResponse
    /// `nil` if there is no content.
    var feed: BodyFeed?
    var length: Int?
    /// Brings the response behind an interim one.
    var next: EventLoopFuture<Reply>?
  }

  private enum State {
    case idle
    case awaitingHead(EventLoopPromise<Reply>)
    case content(BodyFeed, BodyDecoder)
    case closed
  }

  let channel: any Channel
  private let limits: HeadLimits
  private let timeouts: ProxyConfiguration.Timeouts
  /// Called on the event loop when a request is over and the connection is good for another.
  private let onIdle: @Sendable (OriginConnection.Handle) -> Void

  private var state = State.idle
  private var buffer = ByteBuffer()
  private var reader: HeadReader
  private var method = HTTPRequest.Method.get
  private var isReusable = true
  private var isSending = false
  private var hasReadPending = false
  private var progress = NIODeadline.now()
  private var timer: Scheduled<Void>?
  private var idleSince: NIODeadline?
  /// How long the origin keeps an idle connection, by its own word.
  private var idleLimit: Int64

  init(
    channel: any Channel, limits: HeadLimits, timeouts: ProxyConfiguration.Timeouts,
    onIdle: @escaping @Sendable (OriginConnection.Handle) -> Void
  ) {
    self.channel = channel
    self.limits = limits
    self.timeouts = timeouts
    self.onIdle = onIdle
    idleLimit = timeouts.originIdle
    reader = HeadReader(limits: limits, isResponse: true)
  }

  /// What other threads hold of a connection.
  struct Handle: Sendable {
    let channel: any Channel
    let connection: NIOLoopBound<OriginConnection>
    /// When it is to be used no more.
    let deadline: NIODeadline
    /// Since when it has been idle; `nil` if it is new.
    let idleSince: NIODeadline?

    /// Sends a request's head, with its content if that is at hand.
    ///
    /// - Parameter isWhole: whether no content follows through ``OriginConnection/Handle/send(_:)``.
    func start(_ request: ByteBuffer, method: HTTPRequest.Method, isWhole: Bool) -> EventLoopFuture<Reply> {
      let promise = channel.eventLoop.makePromise(of: Reply.self)
      channel.eventLoop.execute {
        connection.value.start(request, method: method, isWhole: isWhole, promise)
      }
      return promise.futureResult
    }

    /// Sends a piece of the request's content; waits until it is on its way.
    func send(_ bytes: ByteBuffer) async throws {
      try await channel.writeAndFlush(bytes).get()
      let connection = connection
      channel.eventLoop.execute { connection.value.progress = .now() }
    }

    func wasIdle(for time: TimeAmount) -> Bool { idleSince.map { $0 + time <= .now() } ?? false }

    /// Says that the request is whole.
    func finishSending() {
      channel.eventLoop.execute { connection.value.isSending = false }
    }

    func close() {
      channel.close(promise: nil)
    }
  }

  func handle() -> Handle {
    Handle(
      channel: channel, connection: NIOLoopBound(self, eventLoop: channel.eventLoop),
      deadline: .now() + .milliseconds(idleLimit), idleSince: idleSince)
  }

  // MARK: - Requests

  private func start(
    _ request: ByteBuffer, method: HTTPRequest.Method, isWhole: Bool, _ promise: EventLoopPromise<Reply>
  ) {
    guard case .idle = state, channel.isActive else {
      var failure = OriginError(.connectionTerminated, "the origin closed the idle connection")
      failure.isReset = true
      promise.fail(failure)
      channel.close(promise: nil)
      return
    }
    self.method = method
    isSending = !isWhole
    state = .awaitingHead(promise)
    progress = .now()
    armTimer()
    channel.writeAndFlush(request, promise: nil)
    channel.read()
  }

  // MARK: - Responses

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    progress = .now()
    var bytes = unwrapInboundIn(data)
    if buffer.readableBytes == 0 {
      buffer = bytes
    } else {
      buffer.writeBuffer(&bytes)
    }
    process()
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    readOn()
  }

  /// Asks for more where more is wanted: of a closed connection always, so that its end is seen.
  private func readOn() {
    switch state {
    case .idle, .awaitingHead: channel.read()
    case .content(let feed, _): if !feed.isFull { channel.read() }
    case .closed: break
    }
  }

  private func process() {
    do throws(MessageFault) {
      while true {
        switch state {
        case .idle:
          // Nothing was asked: whatever this answers, it is not the next request.
          if buffer.readableBytes > 0 { close(nil) }
          return
        case .closed: return
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

  /// `false` until the head is there.
  private func readHead(_ promise: EventLoopPromise<Reply>) throws(MessageFault) -> Bool {
    guard let length = try reader.findEnd(in: buffer), let bytes = buffer.readSlice(length: length) else {
      return false
    }
    let reader = reader
    let parsed: Result<(HTTPResponse, Int), MessageFault> = bytes.withUnsafeReadableBytes { bytes in
      do throws(MessageFault) {
        var start: (status: HTTPResponse.Status, minorVersion: Int)?
        var fields = HTTPFields()
        try reader.readLines(bytes) { line throws(MessageFault) in
          if start == nil {
            start = try HeadReader.statusLine(line)
          } else {
            fields.append(try reader.field(line).field)
          }
        }
        guard let start else { throw MessageFault(502, "the status line is missing") }
        return .success((HTTPResponse(status: start.status, headerFields: fields), start.minorVersion))
      } catch {
        return .failure(error)
      }
    }
    let (head, minorVersion) = try parsed.get()
    self.reader.reset()
    if head.status.kind == .informational {
      guard head.status.code != 101 else {
        throw MessageFault(502, "it switches protocols, which nobody asked for")
      }
      let next = channel.eventLoop.makePromise(of: Reply.self)
      state = .awaitingHead(next)
      promise.succeed(Reply(head: head, next: next.futureResult))
      return true
    }
    let framing = try Framing(response: head, to: method)
    isReusable = isReusable && minorVersion == 1 && framing != .untilClose && !Self.closes(head)
    if let hint = Self.keepAliveSeconds(head) {
      // A second before the origin does: the door is not to close on a request.
      idleLimit = Swift.min(timeouts.originIdle, Swift.max(0, hint * 1000 - 1000))
    }
    if framing == .none || framing == .length(0) {
      finish()
      promise.succeed(Reply(head: head, length: framing == .none ? nil : 0))
      return true
    }
    let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
    let loop = channel.eventLoop
    let feed = BodyFeed { signal in
      loop.execute {
        switch signal {
        case .demand:
          bound.value.progress = .now()
          bound.value.readOn()
        case .abandoned:
          // Half a response stands in the way of the next.
          bound.value.close(nil)
        }
      }
    }
    state = .content(feed, BodyDecoder(framing, limits: limits, isResponse: true))
    let announced: Int? = if case .length(let count) = framing { count } else { nil }
    promise.succeed(Reply(head: head, feed: feed, length: announced))
    return true
  }

  private static func closes(_ head: HTTPResponse) -> Bool {
    head.headerFields[.connection]?.split(separator: ",").contains {
      String($0).trimmingOptionalWhitespace.lowercased() == "close"
    } ?? false
  }

  private static func keepAliveSeconds(_ head: HTTPResponse) -> Int64? {
    guard let field = head.headerFields.first(where: { $0.name.canonicalName == "keep-alive" }) else {
      return nil
    }
    for parameter in field.value.split(separator: ",") {
      let parts = parameter.split(separator: "=").map { String($0).trimmingOptionalWhitespace.lowercased() }
      if parts.count == 2, parts[0] == "timeout", let seconds = Int64(parts[1]), seconds >= 0 {
        return Swift.min(seconds, 86_400)
      }
    }
    return nil
  }

  /// The response is over.
  private func finish() {
    timer?.cancel()
    timer = nil
    state = .idle
    // A request that is not all sent, or an answer that nobody asked for, would spoil the next.
    guard isReusable, !isSending, buffer.readableBytes == 0 else { return close(nil) }
    idleSince = .now()
    onIdle(handle())
  }

  // MARK: - Endings

  func channelInactive(context: ChannelHandlerContext) {
    end(nil)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    var failure = OriginError(.connectionTerminated, "the connection to the origin failed: \(error)")
    // What is sent to a closed door is answered so, without having been read.
    failure.isReset = (error as? IOError)?.errnoCode == ECONNRESET || (error as? IOError)?.errnoCode == EPIPE
    close(failure)
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
    switch ended {
    case .idle, .closed: break
    case .awaitingHead(let promise):
      promise.fail(
        error ?? OriginError(.connectionTerminated, "the origin closed the connection without a response"))
    case .content(let feed, let decoder):
      if decoder.endsWithConnection, error == nil {
        feed.finish(.success(()))
      } else {
        feed.finish(
          .failure(
            error ?? OriginError(.responseIncomplete, "the origin closed the connection amid its response")))
      }
    }
  }

  /// One timer a response, and not one a read: when it rings early it is set anew.
  private func armTimer() {
    let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
    timer = channel.eventLoop.scheduleTask(deadline: progress + .milliseconds(timeouts.response)) {
      bound.value.timerRang()
    }
  }

  private func timerRang() {
    let isOurs: Bool =
      switch state {
      case .awaitingHead: !isSending
      case .content(let feed, _): feed.isAwaited
      case .idle, .closed: false
      }
    // Who waits for the client, and not for the origin, has all the time that the client is given.
    if !isOurs { progress = .now() }
    guard progress + .milliseconds(timeouts.response) <= .now() else { return armTimer() }
    close(OriginError(.responseTimeout, "the origin was silent for \(timeouts.response) ms"))
  }
}
