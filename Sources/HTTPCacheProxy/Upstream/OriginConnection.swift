// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

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

/// One connection of HTTP/1.1 to the origin: one request at a time, and the responses to it.
///
/// ``OriginConnectionStateMachine`` decides what the protocol requires. This handler has the bytes, the channel and the
/// timer. It reports events, and performs the actions that the machine returns.
///
/// The handler lives on its event loop; its ``Handle`` may be used from any thread.
final class OriginConnection: ChannelInboundHandler, OriginHandler {
  typealias InboundIn = ByteBuffer
  typealias Machine = OriginConnectionStateMachine

  let channel: any Channel
  private let liveCount = LiveCount(.originConnection)
  private let transit: TransitBudget
  private let makeUptake: () -> PeerUptake
  /// Called on the event loop when a request is finished and the connection can be reused.
  private let onIdle: @Sendable (OriginConnection.Handle) -> Void
  /// Called on the event loop when an idle connection has closed.
  private let onEnd: @Sendable (any Channel) -> Void

  /// Makes all decisions that follow from the protocol.
  private(set) var machine: Machine
  private var buffer = ByteBuffer()
  private let reads: ReadBuffer
  private var reader: HeadReader
  /// The request in flight, or the last one.
  private var request = Machine.Request()
  /// Whether the content of the request is sent in chunks (RFC 9112 §7.1).
  private var isChunked = false
  /// Gets the response that is awaited.
  private var receiver: OriginReply.Receiver?
  /// A response whose small content is awaited: the length of the content, and when the response is delivered without it.
  private var held: (head: HTTPResponse, length: Int, end: NIODeadline)?
  /// The content of a response that is still arriving.
  private var content: (feed: BodyFeed, decoder: BodyDecoder)?
  /// The task that sends the content of the request: it is cancelled when the connection ends.
  private var sending: Task<Void, Never>?
  /// What the origin has taken of the request; `nil` if the request is too small to take long.
  private var uptake: PeerUptake?
  private var timer: (task: Scheduled<Void>, deadline: NIODeadline)?

  init(
    channel: any Channel, limits: ProxyConfiguration.HeadLimits, timeouts: ProxyConfiguration.Origin.Timeouts,
    transit: TransitBudget, reads: ReadBuffer = ReadBuffer(),
    uptake: @escaping () -> PeerUptake = { PeerUptake() },
    onIdle: @escaping @Sendable (OriginConnection.Handle) -> Void,
    onEnd: @escaping @Sendable (any Channel) -> Void
  ) {
    self.channel = channel
    self.transit = transit
    self.reads = reads
    makeUptake = uptake
    self.onIdle = onIdle
    self.onEnd = onEnd
    machine = Machine(timeouts, at: channel.eventLoop.now)
    reader = HeadReader(limits: limits, isResponse: true)
  }

  /// The event loop's time, which tests can set.
  private var now: NIODeadline { channel.eventLoop.now }

  /// A connection that is ready for a request, for other threads.
  struct Handle: Sendable {
    let channel: any Channel
    let connection: NIOLoopBound<OriginConnection>
    /// The exchange that the handle is for.
    let reference: OriginReference
    /// The time after which the connection must not be used.
    let deadline: NIODeadline
  }

  func handle() -> Handle {
    Handle(
      channel: channel, connection: NIOLoopBound(self, eventLoop: channel.eventLoop),
      reference: OriginReference(self, on: channel.eventLoop), deadline: machine.idleDeadline ?? now)
  }

  var exchanges: Int { machine.exchanges }

  func beginSending() -> Bool { machine.isSending }

  // MARK: - Requests

  func start(_ request: OriginRequest, _ receiver: @escaping OriginReply.Receiver) {
    // The connection takes the bytes at once.
    let output = OutputBuffer.current
    RequestWriter.write(request, to: &output.bytes)
    request.body.withBytes { $0.withUnsafeBytes { _ = output.bytes.writeBytes($0) } }
    let bytes = output.take()
    let properties = request.properties
    uptake = request.isWhole && bytes.readableBytes <= Self.smallRequest ? nil : makeUptake()
    do throws(OriginError) {
      let deadline = try machine.requestStarted(
        properties, isLarge: uptake != nil, isActive: channel.isActive, isEnding: isEnding, at: now)
      self.request = properties
      isChunked = request.body.length == nil
      self.receiver = receiver
      armTimer(by: deadline)
      channel.write(bytes, promise: nil)
      if uptake != nil {
        // From here on it counts what the origin takes.
        channel.flush()
        _ = uptake?.hasAdvanced(channel)
      } else {
        LoopTurns.of(channel.eventLoop).flushAtEnd(channel)
      }
      channel.read()
    } catch {
      receiver(.failure(error))
      close(error)
    }
  }

  /// Maximum bytes of a request that an origin takes at once: others cost a system call more.
  private static let smallRequest = 64 << 10

  /// Whether the kernel knows that the origin has closed the connection, before the event loop has noticed.
  ///
  /// A request that must not be sent twice is lost on such a connection, and any other costs a second attempt.
  private var isEnding: Bool {
    #if os(Linux)
      guard let options = channel as? any SocketOptionProvider else { return false }
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

  func attach(_ task: Task<Void, Never>) {
    if machine.isSending { sending = task } else { task.cancel() }
  }

  func send(_ bytes: ByteBuffer) -> EventLoopFuture<Void> {
    machine.uploadChanged(to: .awaitsOrigin, at: now)
    if isChunked {
      channel.write(ByteBuffer(string: String(bytes.readableBytes, radix: 16) + "\r\n"), promise: nil)
    }
    let written = channel.write(bytes)
    if isChunked { channel.write(ByteBuffer(string: "\r\n"), promise: nil) }
    channel.flush()
    let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
    written.whenComplete { _ in
      bound.value.machine.uploadChanged(to: .awaitsClient, at: bound.value.now)
    }
    return written
  }

  func finishSending() {
    if isChunked, machine.isSending { channel.writeAndFlush(ByteBuffer(string: "0\r\n\r\n"), promise: nil) }
    machine.uploadChanged(to: .nothing, at: now)
    sending = nil
  }

  func stopSending() {
    if machine.isSending {
      close(OriginError(.connectionTerminated, "the client sent no more of its content", isByProxy: true))
    }
  }

  // MARK: - Responses

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard machine.received(at: now) else { return }
    reads.move(unwrapInboundIn(data), to: &buffer)
    process()
    reads.trim(&buffer)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    readOn()
  }

  /// Reads from the socket if more bytes are wanted.
  private func readOn() {
    switch machine.input {
    case .end, .head: channel.read()
    case .content: if held != nil || content?.feed.isFull == false { channel.read() }
    case .nothing: break
    }
  }

  func next(_ receiver: @escaping OriginReply.Receiver) {
    do throws(OriginError) {
      try machine.nextRequested()
    } catch {
      return receiver(.failure(error))
    }
    self.receiver = receiver
    process()
    reads.trim(&buffer)
    // All bytes before the end have now been processed, up to another interim response.
    if machine.inputIsClosed { endInput() } else { readOn() }
  }

  private func process() {
    // The reply comes after what has arrived of its content, so that a small response is whole.
    var awaited: (OriginReply.Receiver?, OriginReply)?
    defer { if let (receiver, reply) = awaited { receiver?(.success(reply)) } }
    do throws(MessageFault) {
      while true {
        switch machine.input {
        case .nothing: return
        case .end:
          if buffer.readableBytes > 0 { close(nil) }
          return
        case .head:
          guard let reply = try readHead() else { return }
          if held == nil { awaited = (receiver.take(), reply) }
        case .content:
          if let held {
            guard let bytes = buffer.readBytes(length: held.length) else { return armTimer(by: held.end) }
            self.held = nil
            finish()
            awaited = (receiver.take(), OriginReply(head: held.head, content: .whole(bytes)))
            continue
          }
          guard let event = try content?.decoder.next(from: &buffer) else { return }
          switch event {
          case .data(let bytes): content?.feed.push(bytes)
          case .end(let trailers):
            let feed = content?.feed
            content = nil
            finish()
            feed?.finish(.success(()), trailers: trailers)
          }
        }
      }
    } catch {
      close(OriginError(.protocolError, "the origin's response is malformed: \(error.reason)"))
    }
  }

  /// Reads the head; `nil` until it has arrived.
  private func readHead() throws(MessageFault) -> OriginReply? {
    guard let length = try reader.findEnd(in: buffer), let bytes = buffer.readSlice(length: length) else {
      return nil
    }
    let (head, minorVersion) = try reader.response(bytes)
    reader.reset()
    var response = OriginReply(head: head)
    let version = minorVersion == 1 ? HTTPVersion.http11 : .http10
    switch try machine.headReceived(head, version, bytes: length, to: request, at: now) {
    case .deliverInterim: break
    case .switchProtocols: stopTimer()
    case .deliver(let framing):
      if framing == .none || framing == .length(0) {
        finish()
      } else if let length = framing.length, length <= OriginReply.smallContent {
        held = (head, length, now + OriginReply.holdingTime)
      } else {
        response.content = .arriving(beginContent(framing), length: framing.length)
        // The time between two pieces may be shorter than that of the head.
        armTimer(by: now + machine.contentTime)
      }
    case .fail(let error): close(error)
    }
    return response
  }

  private func beginContent(_ framing: Framing) -> BodyFeed {
    let feed = makeFeed()
    content = (feed, BodyDecoder(framing, limits: reader.limits, isResponse: true))
    return feed
  }

  /// Delivers the held response with the part of its content that has arrived.
  private func deliverHeld() {
    guard let (head, length, _) = held.take() else { return }
    let feed = beginContent(.length(length))
    if case .data(let bytes)? = try? content?.decoder.next(from: &buffer) { feed.push(bytes) }
    receiver.take()?(.success(OriginReply(head: head, content: .arriving(feed, length: length))))
  }

  private func makeFeed() -> BodyFeed {
    let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
    let (loop, exchange) = (channel.eventLoop, machine.exchanges)
    return BodyFeed(transit: transit) { signal in
      loop.execute {
        // The last piece of the content may have arrived before this signal.
        guard bound.value.machine.exchanges == exchange else { return }
        switch signal {
        case .demand:
          bound.value.machine.contentWanted(at: bound.value.now)
          bound.value.readOn()
        case .abandoned:
          // The rest of an unread response would precede the next response.
          bound.value.close(nil)
        }
      }
    }
  }

  /// Handles the end of the response.
  private func finish() {
    end(machine.responseEnded(hasBytes: buffer.readableBytes > 0, at: now))
    guard let deadline = machine.idleDeadline else { return }
    armTimer(by: deadline)
    onIdle(handle())
  }

  /// Returns the bytes after the switch of protocols, and whether they are all; `nil` if the connection has ended
  /// otherwise.
  func takeOver() -> (bytes: ByteBuffer, isEnded: Bool)? {
    guard case .switched(let isEnded) = machine.state, channel.isActive else { return nil }
    defer { buffer = ByteBuffer() }
    return (buffer, isEnded)
  }

  // MARK: - Endings

  func channelInactive(context: ChannelHandlerContext) {
    endInput()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed = event { endInput() }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    close(OriginError(error))
  }

  private func endInput() {
    end(machine.inputEnded(hasBytes: buffer.readableBytes > 0))
  }

  func close(_ error: OriginError?) {
    end(machine.end(error, hasBytes: buffer.readableBytes > 0))
  }

  private func end(_ ending: Machine.Ending) {
    if ending == .none { return }
    deliverHeld()
    stopTimer()
    buffer = ByteBuffer()
    sending?.cancel()
    sending = nil
    switch ending {
    case .none, .quietly: break
    case .idle: onEnd(channel)
    case .head(let error):
      receiver.take()?(.failure(error))
    case .content(let error):
      content?.feed.finish(error.map { .failure($0) } ?? .success(()))
      content = nil
    }
    channel.close(promise: nil)
  }

  // MARK: - Time

  /// Sets the timer, unless it fires earlier.
  private func armTimer(by deadline: NIODeadline) {
    if let timer, timer.deadline <= deadline { return }
    stopTimer()
    let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
    timer = (channel.eventLoop.scheduleTask(deadline: deadline) { bound.value.checkTime() }, deadline)
  }

  private func stopTimer() {
    timer?.task.cancel()
    timer = nil
  }

  private func checkTime() {
    timer = nil
    if let held, held.end <= now { deliverHeld() }
    let hasTaken = uptake?.hasAdvanced(channel) == true
    do throws(OriginError) {
      let deadline = try machine.checkTime(
        at: now, isContentAwaited: content?.feed.isAwaited == true, hasTaken: hasTaken,
        isTaking: uptake?.isWaiting == true)
      if let deadline { armTimer(by: held.map { Swift.min($0.end, deadline) } ?? deadline) }
    } catch {
      close(error)
    }
  }
}

extension HeadReader {
  /// Reads a whole head.
  fileprivate func response(
    _ head: ByteBuffer
  ) throws(MessageFault) -> (response: HTTPResponse, minorVersion: Int) {
    var start: (status: HTTPResponse.Status, minorVersion: Int)?
    var fields = HTTPFields()
    // To grow for ten fields takes three allocations more.
    fields.reserveCapacity(16)
    try readLines(head) { line throws(MessageFault) in
      if start == nil {
        start = try HeadReader.statusLine(line)
      } else {
        fields.append(try field(line).field)
      }
    }
    guard let start else { throw MessageFault(502, "the status line is missing") }
    return (HTTPResponse(status: start.status, headerFields: fields), start.minorVersion)
  }
}
