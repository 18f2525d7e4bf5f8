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

  typealias Pool = OriginPool<OriginLink, Waiter>
  /// Gets the connection, or the error, of a request that waits for a connection.
  typealias Waiter = @Sendable (Result<Grant, any Error>) -> Void

  typealias Grant = OriginGrant<OriginLink>

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
        // Until an origin that is offered HTTP/2 has refused it, requests wait for the first connection.
        pool: Pool(
          configuration.poolLimits,
          capacity: configuration.offersHTTP2 ? OriginHTTP2Connection.streamLimit : 1),
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

  /// - Parameters:
  ///   - isAgain: whether the request was lost on a connection.
  ///   - needsNew: whether it needs a connection that no other has used.
  private func send(
    _ request: HTTPRequest, _ body: MessageBody, _ call: OriginCall, isAgain: Bool, needsNew: Bool = false
  ) {
    let admission = admit(request, call, needsNew: needsNew, isAgain: isAgain) {
      { [self] result in send(request, body, call, isAgain: isAgain, needsNew: needsNew, on: result) }
    }
    if let admission { send(request, body, call, isAgain: isAgain, needsNew: needsNew, on: admission) }
  }

  private func send(
    _ request: HTTPRequest, _ body: MessageBody, _ call: OriginCall, isAgain: Bool, needsNew: Bool,
    on result: Result<Grant, any Error>
  ) {
    if !isAgain, case .success = result { statistics.originRequests.increment() }
    switch result {
    case .success(.reuse(let link)): exchange(request, body, call, link, isReused: true)
    case .success(.connect): sendOnNewConnection(request, body, call, isAwaited: !needsNew)
    case .failure(let error): end(call, .failure(error))
    }
  }

  /// Handles a response, interim or final, or the error, on the event loop of the connection.
  func receive(_ result: OriginReply.Result, _ call: OriginCall) {
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
      guard let lost = call.takeRepeatable(after: error) else { return end(call, .failure(error)) }
      // The origin was closing the connection while the request was in flight (RFC 9112 §9.3.1), or refused the stream.
      statistics.originRetries.increment()
      send(lost.request, lost.body, call, isAgain: true, needsNew: lost.needsNew)
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

  /// - Parameter isAwaited: whether other requests may wait for the connection.
  /// - Precondition: the request has a place in the pool.
  private func sendOnNewConnection(
    _ request: HTTPRequest, _ body: MessageBody, _ call: OriginCall, isAwaited: Bool
  ) {
    Task {
      do {
        let link = try await connect(on: call.loop, isAwaited: isAwaited)
        guard !call.isCancelled else {
          // The client left while the connection was being made, which cannot be cancelled: send no request.
          link.abandon()
          throw CancellationError()
        }
        exchange(request, body, call, link, isReused: false)
      } catch {
        end(call, .failure(error))
      }
    }
  }

  /// - Parameter isReused: whether the connection has served another request.
  private func exchange(
    _ request: HTTPRequest, _ body: MessageBody, _ call: OriginCall, _ link: OriginLink, isReused: Bool
  ) {
    let loop = link.channel.eventLoop
    guard loop.inEventLoop else {
      // A miss is usually on this event loop.
      return loop.execute { [self] in exchange(request, body, call, link, isReused: isReused) }
    }
    let reference = link.begin()
    var needsNew = false
    if case .http1 = link { needsNew = true }
    call.awaits(
      reference,
      OriginCall.Repeatable(request: request, body: body, isReused: isReused, needsNew: needsNew))
    let isWhole = body.isInMemory
    let sent = OriginRequest(
      request: request, body: body, expects: call.expectsContinue && !isWhole, via: via(call.version))
    if isWhole { return reference.handler.value.start(sent, call.receiver) }
    // Whether the content is wanted.
    let isWanted = call.expectsContinue ? loop.makePromise(of: Bool.self) : nil
    reference.handler.value.start(sent) { [call] result in
      isWanted?.succeed((try? result.get())?.isInterim ?? false)
      call.receiver(result)
    }
    sendContent(body, reference, when: isWanted)
  }

  func via(_ version: HTTPVersion) -> String { "\(version.number) \(via)" }

  /// Sends the content while the response is awaited.
  private func sendContent(
    _ body: MessageBody, _ connection: OriginReference, when isWanted: EventLoopPromise<Bool>?
  ) {
    let sending = Task { [settings] in
      do {
        // Content that was read is gone: do not read it if the request was not sent, because the second attempt needs
        // it.
        guard try await connection.beginSending() else { return }
        if let isWanted {
          let time = settings.value.timeouts.expect.timeAmount
          let timer = connection.loop.scheduleTask(in: time) { isWanted.succeed(true) }
          defer { timer.cancel() }
          // The origin has responded without the content: the connection ends with the response.
          guard try await isWanted.futureResult.get() else { return }
        }
        for try await chunk in body where !chunk.isEmpty {
          try await connection.send(ByteBuffer(bytes: chunk))
        }
        connection.finishSending()
      } catch {
        // The client stopped sending, or the content is no longer wanted.
        connection.stopSending()
      }
    }
    connection.attach(sending)
  }

  func final(_ reply: OriginReply, _ call: OriginCall) -> TransportResponse {
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
      let encryptions = state.withLock { $0.encryptions }
      try await open(on: group.any(), within: OriginHealth.probeTime, encryptions, mayBecomeTunnel: false)
        .close()
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
    let (authority, loop) = (settings.value.origin.description, group.any())
    let (request, next): (HTTPRequest?, NIODeadline?) = state.withLock { state in
      guard !state.isClosed, let request = state.breaker.probeBegan(authority: authority, at: now) else {
        return (nil, nil)
      }
      // All connections are in use: their requests are probes, too.
      guard state.pool.takePlace() else {
        return (nil, state.breaker.probeEnded(at: now))
      }
      return (request, nil)
    }
    if let next { sendProbe(at: next) }
    guard let request else { return }
    Task { [self] in
      // What it finds is recorded as the result of any request is.
      try? await counting { try await ask(request, on: loop) }
      if let next = state.withLock({ $0.breaker.probeEnded(at: now) }) { sendProbe(at: next) }
    }
  }

  /// Waits for the head of a response. After that, the connection serves other requests.
  private func ask(_ request: HTTPRequest, on loop: any EventLoop) async throws {
    let link = try await connect(on: loop, isAwaited: false)
    let sent = OriginRequest(request: request, via: via(.http11))
    let (connection, first) = try await loop.submit {
      let connection = link.begin()
      return (connection, connection.start(sent))
    }.get()
    var reply = try await first.get()
    while reply.isInterim { reply = try await connection.next().get() }
    if case .arriving(let feed, _) = reply.content { feed.abandon() }
  }

  // MARK: - For the operator

  /// The state of the connections and of the origin, as the admin port shows it.
  struct Figures {
    var connections: Int
    /// Requests on connections of HTTP/2.
    var streams: Int
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
        connections: state.pool.connections, streams: state.pool.sharing,
        limit: state.pool.limits.connections,
        waiting: state.pool.waiting, cause: state.breaker.cause)
    }
  }

  private func update(_ configuration: ProxyConfiguration) {
    let (outcome, change): (Pool.Outcome, OriginBreaker.Change) = state.withLock { state in
      var retired: [OriginLink] = []
      if configuration.originTLS != nil {
        state.encryptions += 1
        retired = state.pool.retireAll()
      }
      let change = state.breaker.update(
        failures: configuration.limits.originFailures,
        interval: configuration.timeouts.originProbe.timeAmount, at: now)
      var outcome = state.pool.update(configuration.poolLimits, at: now)
      outcome.closing += retired
      return (outcome, change)
    }
    report(change)
    perform(outcome)
  }

  /// Lets requests in that waited, and closes connections.
  ///
  /// - Parameter error: the error of a connection that could not be made.
  private func perform(_ outcome: Pool.Outcome, _ error: OriginError? = nil) {
    if let error { for waiter in outcome.failed { waiter(.failure(error)) } }
    for link in outcome.closing { link.close() }
    for (waiter, grant) in outcome.granted {
      guard case .reuse(let link) = grant else {
        waiter(.success(.connect))
        continue
      }
      // Not before the connection has delivered the response that it has read.
      link.channel.eventLoop.execute { waiter(.success(.reuse(link))) }
    }
  }

  // MARK: - Connections

  /// Finds a connection for a request: an idle one of its event loop that was used last, or of another loop, or a new one.
  ///
  /// - Parameters:
  ///   - needsNew: whether the request needs a connection that no other has used.
  ///   - isAgain: whether the request was lost on a connection.
  ///   - waiter: makes the function that gets the result if the request must wait.
  /// - Returns: `nil` if the request waits.
  func admit(
    _ request: HTTPRequest, _ call: OriginCall, needsNew: Bool, isAgain: Bool = false, waiter: () -> Waiter
  ) -> Result<Grant, any Error>? {
    let (now, loop) = (self.now, ObjectIdentifier(call.loop))
    let admission: Result<Pool.Admission, OriginError> = state.withLock { state in
      // The event loops may be gone, and would never answer.
      if state.isClosed { return .failure(OriginError(.destinationUnavailable, "the proxy has stopped")) }
      if let error = state.breaker.refusal(of: request, at: now) { return .failure(error) }
      return .success(
        state.pool.request(
          needsNew: needsNew, isAgain: isAgain, on: loop, at: now, waiter: waiter))
    }
    switch admission {
    case .failure(let error):
      statistics.originUnavailable.increment()
      return .failure(error)
    case .success(let admission):
      for connection in admission.closing { connection.close() }
      if let timer = admission.timer { expire(at: timer) }
      switch admission.decision {
      case .grant(let grant): return .success(grant)
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
    let (now, link) = (self.now, OriginLink.http1(connection))
    perform(
      state.withLock { state in
        state.isClosed || state.encryptions != encryption
          ? Pool.Outcome(closing: [link]) : state.pool.returned(link, at: now)
      })
  }

  /// Records what a connection of HTTP/2 has reported.
  private func handle(_ event: OriginHTTP2Connection.Event, _ connection: OriginHTTP2Connection.Handle) {
    let (now, link) = (self.now, OriginLink.http2(connection))
    perform(
      state.withLock { state in
        switch event {
        case .limit(let limit): return state.pool.limitChanged(of: link, to: limit, at: now)
        case .requestEnded: return state.pool.requestEnded(on: link, at: now)
        case .retired: return Pool.Outcome(closing: state.pool.retire(link) ? [link] : [])
        case .idleForLong: return Pool.Outcome(closing: state.pool.retireIdle(link) ? [link] : [])
        }
      })
  }

  /// Removes an idle connection that was closed.
  private func forget(_ channel: any Channel) {
    // Released outside the lock.
    _ = state.withLock { $0.pool.forget { $0.channel === channel } }
  }

  /// Makes a connection that has a place in the pool, and releases that if it fails, or when the connection is closed.
  ///
  /// - Parameters:
  ///   - isAwaited: whether other requests may wait for the connection.
  ///   - mayBecomeTunnel: whether each direction may end by itself. Then it is one of HTTP/1.1.
  func connect(
    on loop: any EventLoop, isAwaited: Bool, mayBecomeTunnel: Bool = false
  ) async throws -> OriginLink {
    let awaiting = isAwaited ? ObjectIdentifier(loop) : nil
    let encryptions = state.withLock { $0.encryptions }
    do throws(OriginError) {
      let link = try await open(
        on: loop, within: settings.value.timeouts.connect, encryptions, mayBecomeTunnel: mayBecomeTunnel)
      // On its event loop, so that the connection reports nothing before the pool knows it.
      loop.execute { [self] in
        opened(link, encryptions, by: awaiting, mayBecomeTunnel: mayBecomeTunnel)
        // Not of each channel that is made: a name with several addresses makes several for one connection.
        link.channel.closeFuture.whenComplete { [weak self] _ in self?.closed(link) }
      }
      return link
    } catch {
      let now = self.now
      perform(state.withLock { $0.pool.failed(on: awaiting, at: now) }, error)
      throw error
    }
  }

  private func opened(
    _ link: OriginLink, _ encryption: Int, by loop: ObjectIdentifier?, mayBecomeTunnel: Bool
  ) {
    let now = self.now
    perform(
      state.withLock { state in
        switch link {
        case .http1: return state.pool.opened(mayBecomeTunnel ? .unasked : .exclusive, on: loop, at: now)
        case .http2(let handle):
          let connection = handle.connection.value
          let isRetired = connection.isRetired || state.encryptions != encryption
          return state.pool.opened(
            .shared(link, limit: connection.limit, isRetired: isRetired), on: loop, at: now)
        }
      })
  }

  private func closed(_ link: OriginLink) {
    let now = self.now
    perform(state.withLock { $0.pool.closed(link, at: now) })
  }

  /// Makes a connection, encrypted if the origin wants it.
  ///
  /// - Parameter time: the time for the connection and the handshake.
  private func open(
    on loop: any EventLoop, within time: Duration, _ encryptions: Int, mayBecomeTunnel: Bool
  ) async throws(OriginError) -> OriginLink {
    let configuration = settings.value
    let encryption = mayBecomeTunnel ? settings.encryption.originTunnels : settings.encryption.origin
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
      let opening = try await bootstrap.connect(host: origin.host, port: origin.port) {
        [timeouts] channel in
        channel.eventLoop.makeCompletedFuture {
          guard channels.add(channel) else { throw ChannelError.ioOnClosedChannel }
          let reads = ReadBuffer.current
          try channel.syncOptions?.setOption(
            .recvAllocator, value: TransitReadAllocator(transit: transit, shared: reads, first: 4 << 10))
          func install(_ version: HTTPVersion) throws -> EventLoopFuture<OriginLink> {
            guard version != .http2 else {
              return try OriginHTTP2Connection.add(
                to: channel, by: deadline, limits: limits, timeouts: timeouts, transit: transit,
                scheme: encryption == nil ? "http" : "https"
              ) { [weak self] (connection, event) in
                guard let self else { return connection.channel.close(promise: nil) }
                self.handle(event, connection)
              }.map { OriginLink.http2($0) }
            }
            let connection = OriginConnection(
              channel: channel, limits: limits, timeouts: timeouts, transit: transit, reads: reads,
              onIdle: { [weak self] in
                if let self { self.checkIn($0, encryptions) } else { $0.reference.close() }
              },
              onEnd: { [weak self] in self?.forget($0) })
            try channel.pipeline.syncOperations.addHandler(connection)
            return channel.eventLoop.makeSucceededFuture(.http1(connection.handle()))
          }
          guard let encryption else {
            let isHTTP2 = configuration.originHTTP2 == .always && !mayBecomeTunnel
            return try install(isHTTP2 ? .http2 : .http11)
          }
          // Before the first bytes after the handshake.
          return try encryption.encrypt(channel, to: origin.host, by: deadline).assumeIsolated()
            .flatMapThrowing { try install($0.protocolName == "h2" ? .http2 : .http11) }
            .nonisolated().flatMap { $0 }
        }
      }
      return try await opening.get()
    } catch {
      throw OriginError(connectingTo: origin, within: time, error)
    }
  }

  /// Closes all connections, even in use, and makes no more.
  func close() async {
    let (idle, waiting) = state.withLock { state in
      state.isClosed = true
      return (state.pool.retireAll(), state.pool.removeWaiting())
    }
    for connection in idle { connection.close() }
    for waiter in waiting {
      waiter(.failure(OriginError(.destinationUnavailable, "the proxy has stopped")))
    }
    await channels.close()
  }
}

extension ProxyConfiguration {
  fileprivate var offersHTTP2: Bool {
    switch originHTTP2 {
    case .never: false
    case .withTLS: originTLS != nil
    case .always: true
    }
  }

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
