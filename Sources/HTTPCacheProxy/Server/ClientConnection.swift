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
    var closes: Bool
    var wantsContent = false
    var task: Task<Void, Never>?
  }

  let context: ProxyContext
  let writer: ResponseWriter
  var channelContext: ChannelHandlerContext?

  var inbound = ByteBuffer()
  /// Written to and taken within one turn of the event loop, for other connections use it, too.
  private(set) lazy var output = OutputBuffer.current
  var reader: HeadReader
  var reading = Reading.head
  var current: Current?
  var inputIsClosed = false
  var hasUnflushed = false
  var isProcessing = false

  /// When something last moved, and when the head began that is not whole yet.
  var progress = NIODeadline.now()
  var headStart: NIODeadline?
  var writesPending = 0
  var timer: Scheduled<Void>?

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

  func begin(_ context: ChannelHandlerContext) {
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

  func flush(_ context: ChannelHandlerContext) {
    guard hasUnflushed else { return }
    hasUnflushed = false
    context.flush()
  }

  /// Reads from the socket where somebody wants what comes.
  func readOn(_ context: ChannelHandlerContext) {
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
}
