// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCacheStore
import HTTPCaching
import Logging
import NIOCore
import NIOHTTP2
import TransportSecurity

/// A client's connection of HTTP/2 (RFC 9113), whose requests arrive on streams (``ClientStream``).
///
/// `NIOHTTP2Handler`, before it, has the frames, the compression of fields, the flow control, and the limits of clients that
/// waste a server's work: resets (CVE-2023-44487), errors, CONTINUATION, SETTINGS, PING, PRIORITY and empty frames. Here is
/// what belongs to the proxy: the connection's place among the others, its time, and its end.
///
/// The socket is not read while it does not take what was written. Otherwise a client that takes nothing could send requests
/// forever: for `NIOHTTP2Handler` a response has ended, and makes room for the next stream, when it is written.
///
/// `NIOHTTP2ServerConnectionManagementHandler` is not used: it closes a connection as soon as the last response is written, and
/// a slow client would lose the rest of it.
final class ClientHTTP2Connection: ChannelDuplexHandler, TabledConnection {
  typealias InboundIn = HTTP2Frame
  typealias OutboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  private let liveCount = LiveCount(.clientConnection)
  let context: ProxyContext
  let loop: any EventLoop
  let log: AccessLogLines?
  let responseFields: HTTP2ResponseFields
  /// The limits at the beginning of the connection; reading the present ones takes a lock.
  let limits: ProxyConfiguration.Limits
  /// Names the client to the origin.
  var forwarder: Forwarder
  /// Finds the site of each request.
  var siteFinder: SiteFinder
  private let isPeerTrusted: Bool
  let tlsVersion: String?
  private var machine: ClientHTTP2StateMachine
  private var channelContext: ChannelHandlerContext?
  private(set) var streams: [ObjectIdentifier: ClientStream] = [:]
  let unread = UnreadContent(limit: 8192, preface: 24)
  private var looksAtUnread = false
  private var timer: Scheduled<Void>?
  private var uptake = PeerUptake()
  /// Whether the socket has not taken all bytes yet, and the client has taken some since the last look.
  private(set) var hasTaken = false
  /// Whether the client has opened the window of the connection since the last look.
  private(set) var hasOpenedWindow = false
  /// The frames that were sent.
  let sent: SentFrames
  /// All bytes that the client lets the proxy send on the connection (RFC 9113 §6.9).
  private var window = ClientHTTP2Connection.window
  /// The bytes of content of streams that are written, and not taken by the socket.
  private var pending = 0
  /// The streams that wait for room on the connection, in their order.
  private var line = CircularBuffer<ClientStream>()
  private var lineState = LineState.waits
  /// The window that the client gives to new streams, in bytes.
  private(set) var initialWindow = ClientHTTP2Connection.window
  var place: ConnectionPlace?

  private init(
    _ context: ProxyContext, on loop: any EventLoop, client: ConnectionOpening.Client, log: AccessLogLines?
  ) {
    (self.context, self.loop, self.log) = (context, loop, log)
    (forwarder, isPeerTrusted, tlsVersion) = (client.forwarder, client.isPeerTrusted, client.tlsVersion)
    limits = context.settings.value.limits
    siteFinder = SiteFinder(context.sites, client.names)
    responseFields = HTTP2ResponseFields(name: context.configuration.name, dates: DateCache())
    machine = ClientHTTP2StateMachine(at: loop.now)
    sent = SentFrames(received: unread)
  }

  /// Adds the handlers of a connection to its channel.
  static func add(
    to channel: any Channel, _ context: ProxyContext, client: ConnectionOpening.Client, log: AccessLogLines?
  ) throws -> ClientHTTP2Connection {
    let connection = ClientHTTP2Connection(context, on: channel.eventLoop, client: client, log: log)
    let bound = NIOLoopBound(connection, eventLoop: channel.eventLoop)
    let (ofConnection, ofStreams) = connection.configuration
    let frames = NIOHTTP2Handler(
      mode: .server, eventLoop: channel.eventLoop, connectionConfiguration: ofConnection,
      streamConfiguration: ofStreams
    ) { stream in
      stream.eventLoop.makeCompletedFuture {
        try stream.pipeline.syncOperations.addHandler(ClientStream(bound.value))
      }
    }
    try channel.pipeline.syncOperations.addHandlers(
      connection.unread, connection.sent, frames, connection)
    return connection
  }

  /// Maximum bytes of a request's content that a client may send before a reader wants them: the window of a stream (RFC 9113
  /// §6.9.2), whose size in HTTP/2 is this one from the beginning.
  static let window = 65_535

  private var configuration: (NIOHTTP2Handler.ConnectionConfiguration, NIOHTTP2Handler.StreamConfiguration) {
    var connection = NIOHTTP2Handler.ConnectionConfiguration()
    // ``ClientRequest`` and ``ClientStreamStateMachine`` check requests, so that a malformed one gets a response and a line in
    // the log, and their fields are not checked twice: that took 6 % of a hit.
    connection.headerBlockValidation = .disabled
    connection.contentLengthValidation = .disabled
    // The reader of a request's fields refuses it at its own limits, with a response. A client that exceeds this one, which
    // has 32 bytes more for each field (§6.5.2), loses the connection.
    let listSize = limits.headBytes + 32 * limits.headFields
    connection.initialSettings = [
      HTTP2Setting(parameter: .maxConcurrentStreams, value: limits.streamsPerConnection),
      HTTP2Setting(parameter: .maxHeaderListSize, value: listSize),
    ]
    if context.configuration.allowsUpgrade {
      connection.initialSettings.append(HTTP2Setting(parameter: .enableConnectProtocol, value: 1))
    }
    // Twice as many early responses to uploads, whose clients still send, as there can be.
    connection.maximumRecentlyResetStreams = 2 * limits.streamsPerConnection
    // A frame has at least 16 KiB, if the client has so much to send.
    connection.maximumSequentialContinuationFrames = listSize / (16 << 10) + 1
    var streams = NIOHTTP2Handler.StreamConfiguration()
    streams.targetWindowSize = Self.window
    // A browser cancels what its user scrolls past, and a proxy has the requests of many clients, of whom some leave.
    streams.streamResetFrameRateLimit.maximumCount = isPeerTrusted ? 10_000 : 1000
    return (connection, streams)
  }

  var timeouts: ProxyConfiguration.Timeouts {
    let timeouts = context.settings.value.timeouts
    return isPeerTrusted ? timeouts.ofTrustedPeer : timeouts
  }

  // MARK: - Channel

  func handlerAdded(context: ChannelHandlerContext) {
    channelContext = context
    let bound = NIOLoopBound(self, eventLoop: loop)
    unread.onExcess = { bound.value.lookAtUnreadLater() }
    // The client may have left before it has the settings.
    if context.channel.isActive { checkTime() }
  }

  func channelActive(context: ChannelHandlerContext) {
    checkTime()
    context.fireChannelActive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    channelContext = nil
    // They refer to each other.
    place = nil
    unread.onExcess = {}
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data).payload {
    case .settings(.settings(let settings)): for setting in settings { handle(setting, context) }
    case .windowUpdate(let increment):
      hasOpenedWindow = true
      window += increment
      writeOn()
    case .ping(Self.announcement, ack: true): perform(machine.announced(at: loop.now))
    default: break
    }
  }

  private func handle(_ setting: HTTP2Setting, _ context: ChannelHandlerContext) {
    switch setting.parameter {
    case .initialWindowSize:
      // The windows of open streams are now smaller, perhaps negative. `NIOHTTP2Handler` ends the process when it sends an empty
      // frame in a negative window. So these streams end before it sends anything. Real clients do not shrink windows.
      if setting.value < initialWindow { for stream in Array(streams.values) { stream.giveUp() } }
      initialWindow = setting.value
      for stream in Array(streams.values) { stream.windowMayHaveOpened() }
    case .headerTableSize where setting.value > 64 << 10:
      // `NIOHTTP2Handler` lets its table grow up to this size. Browsers say 64 KiB.
      fail("SETTINGS_HEADER_TABLE_SIZE is \(setting.value)", context)
    default: break
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    readOn(context)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    readOn(context)
    context.fireChannelWritabilityChanged()
  }

  /// Called by a stream that wants content, too.
  func read(context: ChannelHandlerContext) { readOn(context) }

  private func readOn(_ context: ChannelHandlerContext) {
    if context.channel.isWritable, machine.isReading { context.read() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // A client that sends no more can open no windows.
    if case ChannelEvent.inputClosed = event { context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    machine.closed()
    timer?.cancel()
    timer = nil
    context.fireChannelInactive()
  }

  /// `NIOHTTP2Handler` reports errors of streams here, too, such as a window that grows by nothing. It does not tell them apart
  /// from those of the connection, for which it has sent GOAWAY. Only a client that ignores the protocol causes them.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    case is NIOHTTP2Errors.StreamError: return
    // What the client sent before it knew of GOAWAY.
    case is NIOHTTP2Errors.NoSuchStream where machine.state != .open: return
    case is NIOHTTP2Errors.IOOnClosedConnection where machine.state != .open: return
    // The client has left; the end of the connection follows.
    case is IOError: return
    case let failure as TLSFailure where failure.kind == .truncated: return
    default: fail("\(error)", context)
    }
  }

  /// Looks after the streams have read what has just arrived.
  private func lookAtUnreadLater() {
    guard !looksAtUnread else { return }
    looksAtUnread = true
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.execute { bound.value.lookAtUnread() }
  }

  private func lookAtUnread() {
    looksAtUnread = false
    for stream in streams.values { stream.readRest() }
    unread.hasReadOthers()
    unread.keep(only: Set(streams.values.compactMap(\.number)))
    guard unread.isExcessive, let channelContext else { return }
    fail("more than \(unread.limit) pieces of content wait", channelContext)
  }

  private func fail(_ reason: String, _ context: ChannelHandlerContext) {
    let action = machine.failed(at: loop.now)
    guard action != .none else { return }
    self.context.logger.debug("connection of HTTP/2 failed", metadata: ["reason": "\(reason)"])
    self.context.statistics.http2Failures.increment()
    perform(action)
  }

  // MARK: - Streams

  /// Records a stream that the client has opened.
  func opened(_ stream: ClientStream) {
    if machine.isIdle { place?.began() }
    machine.streamOpened()
    streams[ObjectIdentifier(stream)] = stream
  }

  func closed(_ stream: ClientStream) {
    guard streams.removeValue(forKey: ObjectIdentifier(stream)) != nil else { return }
    line.removeAll { $0 === stream }
    let action = machine.streamClosed(at: loop.now)
    if machine.isIdle { place?.becameIdle(at: loop.now) }
    perform(action)
  }

  // MARK: - Room

  /// How many more bytes of content the streams may write now. What is written stays in memory until the socket takes it, so
  /// it is as much as fits into the window of the connection, and one piece for all streams.
  var room: Int {
    Swift.max(0, Swift.min(window - sent.total, Responder.piece(context)) - pending)
  }

  private enum LineState {
    case waits
    /// Streams write, one after the other.
    case writes
    /// They write on later.
    case pauses
  }

  /// Lets a stream write when there is room, after those that already wait.
  func wait(_ stream: ClientStream) {
    stream.waiting = .turn
    line.append(stream)
    writeOn()
  }

  /// Records bytes that a stream has written, until the socket has taken them, or they are not sent.
  ///
  /// - Parameter next: the stream, if it writes on then.
  func wrote(_ count: Int, until written: EventLoopFuture<Void>, next: ClientStream?) {
    pending += count
    context.cache.transit.change(by: count)
    let bound = NIOLoopBound((self, next), eventLoop: loop)
    written.whenComplete { result in
      let (connection, next) = bound.value
      connection.pending -= count
      connection.context.cache.transit.change(by: -count)
      if case .success = result, let next, next.channelContext != nil {
        next.waiting = .turn
        // The rest of a block would stay in memory meanwhile, or be read again.
        if next.content?.hasBlock == true {
          connection.line.prepend(next)
        } else {
          connection.line.append(next)
        }
      }
      // Within a flush, the channel would take none of the next writes at once, and the block of a file might be dropped.
      connection.writeOnLater { connection.loop.execute($0) }
    }
  }

  /// Lets streams write while there is room. What they write may be taken at once, and call it again.
  private func writeOn() {
    guard lineState == .waits else { return }
    lineState = .writes
    var count = 0
    while count < OutgoingContent.turn, room > 0, let stream = line.popFirst() { count += stream.writeOn() }
    lineState = .waits
    if line.isEmpty { return }
    for stream in line { stream.waitForClient() }
    if count >= OutgoingContent.turn { writeOnLater { LoopTurns.of(loop).doLater($0) } }
  }

  private func writeOnLater(_ run: (@escaping @Sendable () -> Void) -> Void) {
    guard lineState == .waits, !line.isEmpty else { return }
    lineState = .pauses
    let bound = NIOLoopBound(self, eventLoop: loop)
    run {
      bound.value.lineState = .waits
      bound.value.writeOn()
    }
  }

  // MARK: - Time and end

  var isIdle: Bool { machine.isIdle }

  func drain(isPatient: Bool) { perform(machine.stop(at: loop.now)) }

  private func perform(_ action: ClientHTTP2StateMachine.Action) {
    guard let channelContext else { return }
    switch action {
    case .none: break
    case .armTimer(let deadline):
      guard channelContext.channel.isActive else { break }
      timer?.cancel()
      let bound = NIOLoopBound(self, eventLoop: loop)
      timer = loop.scheduleTask(deadline: deadline) { bound.value.checkTime() }
    case .announce:
      sendGoAway(.maxID, channelContext)
      let ping = HTTP2Frame(streamID: .rootStream, payload: .ping(Self.announcement, ack: false))
      channelContext.writeAndFlush(wrapOutboundOut(ping), promise: nil)
      checkTime()
    case .sendLastStream:
      sendGoAway(HTTP2StreamID(sent.lastStream), channelContext)
      channelContext.flush()
    case .endOutput:
      let written = loop.makePromise(of: Void.self)
      let bound = NIOLoopBound(self, eventLoop: loop)
      written.futureResult.whenComplete { _ in
        // All bytes before it are written, too.
        bound.value.channelContext?.close(mode: .output, promise: nil)
        bound.value.checkTime()
      }
      sendGoAway(HTTP2StreamID(sent.lastStream), channelContext, written)
      channelContext.flush()
      checkTime()
    case .close: channelContext.close(promise: nil)
    }
  }

  private static let announcement = HTTP2PingData(withInteger: 0x676F_6177_6179)

  private func sendGoAway(
    _ last: HTTP2StreamID, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>? = nil
  ) {
    let payload = HTTP2Frame.FramePayload.goAway(lastStreamID: last, errorCode: .noError, opaqueData: nil)
    context.write(wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: payload)), promise: promise)
  }

  private func checkTime() {
    guard let channelContext else { return }
    let (timeouts, channel) = (timeouts, channelContext.channel)
    let hasAdvanced = uptake.hasAdvanced(channel)
    let isBuffered = (try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 > 0
    // A stream whose bytes the socket has taken waits for its own window.
    hasTaken = isBuffered && hasAdvanced
    for stream in Array(streams.values) { stream.checkTime(stall: timeouts.stall) }
    hasOpenedWindow = false
    let state: ClientHTTP2StateMachine.Uptake =
      hasAdvanced ? .some : isBuffered || uptake.isWaiting ? .none : .whole
    perform(machine.checkTime(at: loop.now, timeouts, state))
  }
}
