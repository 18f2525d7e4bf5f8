// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheObserving
import HTTPCaching
import HTTPTypes
import Logging
import NIOCore
import NIOPosix
import TransportSecurity

/// Sends requests to the origin over a pool of connections, as far as the origin may get them: ``OriginPool`` limits its
/// connections, and ``OriginBreaker`` protects it, and the clients, after failures in a row.
///
/// This is the proxy's own client instead of AsyncHTTPClient, because a proxy needs what that client hides. It needs
/// interim responses (which that client drops), trailers, fields in their order and case, and `Host` as the client sent
/// it. It also decides when a connection is reused, and when a request is repeated. It decodes nothing, and follows no
/// redirect.
final class OriginClient: Sendable {
  private let settings: CurrentConfiguration
  private let group: any EventLoopGroup
  private let statistics: ProxyStatistics
  private let state: Mutex<State>
  private let logger: Logger
  private let probe = Mutex<Task<OriginHealth.State, Never>?>(nil)
  private let transit: TransitBudget
  private let channels = OpenChannels()
  let via: String

  typealias Pool = OriginPool<OriginConnection.Handle, Waiter>
  /// Gets the connection, or the error, of a request that waits for a connection.
  typealias Waiter = @Sendable (Result<Grant, any Error>) -> Void

  /// What a request got.
  enum Grant: Sendable {
    case reuse(OriginConnection.Handle)
    case connect
  }

  /// What each request changes, so that it takes one lock at its beginning and one at its end.
  private struct State {
    var pool: Pool
    var breaker: OriginBreaker
    var health = OriginHealth()
    var isClosed = false
    /// Number of times that the files of certificates were read again: connections from before serve no further request.
    var encryptions = 0
  }

  /// - Parameter transit: the budget that counts content from its arrival until its readers take it.
  init(
    _ settings: CurrentConfiguration, group: any EventLoopGroup, statistics: ProxyStatistics,
    transit: TransitBudget, logger: Logger
  ) {
    self.settings = settings
    self.transit = transit
    self.group = group
    self.statistics = statistics
    self.logger = logger
    let configuration = settings.value
    via = configuration.name
    state = Mutex(
      State(
        pool: Pool(configuration.poolLimits),
        breaker: OriginBreaker(
          failures: configuration.limits.originFailures,
          interval: configuration.timeouts.originProbe.timeAmount)))
    settings.onChange { [weak self] in self?.update($0) }
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
    call.begin(for: caller)
    send(request, body, call, isAgain: false)
  }

  /// - Parameter isAgain: whether the request was lost on an idle connection.
  private func send(_ request: HTTPRequest, _ body: MessageBody, _ call: OriginCall, isAgain: Bool) {
    let admission = admit(request, call, needsNew: isAgain, isAgain: isAgain) {
      { [self] result in send(request, body, call, isAgain: isAgain, on: result) }
    }
    if let admission { send(request, body, call, isAgain: isAgain, on: admission) }
  }

  private func send(
    _ request: HTTPRequest, _ body: MessageBody, _ call: OriginCall, isAgain: Bool,
    on result: Result<Grant, any Error>
  ) {
    if !isAgain, case .success = result { statistics.originRequests.increment() }
    switch result {
    case .success(.reuse(let connection)): exchange(request, body, call, connection, isReused: true)
    case .success(.connect): sendOnNewConnection(request, body, call)
    case .failure(let error): end(call, .failure(error))
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
      send(request, body, call, isAgain: true)
    }
  }

  private func end(_ call: OriginCall, _ result: Result<TransportResponse, any Error>) {
    note(result, isCancelled: call.isCancelled)
    call.end(result)
  }

  /// Records whether the origin responded to a request.
  private func note<Response>(_ result: Result<Response, any Error>, isCancelled: Bool) {
    let (now, timeout) = (self.now, settings.value.timeouts.firstByte.timeAmount)
    var failure: OriginError?
    if case .failure(let error) = result {
      // A client that leaves is not an error of the origin: the connection to the origin is then closed here, too. Nor is
      // a shortage in this process.
      guard let error = error as? OriginError, !isCancelled, error.isOfOrigin else { return }
      statistics.originErrors.increment()
      failure = error
    }
    let (change, waiting): (OriginBreaker.Change, [Waiter]) = state.withLock { state in
      // The proxy has closed the connections itself.
      if state.isClosed { return (.none, []) }
      state.health.exchangeEnded(failure?.kind, at: now)
      guard let failure else { return (state.breaker.answered(at: now), []) }
      let change = state.breaker.failed(failure, within: timeout, at: now)
      if case .opened = change { return (change, state.pool.removeWaiting()) }
      return (change, [])
    }
    report(change)
    if !waiting.isEmpty { refuse(waiting, state.withLock { $0.breaker.refusal(at: now) }) }
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

  /// - Precondition: the request has a place in the pool.
  private func sendOnNewConnection(_ request: HTTPRequest, _ body: MessageBody, _ call: OriginCall) {
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
        request, body, expects: call.expectsContinue && !isWhole, via: "\(call.version.number) \(via)",
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
    let known = state.withLock { state -> OriginHealth.State? in
      // The probes of the breaker know better than a connection.
      if let cause = state.breaker.cause { return .unreachable(cause.kind) }
      return state.health.state(at: now)
    }
    if let known { return known }
    let task = probe.withLock { probe in
      if let probe { return probe }
      let task = Task { [self] in
        let kind = await probeKind()
        state.withLock { $0.health.probeEnded(kind, at: now) }
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
    do throws(OriginError) {
      try await open(on: group.any(), within: OriginHealth.probeTime, mayBecomeTunnel: false).close()
      return nil
    } catch {
      return error.kind
    }
  }

  // MARK: - Failures in a row

  private func report(_ change: OriginBreaker.Change) {
    switch change {
    case .none: break
    case .opened(let cause, let probe):
      statistics.originOutages.increment()
      logger.warning(
        "the origin has failed several times in a row: it gets no requests until it answers a probe",
        metadata: ["kind": "\(cause.kind.rawValue)", "error": "\(cause)"])
      sendProbe(at: probe)
    case .closed: logger.notice("the origin gets requests again")
    }
  }

  private func sendProbe(at deadline: NIODeadline) {
    group.any().scheduleTask(deadline: deadline) { [weak self] in self?.sendProbe() }
  }

  /// Sends a probe, if one is due.
  private func sendProbe() {
    let authority = settings.value.origin.description
    let (request, next): (HTTPRequest?, NIODeadline?) = state.withLock { state in
      guard !state.isClosed, let request = state.breaker.probeBegan(authority: authority, at: now) else {
        return (nil, nil)
      }
      // All connections are in use: their requests are probes, too.
      guard state.pool.takePlace() else { return (nil, state.breaker.probeEnded(at: now)) }
      return (request, nil)
    }
    if let next { sendProbe(at: next) }
    guard let request else { return }
    Task { [self] in
      // What it finds is recorded as the result of any request is.
      try? await counting { try await ask(request) }
      if let next = state.withLock({ $0.breaker.probeEnded(at: now) }) { sendProbe(at: next) }
    }
  }

  /// Waits for the head of a response. After that, the connection serves other requests.
  private func ask(_ request: HTTPRequest) async throws {
    let connection = try await connect(on: group.any())
    var head = ByteBuffer()
    RequestWriter.write(request, .empty, expects: false, via: "1.1 \(via)", to: &head)
    var reply = try await connection.start(head, method: request.method, isWhole: true).get()
    while reply.isInterim { reply = try await connection.next().get() }
  }

  // MARK: - For the operator

  /// The state of the connections and of the origin, as the admin port shows it.
  struct Figures {
    var connections: Int
    /// Maximum connections.
    var limit: Int?
    /// Requests that wait for a connection.
    var waiting: Int
    /// Why the origin gets no requests.
    var cause: OriginError?
  }

  var figures: Figures {
    state.withLock { state in
      Figures(
        connections: state.pool.connections, limit: state.pool.limits.connections,
        waiting: state.pool.waiting, cause: state.breaker.cause)
    }
  }

  private func update(_ configuration: ProxyConfiguration) {
    let (granted, change, idle): ([Waiter], OriginBreaker.Change, [OriginConnection.Handle]) = state.withLock
    {
      state in
      var idle: [OriginConnection.Handle] = []
      if configuration.originTLS != nil {
        state.encryptions += 1
        idle = state.pool.removeIdle()
      }
      let change = state.breaker.update(
        failures: configuration.limits.originFailures,
        interval: configuration.timeouts.originProbe.timeAmount, at: now)
      return (state.pool.update(configuration.poolLimits), change, idle)
    }
    for connection in idle { connection.close() }
    report(change)
    for waiter in granted { waiter(.success(.connect)) }
  }

  // MARK: - Connections

  /// Finds a connection for a request: an idle one of its event loop that was used last, or of another loop, or a new one.
  ///
  /// - Parameters:
  ///   - needsNew: whether the request needs a connection that no other has used.
  ///   - isAgain: whether the request was lost on an idle connection.
  ///   - waiter: makes the function that gets the result if the request must wait.
  /// - Returns: `nil` if the request waits.
  func admit(
    _ request: HTTPRequest, _ call: OriginCall, needsNew: Bool, isAgain: Bool = false, waiter: () -> Waiter
  ) -> Result<Grant, any Error>? {
    let (now, loop) = (self.now, call.loop)
    let admission: Result<Pool.Admission, OriginError> = state.withLock { state in
      // The event loops may be gone, and would never answer.
      if state.isClosed { return .failure(OriginError(.destinationUnavailable, "the proxy has stopped")) }
      if let error = state.breaker.refusal(of: request, at: now) { return .failure(error) }
      return .success(
        state.pool.request(
          needsNew: needsNew, isAgain: isAgain, at: now, prefers: { $0.channel.eventLoop === loop },
          waiter: waiter))
    }
    switch admission {
    case .failure(let error):
      statistics.originUnavailable.increment()
      return .failure(error)
    case .success(let admission):
      for connection in admission.closing { connection.close() }
      if let timer = admission.timer { expire(at: timer) }
      switch admission.decision {
      case .grant(.reuse(let connection)): return .success(.reuse(connection))
      case .grant(.connect): return .success(.connect)
      case .wait(let ticket):
        if call.waits(ticket) { leave(ticket) }
        return nil
      case .refuse:
        statistics.originLimited.increment()
        return .failure(
          limitReached("\(settings.value.limits.originQueue) requests wait for a connection to the origin"))
      }
    }
  }

  /// Removes a request whose client has left from those that wait for a connection.
  func leave(_ ticket: Int) {
    state.withLock { $0.pool.leave(ticket) }?(.failure(CancellationError()))
  }

  private func expire(at deadline: NIODeadline) {
    group.any().scheduleTask(deadline: deadline) { [weak self] in self?.expire() }
  }

  private func expire() {
    let (late, next) = state.withLock { $0.pool.expire(at: now) }
    if let next { expire(at: next) }
    if late.isEmpty { return }
    statistics.originLimited.increment(by: late.count)
    let error = limitReached(
      "no connection to the origin became free within \(settings.value.timeouts.originQueue)")
    for waiter in late { waiter(.failure(error)) }
  }

  private func limitReached(_ text: String) -> OriginError {
    OriginError(
      .connectionLimitReached, text, reach: .unsent,
      retryAfter: settings.value.timeouts.originQueue.timeAmount.wholeSeconds)
  }

  private func refuse(_ waiting: [Waiter], _ error: OriginError) {
    statistics.originUnavailable.increment(by: waiting.count)
    for waiter in waiting { waiter(.failure(error)) }
  }

  /// - Parameter encryption: the number of ``State/encryptions`` when the connection was made.
  private func checkIn(_ connection: OriginConnection.Handle, _ encryption: Int) {
    let now = self.now
    let (waiter, closing): (Waiter?, [OriginConnection.Handle]) = state.withLock { state in
      state.isClosed || state.encryptions != encryption
        ? (nil, [connection]) : state.pool.returned(connection, at: now)
    }
    for connection in closing { connection.close() }
    // Not before the connection has delivered the response that it has read.
    if let waiter { connection.channel.eventLoop.execute { waiter(.success(.reuse(connection))) } }
  }

  /// Removes an idle connection that was closed.
  private func forget(_ channel: any Channel) {
    // Released outside the lock.
    _ = state.withLock { $0.pool.forget { $0.channel === channel } }
  }

  /// Releases the place of a connection that is closed, or could not be made.
  private func release() {
    state.withLock { $0.pool.ended() }?(.success(.connect))
  }

  /// Makes a connection that has a place in the pool, and releases that if it fails, or when the connection is closed.
  ///
  /// - Parameter mayBecomeTunnel: whether each direction may end by itself.
  func connect(on loop: any EventLoop, mayBecomeTunnel: Bool = false) async throws -> OriginConnection.Handle
  {
    do throws(OriginError) {
      let connection = try await open(
        on: loop, within: settings.value.timeouts.connect, mayBecomeTunnel: mayBecomeTunnel)
      // Not of each channel that is made: a name with several addresses makes several for one connection.
      connection.channel.closeFuture.whenComplete { [weak self] _ in self?.release() }
      return connection
    } catch {
      release()
      throw error
    }
  }

  /// Makes a connection, encrypted if the origin wants it.
  ///
  /// - Parameter time: the time for the connection and the handshake.
  private func open(
    on loop: any EventLoop, within time: Duration, mayBecomeTunnel: Bool
  ) async throws(OriginError) -> OriginConnection.Handle {
    let configuration = settings.value
    let encryptions = state.withLock { $0.encryptions }
    let encryption = settings.encryption.origin
    let (limits, deadline) = (configuration.limits.head, loop.now + time.timeAmount)
    var timeouts = configuration.timeouts
    timeouts.originIdle = timeouts.originIdleTime(isEncrypted: encryption != nil)
    let (transit, channels) = (transit, channels)
    let bootstrap = ClientBootstrap(group: loop)
      .connectTimeout(time.timeAmount)
      .channelOption(.autoRead, value: false)
      .channelOption(.allowRemoteHalfClosure, value: mayBecomeTunnel)
      // A feed that has room for one read must not get more.
      .channelOption(.maxMessagesPerRead, value: 1)
    let origin = configuration.origin
    do {
      let (connection, encrypted) = try await bootstrap.connect(host: origin.host, port: origin.port) {
        [timeouts] channel in
        channel.eventLoop.makeCompletedFuture {
          guard channels.add(channel) else { throw ChannelError.ioOnClosedChannel }
          let reads = ReadBuffer.current
          try channel.syncOptions?.setOption(
            .recvAllocator, value: TransitReadAllocator(transit: transit, shared: reads, first: 4 << 10))
          let encrypted = try encryption?.encrypt(channel, to: origin.host, by: deadline)
          let connection = OriginConnection(
            channel: channel, limits: limits, timeouts: timeouts, transit: transit, reads: reads,
            onIdle: { [weak self] in
              if let self { self.checkIn($0, encryptions) } else { $0.close() }
            },
            onEnd: { [weak self] in self?.forget($0) })
          try channel.pipeline.syncOperations.addHandler(connection)
          return (connection.handle(), encrypted)
        }
      }
      _ = try await encrypted?.get()
      return connection
    } catch {
      throw OriginError(connectingTo: origin, within: time, error)
    }
  }

  /// Closes all connections, even in use, and makes no more.
  func close() async {
    let (idle, waiting) = state.withLock { state in
      state.isClosed = true
      return (state.pool.removeIdle(), state.pool.removeWaiting())
    }
    for connection in idle { connection.close() }
    for waiter in waiting {
      waiter(.failure(OriginError(.destinationUnavailable, "the proxy has stopped")))
    }
    await channels.close()
  }
}

extension OriginConnection.Handle: PooledConnection {
  func isUsable(at now: NIODeadline) -> Bool { channel.isActive && deadline > now }
}

extension ProxyConfiguration {
  fileprivate var poolLimits: OriginClient.Pool.Limits {
    OriginClient.Pool.Limits(
      connections: limits.originConnections, idle: limits.idleOriginConnections, queue: limits.originQueue,
      queueTime: timeouts.originQueue.timeAmount)
  }
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
