import HTTPCacheObserving
import HTTPCacheStore
import HTTPCaching
import NIOCore
import NIOPosix

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
  enum Reading {
    case head
    case content(BodyFeed, BodyDecoder, left: Int)
    /// The request is whole; what comes is the next, and waits.
    case nothing
    /// Whatever comes is thrown away until the client closes.
    case draining
  }

  /// The request that is being answered.
  struct Current {
    var request: ClientRequest
    var start: NIODeadline
    var framing = ResponseFraming.none
    var sent = 0
    var hasHead = false
    var status = AccessLogEntry.statusWithoutResponse
    var provenance: Provenance?
    /// From ``start`` to the head of the response.
    var microsecondsToHead: Int64 = 0
    var closes: Bool
    var wantsContent = false
    var task: Task<Void, Never>?
  }

  private let liveCount = LiveCount(.clientConnection)
  let context: ProxyContext
  let writer: ResponseWriter
  /// The lines of the access log; `nil` without one.
  private let log: AccessLogLines?
  var channelContext: ChannelHandlerContext?
  /// Tells the origin who asks; `nil` before the connection is open.
  var forwarder: Forwarder?
  /// The address of the client at the other end of this connection; `nil` before the connection is open.
  var clientAddress: IPAddress? { forwarder?.address }

  var inbound = ByteBuffer()
  /// Written to and taken within one turn of the event loop, for other connections use it, too.
  private(set) lazy var output = OutputBuffer.current
  var reader: HeadReader
  /// The head that could not be read as a request, for the log.
  var unreadable: ByteBuffer?
  var reading = Reading.head
  var current: Current?
  var inputIsClosed = false
  /// Whether the channel was asked for a read that it has not delivered.
  private var isReadPending = false
  var hasUnflushed = false
  var isProcessing = false

  /// When something last moved, and when the head began that is not whole yet.
  var progress = NIODeadline.now()
  var headStart: NIODeadline?
  var writesPending = 0
  var timer: Scheduled<Void>?

  /// - Parameter log: the lines of the connection's event loop.
  init(_ context: ProxyContext, log: AccessLogLines? = nil) {
    self.context = context
    self.log = log
    writer = ResponseWriter(name: context.configuration.name, dates: DateCache())
    reader = HeadReader(limits: context.settings.value.limits.head, isResponse: false)
  }

  // MARK: - Channel

  func handlerAdded(context: ChannelHandlerContext) {
    channelContext = context
    if context.channel.isActive { begin(context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    begin(context)
  }

  func begin(_ context: ChannelHandlerContext) {
    guard timer == nil else { return }
    progress = .now()
    if forwarder == nil {
      forwarder = Forwarder(IPAddress(context.remoteAddress), self.context.settings.value)
    }
    let timeouts = self.context.settings.value.timeouts
    armTimer(context, at: progress + .milliseconds(Swift.min(timeouts.idle, timeouts.stall)))
    read(context)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    channelContext = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .draining = reading { return }
    // What nobody asked for is delivered only because the end of the input is behind it. It is as much as the kernel
    // holds, and this connection will not process it.
    guard isReadPending || allowsHalfClosure else { return clientLeft(context) }
    isReadPending = false
    progress = .now()
    inbound.add(unwrapInboundIn(data))
    process(context)
    inbound.trim()
  }

  private var allowsHalfClosure: Bool { context.configuration.allowsHalfClosure }

  func read(_ context: ChannelHandlerContext) {
    isReadPending = true
    context.read()
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    flush(context)
    readOn(context)
  }

  func flush(_ context: ChannelHandlerContext) {
    guard hasUnflushed else { return }
    hasUnflushed = false
    context.flush()
  }

  /// Reads from the socket where somebody wants what comes.
  func readOn(_ context: ChannelHandlerContext) {
    switch reading {
    // Nothing of the next request is read while the client does not take its responses.
    case .head: if context.channel.isWritable { read(context) }
    case .content(let feed, _, _): if current?.wantsContent == true, !feed.isFull { read(context) }
    // One read ahead, for the beginning of the next request. The end of the input is reported without a read.
    case .nothing: if inbound.readableBytes == 0 { read(context) }
    case .draining: read(context)
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
      if allowsHalfClosure { halfClosed(context) } else { clientLeft(context) }
    }
    context.fireUserInboundEventTriggered(event)
  }

  /// The client has sent its last request, and still waits for responses.
  private func halfClosed(_ context: ChannelHandlerContext) {
    switch reading {
    case .content(let feed, _, _):
      feed.finish(.failure(MessageFault("the client broke off its request")))
      reading = .nothing
      current?.closes = true
    case .head: if current == nil { end(context) }
    // What came before the end may hold requests still; what is being written is closed behind.
    case .nothing, .draining: break
    }
  }

  /// The client closed its half of the connection, which is taken for all of it: no response is awaited any more. What has
  /// been written already is sent.
  private func clientLeft(_ context: ChannelHandlerContext) {
    inputIsClosed = true
    if case .draining = reading { return }
    guard let current else { return end(context) }
    // The client may have closed because it has everything.
    if !current.isWhole { self.context.statistics.aborted.increment() }
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    timer = nil
    if case .content(let feed, _, _) = reading {
      feed.finish(.failure(MessageFault("the client broke off its request")))
    }
    reading = .draining
    inbound = ByteBuffer()
    current?.task?.cancel()
    if let current { note(current, endedAt: .now(), isAborted: !current.isWhole) }
    current = nil
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  // MARK: - Log

  /// Counts the content of a response that is over, and logs its request.
  func note(_ ended: Current, endedAt end: NIODeadline, isAborted: Bool) {
    let count = ended.framing == .none ? 0 : ended.sent
    if let outcome = ended.provenance?.outcome { context.statistics.sent(count, outcome, ended.status) }
    guard let log else { return }
    log.append(
      AccessLogEntry(
        client: clientText(of: ended.request), minorVersion: ended.request.minorVersion,
        status: ended.status, contentBytes: count, provenance: ended.provenance,
        microsecondsToHead: ended.hasHead ? ended.microsecondsToHead : nil,
        microseconds: (end - ended.start).nanoseconds / 1000, isAborted: isAborted),
      ended.request.request)
  }

  /// Who sent a request, for the log. The text of nearly all is at hand.
  private func clientText(of request: ClientRequest?) -> String {
    guard let forwarder, forwarder.address != nil else { return "-" }
    guard let client = request?.client, client != forwarder.address else { return forwarder.text }
    return client.description
  }

  /// Counts a request that was refused, and logs it.
  ///
  /// - Parameter request: the request, if it could be read as one.
  func note(_ fault: MessageFault, _ request: ClientRequest?, contentBytes: Int) {
    context.statistics.answered(.refused, fault.status)
    context.statistics.sent(contentBytes, .refused, fault.status)
    guard let log else { return }
    let time = (NIODeadline.now() - (headStart ?? progress)).nanoseconds / 1000
    log.append(
      AccessLogEntry(
        client: clientText(of: request), minorVersion: request?.minorVersion ?? 1,
        unreadable: unreadable ?? inbound, status: fault.status, contentBytes: contentBytes,
        provenance: Provenance(failure: fault), microsecondsToHead: time, microseconds: time,
        isAborted: false), request?.request)
  }
}

extension ClientConnection.Current {
  /// Whether all of the response was written.
  fileprivate var isWhole: Bool {
    switch framing {
    case .none: hasHead
    case .length(let count): sent == count
    case .chunked, .untilClose: false
    }
  }
}
