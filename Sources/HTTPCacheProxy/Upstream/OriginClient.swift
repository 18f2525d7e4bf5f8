// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheObserving
import HTTPCaching
import NIOCore
import NIOPosix

/// Sends requests to the origin over a small pool of connections.
///
/// This is the proxy's own client instead of AsyncHTTPClient, because a proxy needs what that client hides. It needs
/// interim responses (which that client drops), trailers, fields in their order and case, and `Host` as the client sent
/// it. It also decides when a connection is reused, and when a request is repeated. It decodes nothing, and follows no
/// redirect.
final class OriginClient: Sendable {
  private let settings: CurrentConfiguration
  private let group: any EventLoopGroup
  private let statistics: ProxyStatistics
  private let pool = Mutex(Pool())
  private let health = Mutex(OriginHealth())
  private let probe = Mutex<Task<OriginHealth.State, Never>?>(nil)
  private let transit: TransitBudget
  private let channels = OpenChannels()
  let via: String

  private struct Pool {
    var idle: [OriginConnection.Handle] = []
    var isClosed = false
  }

  /// - Parameter transit: the budget that counts content from its arrival until its readers take it.
  init(
    _ settings: CurrentConfiguration, group: any EventLoopGroup, statistics: ProxyStatistics,
    transit: TransitBudget
  ) {
    self.settings = settings
    self.transit = transit
    self.group = group
    self.statistics = statistics
    via = settings.value.name
  }

  /// The event loops' time, which tests can set.
  private var now: NIODeadline { group.any().now }

  /// The data of one call of the transport.
  struct Call: Sendable {
    /// The client's HTTP version (RFC 9110 §7.6.3).
    var minorVersion: Int
    var expectsContinue: Bool
    /// The client's event loop, on which the connection to the origin should be too.
    var loop: any EventLoop
    /// Provides the trailers, once the content of the response has been read.
    var trailers: TrailerSource
    var interim: InterimWrites
  }

  /// Remembers that an interim response is being written to the client. The next one is read after the client, or the
  /// kernel, has taken this one.
  final class InterimWrites: Sendable {
    private let last = Mutex<EventLoopFuture<Void>?>(nil)

    func set(_ write: EventLoopFuture<Void>) { last.withLock { $0 = write } }

    /// Also ends with the client's connection, which the stall time-out closes.
    func wait() async {
      let write = last.withLock { last in
        defer { last = nil }
        return last
      }
      try? await write?.get()
    }
  }

  /// Remembers the trailers of a response that comes straight from the origin.
  final class TrailerSource: Sendable {
    private let feed = Mutex<BodyFeed?>(nil)

    func set(_ feed: BodyFeed?) { self.feed.withLock { $0 = feed } }
    var fields: HTTPFields? { feed.withLock { $0 }?.trailers }
  }

  // MARK: - Requests

  func send(_ request: HTTPRequest, _ body: MessageBody, _ call: Call) async throws -> TransportResponse {
    try await counting { try await attempt(request, body, call) }
  }

  /// Counts a request to the origin, and records whether the origin responded.
  func counting<Response>(_ exchange: () async throws -> Response) async throws -> Response {
    statistics.originRequests.increment()
    do {
      let response = try await exchange()
      health.withLock { $0.exchangeEnded(nil, at: now) }
      return response
    } catch let error as OriginError {
      // A client that leaves is not an error of the origin: the connection to the origin is then closed here, too. Nor is
      // a shortage in this process.
      if !Task.isCancelled, error.kind != .proxyInternalError {
        statistics.originErrors.increment()
        health.withLock { $0.exchangeEnded(error.kind, at: now) }
      }
      throw error
    }
  }

  private func attempt(_ request: HTTPRequest, _ body: MessageBody, _ call: Call) async throws
    -> TransportResponse
  {
    if let connection = checkOut(preferring: call.loop) {
      do {
        return try await exchange(request, body, call, connection)
      } catch let error as OriginError
        where !Task.isCancelled
        && error.allowsRetry(request.method, hasContent: body.isInMemory)
      {
        // The origin closed the idle connection while the request was in flight (RFC 9112 §9.3.1). Make one more
        // attempt, on a new connection: another idle one may be closing as well.
        statistics.originRetries.increment()
      }
    }
    // The event loops may be gone, and would never answer.
    if pool.withLock({ $0.isClosed }) { throw OriginError(.destinationUnavailable, "the proxy has stopped") }
    let connection = try await connect(on: call.loop)
    guard !Task.isCancelled else {
      // The client left while the connection was being made, which cannot be cancelled: send no request.
      connection.close()
      throw CancellationError()
    }
    return try await exchange(request, body, call, connection)
  }

  private func exchange(
    _ request: HTTPRequest, _ body: MessageBody, _ call: Call, _ connection: OriginConnection.Handle
  ) async throws -> TransportResponse {
    let isWhole = body.isInMemory
    var head = RequestWriter.head(
      request, body, expects: call.expectsContinue && !isWhole, via: "1.\(call.minorVersion) \(via)",
      allocator: connection.channel.allocator)
    body.withBytes { $0.withUnsafeBytes { _ = head.writeBytes($0) } }
    let reply = connection.start(head, method: request.method, isWhole: isWhole)
    if !isWhole { sendContent(body, of: call, connection, reply) }
    return try await response(reply, connection, call)
  }

  /// Sends the content while the response is awaited.
  private func sendContent(
    _ body: MessageBody, of call: Call, _ connection: OriginConnection.Handle,
    _ reply: EventLoopFuture<OriginConnection.Reply>
  ) {
    let isChunked = body.length == nil
    let sending = Task { [settings] in
      do {
        // Content that was read is gone: do not read it if the request was not sent, because the second attempt needs
        // it.
        guard try await connection.isSending() else { return }
        if call.expectsContinue {
          let loop = connection.channel.eventLoop
          let promise = loop.makePromise(of: Bool.self)
          reply.whenSuccess { promise.succeed($0.isInterim) }
          reply.whenFailure { _ in promise.succeed(false) }
          let timer = loop.scheduleTask(in: settings.value.timeouts.expect.timeAmount) {
            promise.succeed(true)
          }
          defer { timer.cancel() }
          // The origin has responded without the content: the connection ends with the response.
          guard try await promise.futureResult.get() else { return }
        }
        for try await chunk in body where !chunk.isEmpty {
          var bytes = connection.channel.allocator.buffer(capacity: chunk.count + 24)
          if isChunked { bytes.writeString(String(chunk.count, radix: 16) + "\r\n") }
          bytes.writeBytes(chunk)
          if isChunked { bytes.writeString("\r\n") }
          try await connection.send(bytes)
        }
        if isChunked { try await connection.send(ByteBuffer(string: "0\r\n\r\n")) }
        connection.finishSending()
      } catch {
        // The client stopped sending, or the content is no longer wanted: half a request is invalid.
        connection.close()
      }
    }
    connection.attach(sending)
  }

  private func response(
    _ reply: EventLoopFuture<OriginConnection.Reply>, _ connection: OriginConnection.Handle, _ call: Call
  ) async throws -> TransportResponse {
    var pending = reply
    while true {
      let reply = try await withTaskCancellationHandler { [pending] in
        try await pending.get()
      } onCancel: {
        connection.close()
      }
      guard reply.isInterim else { return final(reply, call) }
      // The server of the client's connection sends 100 itself, when the content is wanted.
      if reply.head.status.code == 100 {
        pending = connection.next()
        continue
      }
      return TransportResponse(interim: reply.head) { [self] in
        await call.interim.wait()
        return try await response(connection.next(), connection, call)
      }
    }
  }

  func final(_ reply: OriginConnection.Reply, _ call: Call) -> TransportResponse {
    call.trailers.set(reply.feed)
    guard let feed = reply.feed else { return TransportResponse(head: reply.head) }
    // A small response usually arrives in one piece: it is stored and sent as one, without readers and their waiting.
    if let length = reply.length, let content = feed.takeWhole(length) {
      return TransportResponse(head: reply.head, body: MessageBody(content))
    }
    return TransportResponse(head: reply.head, body: MessageBody(FeedReader(feed), length: reply.length))
  }

  // MARK: - Health

  /// Whether the origin responded recently. If that is unknown, connects to it; concurrent callers share one attempt.
  func state() async -> OriginHealth.State {
    if let known = health.withLock({ $0.state(at: now) }) { return known }
    let task = probe.withLock { probe in
      if let probe { return probe }
      let task = Task { [self] in
        let kind = await probeKind()
        health.withLock { $0.probeEnded(kind, at: now) }
        self.probe.withLock { $0 = nil }
        return kind.map { OriginHealth.State.unreachable($0) } ?? .ready
      }
      probe = task
      return task
    }
    return await task.value
  }

  /// Returns why the origin accepts no connection; `nil` if it does.
  private func probeKind() async -> OriginError.Kind? {
    let origin = settings.value.origin
    do {
      let channel = try await ClientBootstrap(group: group).connectTimeout(OriginHealth.probeTimeout)
        .connect(host: origin.host, port: origin.port).get()
      channel.close(promise: nil)
      return nil
    } catch {
      return Self.kind(of: error)
    }
  }

  // MARK: - Connections

  /// Returns the idle connection of this event loop that was used last. If the loop has none, returns one of another loop.
  private func checkOut(preferring loop: any EventLoop) -> OriginConnection.Handle? {
    let now = self.now
    let (found, old): (OriginConnection.Handle?, [OriginConnection.Handle]) = pool.withLock { pool in
      var old: [OriginConnection.Handle] = []
      while !pool.idle.isEmpty {
        let last = pool.idle.lastIndex { $0.channel.eventLoop === loop } ?? pool.idle.endIndex - 1
        let connection = pool.idle.remove(at: last)
        if connection.channel.isActive, connection.deadline > now { return (connection, old) }
        old.append(connection)
      }
      return (nil, old)
    }
    for connection in old { connection.close() }
    return found
  }

  private func checkIn(_ connection: OriginConnection.Handle) {
    let now = self.now
    let limit = settings.value.limits.idleOriginConnections
    let old: [OriginConnection.Handle] = pool.withLock { pool in
      if pool.isClosed { return [connection] }
      // Connections that were idle longest come first.
      var old = Array(pool.idle.prefix { $0.deadline <= now || !$0.channel.isActive })
      pool.idle.removeFirst(old.count)
      if pool.idle.count >= limit {
        old.append(connection)
      } else {
        pool.idle.append(connection)
      }
      return old
    }
    for connection in old { connection.close() }
  }

  /// Removes an idle connection that was closed.
  private func forget(_ channel: any Channel) {
    // Released outside the lock.
    let _: [OriginConnection.Handle] = pool.withLock { pool in
      let dead = pool.idle.filter { $0.channel === channel }
      pool.idle.removeAll { $0.channel === channel }
      return dead
    }
  }

  /// - Parameter mayBecomeTunnel: whether each direction may end by itself.
  func connect(on loop: any EventLoop, mayBecomeTunnel: Bool = false) async throws -> OriginConnection.Handle
  {
    let configuration = settings.value
    let (limits, timeouts) = (configuration.limits.head, configuration.timeouts)
    let (transit, channels) = (transit, channels)
    let bootstrap = ClientBootstrap(group: loop)
      .connectTimeout(timeouts.connect.timeAmount)
      .channelOption(.autoRead, value: false)
      .channelOption(.allowRemoteHalfClosure, value: mayBecomeTunnel)
      // A feed that has room for one read must not get more.
      .channelOption(.maxMessagesPerRead, value: 1)
      .channelOption(.recvAllocator, value: TransitReadAllocator(transit: transit))
    let origin = configuration.origin
    do {
      return try await bootstrap.connect(host: origin.host, port: origin.port) { channel in
        channel.eventLoop.makeCompletedFuture {
          guard channels.add(channel) else { throw ChannelError.ioOnClosedChannel }
          let connection = OriginConnection(
            channel: channel, limits: limits, timeouts: timeouts, transit: transit,
            onIdle: { [weak self] in
              if let self { self.checkIn($0) } else { $0.close() }
            },
            onEnd: { [weak self] in self?.forget($0) })
          try channel.pipeline.syncOperations.addHandler(connection)
          return connection.handle()
        }
      }
    } catch {
      let kind = Self.kind(of: error)
      let reason =
        switch kind {
        case .connectionTimeout: " within \(timeouts.connect)"
        case .proxyInternalError:
          ": \(DescriptorLimit.shortage(in: error).map { DescriptorLimit.text(of: $0) } ?? "\(error)")"
        default: ": \(error)"
        }
      throw OriginError(kind, "no connection to \(origin)\(reason)")
    }
  }

  /// Returns what failed if a connection could not be made: the origin, or this process.
  private static func kind(of error: any Error) -> OriginError.Kind {
    if let error = error as? ChannelError, error.isTimeout { return .connectionTimeout }
    return DescriptorLimit.shortage(in: error) == nil ? .connectionRefused : .proxyInternalError
  }

  /// Closes all connections, even in use, and makes no more.
  func close() async {
    let idle = pool.withLock { pool in
      pool.isClosed = true
      defer { pool.idle = [] }
      return pool.idle
    }
    for connection in idle { connection.close() }
    await channels.close()
  }
}

extension ChannelError {
  fileprivate var isTimeout: Bool { if case .connectTimeout = self { true } else { false } }
}

extension HTTPRequest.Method {
  /// RFC 9110 §9.2.2, and QUERY.
  var isIdempotent: Bool {
    switch self {
    case .get, .head, .options, .trace, .put, .delete: true
    default: rawValue == "QUERY"
    }
  }
}
