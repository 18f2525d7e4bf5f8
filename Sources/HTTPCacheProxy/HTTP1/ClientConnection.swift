// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCacheStore
import HTTPCaching
import NIOCore
import NIOPosix
import TransportSecurity

/// A client's connection: reads requests, one after the other, and writes the responses in their order.
///
/// ``ClientConnectionStateMachine`` decides what the protocol requires. This handler has the bytes, the channel and the
/// timer. It reports events, and performs the actions that the machine returns.
///
/// That the tasks of requests wait until the parts of a response are written, and that the socket is not read while nothing
/// is wanted, is the whole back-pressure.
final class ClientConnection: ChannelDuplexHandler, ClientHandler, TabledConnection {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ResponsePart
  typealias OutboundOut = ByteBuffer

  /// The content of a request that is still arriving.
  struct IncomingContent {
    var feed: BodyFeed
    var decoder: BodyDecoder
  }

  /// What the connection does with requests.
  enum Service: Hashable {
    /// It answers them.
    case answers
    /// It says that this port requires TLS.
    case refusesPlainText
    /// It redirects them to https.
    ///
    /// - Parameter port: the port for https.
    case redirects(port: Int)
  }

  private let liveCount = LiveCount(.clientConnection)
  let context: ProxyContext
  let loop: any EventLoop
  let service: Service
  let writer: ResponseWriter
  let log: AccessLogLines?
  var channelContext: ChannelHandlerContext?
  var forwarder: Forwarder?
  /// Finds the site of each request.
  var siteFinder: SiteFinder
  /// Whether the peer is a trusted proxy.
  private var isPeerTrusted = false
  let tlsVersion: String?
  private let isAfterOpening: Bool
  /// The timeouts of this connection; reading them takes a lock.
  var timeouts: ProxyConfiguration.Timeouts {
    let timeouts = context.settings.value.timeouts
    return isPeerTrusted ? timeouts.ofTrustedPeer : timeouts
  }

  /// Makes all decisions that follow from the protocol.
  var machine: ClientConnectionStateMachine
  var inbound = ByteBuffer()
  private let reads: ReadBuffer
  /// Written and taken within one turn of the event loop, because other connections use it too.
  private(set) lazy var output = OutputBuffer.current
  /// Whether no other handler, such as that of TLS, is between this one and a socket.
  let isAtSocket: Bool
  /// The socket of the channel; `nil` unless ``isAtSocket``. To ask for it takes 2 µs.
  private lazy var socket =
    !isAtSocket
    ? nil
    : try? channelContext?.pipeline.syncOperations.withUnsafeTransportIfAvailable {
      (socket: NIOBSDSocket.Handle) in socket
    }
  var reader: HeadReader
  /// A head that could not be read as a request, for the log.
  var unreadable: ByteBuffer?
  var content: IncomingContent?
  var feed: BodyFeed? { content?.feed }
  var current: RequestInFlight?
  var hasUnflushed = false
  /// Bytes of large content that were written since the loop has last looked at its sockets; see ``OutgoingContent/turn``.
  var sentInTurn = 0
  var isProcessing = false
  var timer: Scheduled<Void>?
  var place: ConnectionPlace?
  var piece = Piece.taken

  /// The piece of stored content that the channel has.
  enum Piece {
    case taken
    /// It is passed to the channel, which may take it at once.
    case written
    /// The channel takes it when the client has taken what was written before.
    case waits
  }

  /// What the client has taken of the responses.
  var uptake = PeerUptake()

  /// - Parameters:
  ///   - loop: the connection's event loop.
  ///   - reads: the buffer that the loop's connections read into.
  ///   - isAtSocket: whether the channel is that of a socket, and has no other handler.
  ///   - client: what a ``ConnectionOpening`` has found out; `nil` if there was none.
  ///   - log: the log lines of the event loop.
  init(
    _ context: ProxyContext, on loop: any EventLoop, reads: ReadBuffer = ReadBuffer(),
    isAtSocket: Bool = false, service: Service = .answers, client: ConnectionOpening.Client? = nil,
    log: AccessLogLines? = nil
  ) {
    self.context = context
    self.loop = loop
    self.service = service
    forwarder = client?.forwarder
    siteFinder = SiteFinder(context.sites, client?.names)
    isPeerTrusted = client?.isPeerTrusted == true
    tlsVersion = client?.tlsVersion
    isAfterOpening = client != nil
    self.isAtSocket = isAtSocket
    self.reads = reads
    self.log = log
    writer = ResponseWriter(name: context.configuration.name, dates: DateCache())
    reader = HeadReader(limits: context.settings.value.limits.head, isResponse: false)
    machine = ClientConnectionStateMachine(
      allowsHalfClosure: context.configuration.allowsHalfClosure,
      allowsUpgrade: context.configuration.allowsUpgrade, channelReadsAlone: !isAtSocket, at: loop.now)
  }

  /// The event loop's time, which tests can set.
  var now: NIODeadline { loop.now }

  // MARK: - Channel

  func handlerAdded(context: ChannelHandlerContext) {
    channelContext = context
    if context.channel.isActive { begin(context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    begin(context)
  }

  private func begin(_ context: ChannelHandlerContext) {
    guard machine.opened(at: now) else { return }
    if forwarder == nil {
      let own = Forwarder(ofPeerOn: context.channel, self.context.settings.value)
      isPeerTrusted = own.isTrusted
      forwarder = own
      guard own.mayHavePlace(place) else {
        return reject("\(own.text) has too many connections", context)
      }
    }
    checkTime(context)
    // After an opening, the end of its read follows, and reads on.
    if isAfterOpening { machine.readRequested() } else { read(context) }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    channelContext = nil
    // They refer to each other.
    place = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch machine.received(at: now) {
    case .discard: break
    case .leave(let action): perform(action, context)
    case .process:
      place?.began()
      sentInTurn = 0
      reads.move(unwrapInboundIn(data), to: &inbound)
      process(context)
      reads.trim(&inbound)
    }
  }

  func read(_ context: ChannelHandlerContext) {
    machine.readRequested()
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

  /// Whether the socket is known to have taken all that was written.
  func isWritten(_ context: ChannelHandlerContext) -> Bool {
    isAtSocket && (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) == 0
  }

  /// The socket, if it is open and the channel has nothing left to write to it.
  func freeSocket(_ context: ChannelHandlerContext) -> NIOBSDSocket.Handle? {
    // The number of a closed socket may already be that of another.
    context.channel.isActive && isWritten(context) ? socket : nil
  }

  /// Reads from the socket if more bytes are wanted.
  func readOn(_ context: ChannelHandlerContext) {
    switch machine.readDemand(isWritable: context.channel.isWritable, hasBytes: inbound.readableBytes > 0) {
    case .none: break
    case .read: read(context)
    case .readContent: if content?.feed.isFull == false { read(context) }
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable {
      machine.becameWritable(at: now)
      process(context)
      flush(context)
      readOn(context)
    }
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed = event {
      perform(machine.inputClosed(isWritable: context.channel.isWritable), context)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    timer = nil
    failContent(ClientConnectionStateMachine.brokenOff)
    inbound = ByteBuffer()
    current?.work.cancel()
    if let current { note(current, endedAt: now, isAborted: machine.isIncomplete) }
    current = nil
    machine.closed()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The end of the input is reported next, and is that of a connection without TLS.
    if (error as? TLSFailure)?.kind == .truncated { return }
    context.close(promise: nil)
  }

  var contentBytes: Int { machine.contentBytes }
  var isIdle: Bool { machine.isIdle && inbound.readableBytes == 0 }

  /// Called when the proxy stops.
  func drain(isPatient: Bool) {
    guard let channelContext else { return }
    perform(machine.stop(isPatient: isPatient || inbound.readableBytes > 0), channelContext)
  }

  /// Ends the content of the request for its reader with an error.
  func failContent(_ error: any Error) {
    content?.feed.finish(.failure(error))
    content = nil
  }
}
