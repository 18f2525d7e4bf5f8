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
/// `NIOHTTP2Handler`, before it, has the frames, the compression of fields, the flow control, and the limits of what makes
/// a server work in vain: resets (CVE-2023-44487), errors, CONTINUATION, SETTINGS, PING, PRIORITY and empty frames. Here is
/// what belongs to the proxy: the connection's place among the others, its time, and its end.
///
/// The socket is not read while it does not take what was written. Otherwise a client that takes nothing could send requests
/// forever: for `NIOHTTP2Handler` a response has ended, and makes room for the next stream, when it is written.
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
  private let isPeerTrusted: Bool
  let tlsVersion: String?
  private var machine: ClientHTTP2StateMachine
  private var channelContext: ChannelHandlerContext?
  private var streams: [ObjectIdentifier: ClientStream] = [:]
  private var timer: Scheduled<Void>?
  private var uptake = PeerUptake()
  /// Whether the client has taken bytes of the connection since the last look.
  private(set) var hasTaken = false
  var place: ConnectionPlace?

  private init(
    _ context: ProxyContext, on loop: any EventLoop, client: ConnectionOpening.Client, log: AccessLogLines?
  ) {
    (self.context, self.loop, self.log) = (context, loop, log)
    (forwarder, isPeerTrusted, tlsVersion) = (client.forwarder, client.isPeerTrusted, client.tlsVersion)
    limits = context.settings.value.limits
    responseFields = HTTP2ResponseFields(name: context.configuration.name, dates: DateCache())
    machine = ClientHTTP2StateMachine(at: loop.now)
  }

  /// Adds the handlers of a connection to its channel.
  static func add(
    to channel: any Channel, _ context: ProxyContext, client: ConnectionOpening.Client, log: AccessLogLines?
  ) throws -> ClientHTTP2Connection {
    let connection = ClientHTTP2Connection(context, on: channel.eventLoop, client: client, log: log)
    let bound = NIOLoopBound(connection, eventLoop: channel.eventLoop)
    // It sends GOAWAY so that no request is lost: once to announce it, and again when the client knows (RFC 9113 §6.8).
    let ending = NIOHTTP2ServerConnectionManagementHandler(
      eventLoop: channel.eventLoop,
      configuration: .init(maxIdleTime: nil, maxAge: nil, maxGraceTime: nil, keepalive: nil))
    let (ofConnection, ofStreams) = connection.configuration
    let frames = NIOHTTP2Handler(
      mode: .server, eventLoop: channel.eventLoop, connectionConfiguration: ofConnection,
      streamConfiguration: ofStreams, streamDelegate: ending.http2StreamDelegate
    ) { stream in
      stream.eventLoop.makeCompletedFuture {
        try stream.pipeline.syncOperations.addHandler(ClientStream(bound.value))
      }
    }
    try channel.pipeline.syncOperations.addHandlers(frames, ending, connection)
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
    // A frame has at least 16 KiB, if the client has so much to send.
    connection.maximumSequentialContinuationFrames = listSize / (16 << 10) + 1
    var streams = NIOHTTP2Handler.StreamConfiguration()
    streams.targetWindowSize = Self.window
    return (connection, streams)
  }

  var timeouts: ProxyConfiguration.Timeouts {
    let timeouts = context.settings.value.timeouts
    return isPeerTrusted ? timeouts.ofTrustedPeer : timeouts
  }

  // MARK: - Channel

  func handlerAdded(context: ChannelHandlerContext) {
    channelContext = context
    checkTime()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    channelContext = nil
    // They refer to each other.
    place = nil
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    readOn(context)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    readOn(context)
    context.fireChannelWritabilityChanged()
  }

  private func readOn(_ context: ChannelHandlerContext) {
    if context.channel.isWritable, machine.state != .closed { context.read() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // A client that sends no more can open no windows, and reads no GOAWAY.
    if case ChannelEvent.inputClosed = event { context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    machine.closed()
    timer?.cancel()
    timer = nil
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    // The stream has seen it.
    case is NIOHTTP2Errors.StreamError: return
    // The end of the connection follows.
    case let failure as TLSFailure where failure.kind == .truncated: return
    // A stream that the client opened before it knew of GOAWAY.
    case is NIOHTTP2Errors.NoSuchStream: if case .ending = machine.state { return }
    default: break
    }
    self.context.logger.debug("connection of HTTP/2 ended", metadata: ["reason": "\(error)"])
    guard machine.state != .closed else { return }
    machine.closed()
    // The client gets GOAWAY, if it still reads, and nothing more is read from it.
    context.close(mode: .output, promise: nil)
    let channel = context.channel
    timer?.cancel()
    timer = loop.scheduleTask(in: ClientConnectionStateMachine.lingering) { channel.close(promise: nil) }
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
    machine.streamClosed(at: loop.now)
    if machine.isIdle { place?.becameIdle(at: loop.now) }
  }

  // MARK: - Time and end

  var isIdle: Bool { machine.isIdle }

  func drain() { perform(machine.stop()) }

  private func perform(_ action: ClientHTTP2StateMachine.Action) {
    guard let channelContext else { return }
    switch action {
    case .none: break
    case .armTimer(let deadline):
      timer?.cancel()
      let bound = NIOLoopBound(self, eventLoop: loop)
      timer = loop.scheduleTask(deadline: deadline) { bound.value.checkTime() }
    case .goAway:
      channelContext.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
      checkTime()
    case .close: channelContext.close(promise: nil)
    }
  }

  private func checkTime() {
    guard let channelContext else { return }
    let timeouts = timeouts
    // Bytes wait for the socket. If none do, a stream with bytes waits for its window.
    hasTaken = !channelContext.channel.isWritable && uptake.hasAdvanced(channelContext.channel)
    for stream in Array(streams.values) { stream.checkTime(stall: timeouts.stall) }
    perform(machine.checkTime(at: loop.now, timeouts))
  }
}
