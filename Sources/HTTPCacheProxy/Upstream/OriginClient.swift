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

  // MARK: - Requests

  func send(_ request: HTTPRequest, _ body: MessageBody, _ call: OriginCall) async throws -> TransportResponse
  {
    try await cancelling(call) { send(request, body, call, for: $0) }
  }

  /// Waits for a response; if the task is cancelled, so is the call.
  private func cancelling(
    _ call: OriginCall, _ send: (OriginCall.Caller) -> Void
  ) async throws -> TransportResponse {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { send(.task($0)) }
    } onCancel: {
      call.cancel()
    }
  }

  /// Sends a request. On an event loop that has an idle connection, all of it happens there, without a task.
  func send(_ request: HTTPRequest, _ body: MessageBody, _ call: OriginCall, for caller: OriginCall.Caller) {
    statistics.originRequests.increment()
    call.begin(for: caller)
    if let connection = checkOut(preferring: call.loop) {
      exchange(request, body, call, connection, isReused: true)
    } else {
      sendOnNewConnection(request, body, call)
    }
  }

  /// Handles a response, interim or final, or the error, on the event loop of the connection.
  func receive(_ result: OriginConnection.Result, _ call: OriginCall) {
    switch result {
    case .success(let reply) where reply.head.status.code == 100:
      // The server of the client's connection sends 100 itself, when the content is wanted.
      call.connection?.next(call.receiver)
    case .success(let reply) where reply.isInterim:
      let connection = call.connection
      let interim = TransportResponse(interim: reply.head) { [self] in
        await call.interimWritten()
        return try await cancelling(call) { caller in
          call.begin(for: caller)
          connection?.next(call.receiver)
        }
      }
      end(call, .success(interim))
    case .success(let reply): end(call, .success(final(reply, call)))
    case .failure(let error):
      guard let (request, body) = call.takeRepeatable(), !call.isCancelled,
        error.allowsRetry(request.method, hasContent: body.isInMemory)
      else { return end(call, .failure(error)) }
      // The origin closed the idle connection while the request was in flight (RFC 9112 §9.3.1). Make one more attempt,
      // on a new connection: another idle one may be closing as well.
      statistics.originRetries.increment()
      sendOnNewConnection(request, body, call)
    }
  }

  private func end(_ call: OriginCall, _ result: Result<TransportResponse, any Error>) {
    note(result, isCancelled: call.isCancelled)
    call.end(result)
  }

  /// Records whether the origin responded to a request.
  private func note<Response>(_ result: Result<Response, any Error>, isCancelled: Bool) {
    switch result {
    case .success: health.withLock { $0.exchangeEnded(nil, at: now) }
    case .failure(let error):
      // A client that leaves is not an error of the origin: the connection to the origin is then closed here, too. Nor is
      // a shortage in this process.
      guard let error = error as? OriginError, !isCancelled, error.kind != .proxyInternalError else { return }
      statistics.originErrors.increment()
      health.withLock { $0.exchangeEnded(error.kind, at: now) }
    }
  }

  /// Counts a request to the origin, and records whether the origin responded.
  func counting<Response>(_ exchange: () async throws -> Response) async throws -> Response {
    statistics.originRequests.increment()
    do {
      let response = try await exchange()
      note(Result<Response, any Error>.success(response), isCancelled: false)
      return response
    } catch {
      note(Result<Response, any Error>.failure(error), isCancelled: Task.isCancelled)
      throw error
    }
  }

  private func sendOnNewConnection(_ request: HTTPRequest, _ body: MessageBody, _ call: OriginCall) {
    // The event loops may be gone, and would never answer.
    if pool.withLock({ $0.isClosed }) {
      return end(call, .failure(OriginError(.destinationUnavailable, "the proxy has stopped")))
    }
    Task {
      do {
        let connection = try await connect(on: call.loop)
        guard !call.isCancelled else {
          // The client left while the connection was being made, which cannot be cancelled: send no request.
          connection.close()
          throw CancellationError()
        }
        exchange(request, body, call, connection, isReused: false)
      } catch {
        end(call, .failure(error))
      }
    }
  }

  /// - Parameter isReused: whether the connection was idle, so that the request may be sent again.
  private func exchange(
    _ request: HTTPRequest, _ body: MessageBody, _ call: OriginCall, _ connection: OriginConnection.Handle,
    isReused: Bool
  ) {
    let isWhole = body.isInMemory
    let write = { [via] (buffer: inout ByteBuffer) in
      RequestWriter.write(
        request, body, expects: call.expectsContinue && !isWhole, via: "1.\(call.minorVersion) \(via)",
        to: &buffer)
      body.withBytes { $0.withUnsafeBytes { _ = buffer.writeBytes($0) } }
    }
    var bytes = ByteBuffer()
    if connection.channel.eventLoop.inEventLoop {
      // The connection takes them at once.
      let output = OutputBuffer.current
      write(&output.bytes)
      bytes = output.take()
    } else {
      write(&bytes)
    }
    call.awaits(connection, repeatable: isReused ? (request, body) : nil)
    if isWhole { return connection.start(bytes, method: request.method, isWhole: true, call.receiver) }
    // Whether the content is wanted.
    let isWanted = call.expectsContinue ? connection.channel.eventLoop.makePromise(of: Bool.self) : nil
    connection.start(bytes, method: request.method, isWhole: false) { [call] result in
      isWanted?.succeed((try? result.get())?.isInterim ?? false)
      call.receiver(result)
    }
    sendContent(body, connection, when: isWanted)
  }

  /// Sends the content while the response is awaited.
  private func sendContent(
    _ body: MessageBody, _ connection: OriginConnection.Handle, when isWanted: EventLoopPromise<Bool>?
  ) {
    let isChunked = body.length == nil
    let sending = Task { [settings] in
      do {
        // Content that was read is gone: do not read it if the request was not sent, because the second attempt needs
        // it.
        guard try await connection.isSending() else { return }
        if let isWanted {
          let time = settings.value.timeouts.expect.timeAmount
          let timer = connection.channel.eventLoop.scheduleTask(in: time) { isWanted.succeed(true) }
          defer { timer.cancel() }
          // The origin has responded without the content: the connection ends with the response.
          guard try await isWanted.futureResult.get() else { return }
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

  func final(_ reply: OriginConnection.Reply, _ call: OriginCall) -> TransportResponse {
    switch reply.content {
    case .none:
      call.received(nil)
      return TransportResponse(head: reply.head)
    case .whole(let bytes):
      call.received(nil)
      return TransportResponse(head: reply.head, body: MessageBody(bytes))
    case .arriving(let feed, let length):
      call.received(feed)
      return TransportResponse(head: reply.head, body: MessageBody(FeedReader(feed), length: length))
    }
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
      let first = pool.idle.firstIndex { $0.deadline > now && $0.channel.isActive } ?? pool.idle.endIndex
      var old: [OriginConnection.Handle] = []
      if first > 0 {
        old += pool.idle[..<first]
        pool.idle.removeFirst(first)
      }
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
    let origin = configuration.origin
    do {
      return try await bootstrap.connect(host: origin.host, port: origin.port) { channel in
        channel.eventLoop.makeCompletedFuture {
          guard channels.add(channel) else { throw ChannelError.ioOnClosedChannel }
          let reads = ReadBuffer.current
          try channel.syncOptions?.setOption(
            .recvAllocator, value: TransitReadAllocator(transit: transit, shared: reads, first: 4 << 10))
          let connection = OriginConnection(
            channel: channel, limits: limits, timeouts: timeouts, transit: transit, reads: reads,
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
