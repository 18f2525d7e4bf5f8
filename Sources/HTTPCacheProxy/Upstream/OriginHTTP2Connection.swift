// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCacheStore
import HTTPCaching
import NIOCore
import NIOHTTP2
import TransportSecurity

/// A connection of HTTP/2 to the origin (RFC 9113), which carries requests on streams (``OriginStream``).
///
/// `NIOHTTP2Handler`, before it, has the frames, the compression of fields and the flow control. Here is what belongs to the
/// proxy: how many requests the origin allows, when the connection serves no more of them, its time, and its end.
///
/// ``OriginPool`` decides which requests come here, so the handler reports what it must know.
///
/// The handler lives on its event loop; its ``Handle`` may be used from any thread.
final class OriginHTTP2Connection: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame

  /// What ``OriginPool`` must know.
  enum Event {
    /// The origin allows so many requests at once.
    case limit(Int)
    /// No further request may be sent.
    case retired
    case requestEnded
    /// There was no request for as long as an idle connection is kept.
    case idleForLong
  }

  /// A connection that is ready for a request, for other threads.
  struct Handle: Sendable {
    let channel: any Channel
    let connection: NIOLoopBound<OriginHTTP2Connection>
  }

  /// Maximum requests at once on a connection, even if the origin allows more: they share the window of one socket.
  static let streamLimit = 100
  /// The number of streams that the proxy has reset, because clients left, at which a connection gets no further requests.
  ///
  /// Servers end a connection, with all that it carries, whose client resets many streams (CVE-2023-44487): SwiftNIO and Netty
  /// allow 200 in 30 seconds. The ``streamLimit`` requests in progress may be reset, too.
  static let resetLimit = 100
  /// Maximum bytes of a response that the origin may send before a reader wants them (RFC 9113 §6.9.2): what a feed holds.
  static let window = BodyFeed.limit
  /// Maximum pieces of content that wait in all streams: a window of each in the segments of a network has 20,000.
  private static let unreadPieces = 65_536

  let channel: any Channel
  let loop: any EventLoop
  let limits: ProxyConfiguration.HeadLimits
  let timeouts: ProxyConfiguration.Origin.Timeouts
  let transit: TransitBudget
  let scheme: String
  // An origin may send many interim responses before one is read.
  let unread = UnreadContent(limit: OriginHTTP2Connection.unreadPieces, preface: 0, headPieces: 64)
  private let liveCount = LiveCount(.originConnection)
  private let report: @Sendable (Handle, Event) -> Void
  private let idleTime: TimeAmount
  private(set) var multiplexer: NIOHTTP2Handler.StreamMultiplexer?
  /// Succeeds with the origin's settings.
  private let settled: EventLoopPromise<Void>
  private var streams: [ObjectIdentifier: OriginStream] = [:]
  /// Maximum requests at once.
  private(set) var limit = OriginHTTP2Connection.streamLimit
  /// Whether no further request may be sent.
  private(set) var isRetired = false
  /// The last stream that the origin has looked at, or may look at, once it has said so (§6.8).
  private(set) var lastStream: Int?
  /// The frames that were sent.
  let sent = SentFrames()
  /// Why the connection has ended.
  private(set) var failure: OriginError?
  /// When bytes arrived from the origin for the last time.
  private(set) var received: NIODeadline
  /// The window that the origin gives to new streams, in bytes.
  private(set) var initialWindow = 65_535
  /// Whether the origin has opened the window of the connection since the last check.
  private var hasOpenedWindow = false
  private var idleSince: NIODeadline
  private var timer: (task: Scheduled<Void>, deadline: NIODeadline)?
  private var uptake = PeerUptake()
  private var context: ChannelHandlerContext?

  private init(
    _ channel: any Channel, limits: ProxyConfiguration.HeadLimits,
    timeouts: ProxyConfiguration.Origin.Timeouts,
    transit: TransitBudget, scheme: String, report: @escaping @Sendable (Handle, Event) -> Void
  ) {
    (self.channel, loop, self.limits, self.timeouts) = (channel, channel.eventLoop, limits, timeouts)
    (self.transit, self.scheme, self.report) = (transit, scheme, report)
    settled = channel.eventLoop.makePromise()
    (received, idleSince) = (channel.eventLoop.now, channel.eventLoop.now)
    idleTime = timeouts.idleTime(isEncrypted: scheme == "https").timeAmount
  }

  /// Adds the handlers of a connection to its channel.
  ///
  /// - Parameters:
  ///   - deadline: when the origin must have sent its settings.
  ///   - scheme: that of the requests' URIs.
  /// - Returns: the connection, once the origin has sent its settings: what it allows, and that it has HTTP/2 at all.
  static func add(
    to channel: any Channel, by deadline: NIODeadline, limits: ProxyConfiguration.HeadLimits,
    timeouts: ProxyConfiguration.Origin.Timeouts,
    transit: TransitBudget, scheme: String, report: @escaping @Sendable (Handle, Event) -> Void
  ) throws -> EventLoopFuture<Handle> {
    let connection = OriginHTTP2Connection(
      channel, limits: limits, timeouts: timeouts, transit: transit, scheme: scheme, report: report)
    let (ofConnection, ofStreams) = connection.configuration
    let frames = NIOHTTP2Handler(
      mode: .client, eventLoop: channel.eventLoop, connectionConfiguration: ofConnection,
      streamConfiguration: ofStreams
    ) { $0.close() }
    do {
      try channel.pipeline.syncOperations.addHandlers(
        connection.unread, connection.sent, frames, connection)
      connection.multiplexer = try frames.syncMultiplexer()
    } catch {
      connection.settled.fail(error)
      throw error
    }
    let (handle, settled) = (connection.handle(), connection.settled.futureResult)
    let timer = channel.eventLoop.scheduleTask(deadline: deadline) {
      handle.connection.value.end(
        OriginError(.connectionTimeout, "the origin has sent no settings of HTTP/2 in time"))
    }
    settled.whenComplete { _ in timer.cancel() }
    return settled.map { handle }
  }

  private var configuration: (NIOHTTP2Handler.ConnectionConfiguration, NIOHTTP2Handler.StreamConfiguration) {
    var connection = NIOHTTP2Handler.ConnectionConfiguration()
    // The stream checks all of it, and so needs no second check.
    connection.headerBlockValidation = .disabled
    connection.contentLengthValidation = .disabled
    // The reader of a response's fields refuses it at its own limits, which then ends one stream, and not the connection.
    let listSize = 4 * (limits.headBytes + 32 * limits.fields)
    connection.initialSettings = [
      HTTP2Setting(parameter: .enablePush, value: 0),
      HTTP2Setting(parameter: .initialWindowSize, value: Self.window),
      HTTP2Setting(parameter: .maxHeaderListSize, value: listSize),
    ]
    connection.maximumSequentialContinuationFrames = listSize / (16 << 10) + 1
    // All streams share it, and the proxy takes what arrives.
    connection.targetWindowSize = 4 * Self.window
    // What an origin sends for streams that clients have left, it may have sent before it knew.
    connection.maximumRecentlyResetStreams = 1024
    connection.maximumSequentialEmptyDataFrames = 1000
    // gRPC's servers measure the network with PING.
    connection.controlFrameRateLimit.maximumCount = 2000
    var streams = NIOHTTP2Handler.StreamConfiguration()
    streams.targetWindowSize = Self.window
    // An origin that has too much to do refuses many requests.
    streams.streamResetFrameRateLimit.maximumCount = 10_000
    return (connection, streams)
  }

  private func handle() -> Handle {
    Handle(channel: channel, connection: NIOLoopBound(self, eventLoop: loop))
  }

  // MARK: - Channel

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    let bound = NIOLoopBound(self, eventLoop: loop)
    unread.onExcess = {
      // After the streams have read what has just arrived.
      bound.value.loop.execute { bound.value.lookAtUnread() }
    }
    if context.channel.isActive { context.read() }
  }

  func channelActive(context: ChannelHandlerContext) {
    context.fireChannelActive()
    context.read()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    multiplexer = nil
    unread.onExcess = {}
    stopTimer()
    settled.fail(failure ?? ended)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data).payload {
    case .settings(.settings(let settings)): handle(settings)
    case .goAway(let last, _, _):
      lastStream = Int(last)
      retire()
      for stream in Array(streams.values) { stream.stopUnsent() }
    case .windowUpdate: hasOpenedWindow = true
    default: break
    }
  }

  private func handle(_ settings: HTTP2Settings) {
    for setting in settings {
      switch setting.parameter {
      case .maxConcurrentStreams: limit = Swift.min(setting.value, Self.streamLimit)
      // See ClientHTTP2Connection: `NIOHTTP2Handler` ends the process when it sends an empty frame in a negative window, and
      // has no limit of its own for the table.
      case .initialWindowSize:
        if setting.value < initialWindow {
          for stream in Array(streams.values) where stream.hasContentToSend {
            stream.close(OriginError(.protocolError, "the origin has made the window of the stream smaller"))
          }
        }
        initialWindow = setting.value
      case .headerTableSize where setting.value > 64 << 10:
        return fail("SETTINGS_HEADER_TABLE_SIZE is \(setting.value)")
      default: break
      }
    }
    settled.succeed()
    report(handle(), .limit(limit))
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    received = loop.now
    context.fireChannelReadComplete()
    // What the streams do not want is bounded by their windows.
    context.read()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    case let failure as TLSFailure: end(OriginError(failure))
    case is IOError: end(OriginError(error))
    // It concerns a stream, which learns of it.
    case is any NIOHTTP2Error where !sent.hasGoAway: return
    default: fail("\(error)")
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    retire()
    stopTimer()
    settled.fail(failure ?? ended)
    context.fireChannelInactive()
  }

  private func lookAtUnread() {
    // The origin sends them while it receives a request, and a stream that sends one reads.
    unread.hasReadOthers()
    unread.keep(only: Set(streams.values.compactMap(\.number)))
    // A reader that takes nothing must not end what others read.
    while unread.isExcessive, let number = unread.fullest {
      unread.clear(number)
      streams.values.first { $0.number == number }?
        .close(OriginError(.protocolError, "more than \(unread.limit) pieces of content wait"))
    }
  }

  private func fail(_ reason: String) {
    end(OriginError(.protocolError, "the origin's connection of HTTP/2 failed: \(reason)"))
  }

  private func end(_ error: OriginError) {
    guard failure == nil else { return }
    failure = error
    retire()
    context?.close(promise: nil)
  }

  private var ended: OriginError {
    OriginError(.connectionTerminated, "the origin closed the connection without a response")
  }

  /// Sends no further requests. Those in flight go on.
  func retire() {
    guard !isRetired else { return }
    isRetired = true
    report(handle(), .retired)
  }

  // MARK: - Streams

  func began(_ stream: OriginStream) { streams[ObjectIdentifier(stream)] = stream }

  /// Records that a stream has ended, whose request may never have been sent.
  func ended(_ stream: OriginStream) {
    if sent.resets >= Self.resetLimit { retire() }
    if streams.removeValue(forKey: ObjectIdentifier(stream)) != nil { requestEnded() }
  }

  /// Records that a request has ended, or that the one that the connection was made for was given up before.
  func requestEnded() {
    if streams.isEmpty {
      idleSince = loop.now
      armTimer(by: idleSince + idleTime)
    }
    report(handle(), .requestEnded)
  }

  // MARK: - Time

  /// Sets the timer, unless it fires earlier. The streams share it.
  func armTimer(by deadline: NIODeadline) {
    if let timer, timer.deadline <= deadline { return }
    guard let context, context.channel.isActive else { return }
    stopTimer()
    let bound = NIOLoopBound(self, eventLoop: loop)
    timer = (loop.scheduleTask(deadline: deadline) { bound.value.checkTime() }, deadline)
  }

  private func stopTimer() {
    timer?.task.cancel()
    timer = nil
  }

  private func checkTime() {
    timer = nil
    // What waits for its turn waits for what is in the socket or the kernel, or for the window of the connection.
    let hasTaken = uptake.hasAdvanced(channel) || hasOpenedWindow
    hasOpenedWindow = false
    for stream in Array(streams.values) {
      if let deadline = stream.checkTime(hasTaken: hasTaken) { armTimer(by: deadline) }
    }
    guard streams.isEmpty else { return }
    let deadline = idleSince + idleTime
    if deadline <= loop.now { report(handle(), .idleForLong) } else { armTimer(by: deadline) }
  }
}
