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

/// Sends requests to a server of the origin over a pool of connections, as far as the server may get them: ``OriginPool``
/// limits its connections, and ``OriginBreaker`` knows whether it answers.
///
/// This is the proxy's own client instead of AsyncHTTPClient, because a proxy needs what that client hides. It needs
/// interim responses (which that client drops), trailers, fields in their order and case, and `Host` as the client sent
/// it. It also decides when a connection is reused, and when a request is repeated. It decodes nothing, and follows no
/// redirect.
final class OriginServer: Sendable, CustomStringConvertible {
  let location: ProxyConfiguration.Origin.Server.Location
  let settings: CurrentOrigin
  let group: any EventLoopGroup
  let statistics: SiteStatistics
  let state: Mutex<State>
  /// Those of the origin.
  private let available: AvailableServers
  private let logger: Logger
  /// Requests that were sent, and those without a response.
  private let requests = Atomic(0)
  private let errors = Atomic(0)
  /// Requests that another server got.
  private let left: FailureLog
  private let probe = Mutex<Task<OriginHealth.State, Never>?>(nil)
  let transit: TransitBudget
  let channels = OpenChannels()
  /// The addresses of the server's name; `nil` if it has none.
  let addresses: OriginAddresses?
  /// What is added to `Via`, for each version of HTTP in its order: to make it takes an allocation.
  private let vias: [String]

  typealias Pool = OriginPool<OriginLink, Waiter>
  /// Gets the connection, or the error, of a request that waits for a connection.
  typealias Waiter = @Sendable (Result<Grant, any Error>) -> Void

  typealias Grant = OriginGrant<OriginLink>

  /// What each request changes, so that it takes one lock at its beginning and one at its end.
  struct State {
    var pool: Pool
    var breaker: OriginBreaker
    var health = OriginHealth()
    var isClosed = false
    /// Whether the origin has the server no more: it finishes its requests.
    var isRetired = false
    /// Whether it is among the ``AvailableServers``.
    var isCounted = false
    /// Whether the name of the server will be resolved again.
    var isWatched = false
    /// Number of times that the settings have changed: connections from before serve no further request.
    var changes = 0
  }

  /// - Parameter transit: the budget that counts content from its arrival until its readers take it.
  init(
    _ location: ProxyConfiguration.Origin.Server.Location, _ settings: CurrentOrigin,
    among available: AvailableServers, group: any EventLoopGroup, statistics: SiteStatistics,
    transit: TransitBudget, logger: Logger, lookup: @escaping HostLookup
  ) {
    self.location = location
    self.settings = settings
    self.available = available
    self.transit = transit
    self.group = group
    self.statistics = statistics
    self.logger = logger
    left = FailureLog(logger, recovery: "\(location) answers again")
    let current = settings.value
    vias = HTTPVersion.allCases.map { "\($0.number) \(current.pseudonym)" }
    if case .address(let address) = location, IPAddress(address.host) == nil {
      addresses = OriginAddresses(address, lookup: lookup, logger: logger)
    } else {
      addresses = nil
    }
    state = Mutex(
      State(
        // Until a server that is offered HTTP/2 has refused it, requests wait for the first connection.
        pool: Pool(
          current.poolLimits, capacity: current.offersHTTP2 ? OriginHTTP2Connection.streamLimit : 1),
        breaker: OriginBreaker(
          failures: current.origin.limits.failures, interval: current.origin.timeouts.probe.timeAmount,
          checkPath: current.origin.checkPath)))
    changing { _ in }
    if current.origin.checkPath != nil { sendProbe(at: now + current.origin.timeouts.probe.timeAmount) }
  }

  var description: String { location.description }

  /// The event loops' time, which tests can set.
  var now: NIODeadline { group.any().now }

  /// What ``OriginBalancer`` must know.
  var candidate: OriginBalancer.Candidate {
    state.withLock { state in
      OriginBalancer.Candidate(
        isAvailable: state.breaker.isAvailable, isFull: !state.pool.hasRoom && !state.pool.hasIdle,
        load: state.pool.load)
    }
  }

  /// Changes the state, and counts the server if that makes it available.
  private func changing<Result>(_ change: (inout State) -> Result) -> Result {
    state.withLock { state in
      defer {
        let counts = state.breaker.isAvailable && !state.isRetired && !state.isClosed
        if counts != state.isCounted { available.change(by: counts ? 1 : -1) }
        state.isCounted = counts
      }
      return change(&state)
    }
  }

  /// The error of requests that are not sent because the server is not available; `nil` if it is.
  var outage: OriginError? { state.withLock { $0.breaker.outage(at: now) } }

  // MARK: - Requests

  /// Sends a request, whose call has this server.
  func send(_ request: HTTPRequest, _ body: MessageBody, _ call: OriginCall) {
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
    if !isAgain, case .success = result { count() }
    switch result {
    case .success(.reuse(let link)): exchange(request, body, call, link, isReused: true)
    case .success(.connect): sendOnNewConnection(request, body, call, isAwaited: !needsNew)
    case .failure(let error): fail(call, error, (request, body))
    }
  }

  private func count() {
    statistics.originRequests.increment()
    requests.wrappingAdd(1, ordering: .relaxed)
  }

  /// Handles a response, interim or final, or the error, on the event loop of the connection.
  func receive(_ result: OriginReply.Result, _ call: OriginCall) {
    // An origin that answers has looked at the request.
    if case .success = result { call.releaseContent() }
    switch result {
    case .success(let reply) where reply.head.status.code == 100:
      // The server of the client's connection sends 100 itself, when the content is wanted.
      call.connection?.next(call.receiver)
    case .success(let reply) where reply.isInterim:
      let connection = call.connection
      let interim = TransportResponse(interim: reply.head) {
        await call.interimWritten()
        return try await call.response { caller in
          call.begin(for: caller)
          connection?.next(call.receiver)
        }
      }
      call.end(.success(interim))
    case .success(let reply):
      if let failure = failure(by: reply) {
        note(failure, of: call)
        if let sent = call.takeSent(.answered), call.sendAgain(sent.request, sent.body, after: failure) {
          if case .arriving(let feed, _) = reply.content { feed.abandon() }
          return
        }
      } else {
        note(nil)
      }
      call.end(.success(final(reply, call)))
    case .failure(let error):
      guard let sent = call.takeSent(error.reach) else { return fail(call, error, nil) }
      guard error.allowsRetry(sent), call.hasContent else {
        return fail(call, error, (sent.request, sent.body))
      }
      // The server was closing the connection while the request was in flight (RFC 9112 §9.3.1), or refused the stream.
      statistics.originRetries.increment()
      send(sent.request, sent.body, call, isAgain: true, needsNew: sent.needsNew)
    }
  }

  /// Returns the failure that a response counts as.
  private func failure(by reply: OriginReply) -> OriginError? {
    let status = reply.head.status.code
    guard settings.isFailure(status) else { return nil }
    return OriginError(.failureStatus, "the response has the status \(status)")
  }

  /// Ends a call with an error, unless another server gets the request.
  ///
  /// - Parameter request: the request and its content; `nil` if its client has left.
  private func fail(_ call: OriginCall, _ error: any Error, _ request: (HTTPRequest, MessageBody)?) {
    note(error, of: call)
    if let error = error as? OriginError {
      if let (request, body) = request {
        if call.sendAgain(request, body, after: error) { return }
        // It has waited for a connection to this server, and there is no other that it could go to.
        if error.kind == .destinationUnavailable, !state.withLock(\.isClosed) {
          return send(request, body, call, isAgain: true)
        }
      }
      error.count(in: statistics)
    }
    call.end(.failure(error))
  }

  /// Logs that a request goes to another server.
  func wasLeft(after cause: OriginError) {
    left.failed(
      cause.kind.rawValue, "\(cause); other servers get the requests that \(location) does not answer")
  }

  private func note(_ error: any Error, of call: OriginCall) {
    note(error, isCancelled: call.isCancelled) { call.countsFailure() }
  }

  /// Records whether the server responded to a request.
  ///
  /// - Parameters:
  ///   - error: why it has not; `nil` if it has.
  ///   - isFirst: whether no other server has failed to answer the request: what all servers fail to answer is at fault itself.
  private func note(_ error: (any Error)?, isCancelled: Bool = false, isFirst: () -> Bool = { true }) {
    let now = now
    var failure: OriginError?
    if let error {
      // A client that leaves is not an error of the origin: the connection to the origin is then closed here, too. Nor is
      // a shortage in this process.
      guard let error = error as? OriginError, !isCancelled, error.isOfOrigin else { return }
      statistics.originErrors.increment()
      errors.wrappingAdd(1, ordering: .relaxed)
      failure = error
    }
    let counts = failure.map { !$0.isOutage || isFirst() } ?? true
    let change: OriginBreaker.Change = changing { state in
      // The proxy has closed the connections itself.
      if state.isClosed { return .none }
      if failure?.isRefusal != true { state.health.exchangeEnded(failure?.kind, at: now) }
      guard let failure else { return state.breaker.answered(at: now) }
      guard counts else { return .none }
      return state.breaker.failed(
        failure, within: settings.value.origin.timeouts.firstByte.timeAmount, at: now)
    }
    if failure == nil { left.recovered() }
    follow(change)
  }

  /// Counts a request to the origin, and records whether the origin responded.
  func counting<Response>(_ exchange: () async throws -> Response) async throws -> Response {
    count()
    do {
      let response = try await exchange()
      note(nil)
      return response
    } catch {
      note(error, isCancelled: Task.isCancelled)
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
        fail(call, error, (request, body))
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
    if case .http1 = link {
      needsNew = true
      // Its content is read only when the head is sent, and then the origin may have looked at it.
      call.releaseContent()
    }
    call.awaits(
      reference,
      OriginCall.Sent(request: request, body: body, isReused: isReused, needsNew: needsNew))
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

  func via(_ version: HTTPVersion) -> String {
    switch version {
    case .http10: vias[0]
    case .http11: vias[1]
    case .http2: vias[2]
    }
  }

  /// Sends the content while the response is awaited.
  private func sendContent(
    _ body: MessageBody, _ connection: OriginReference, when isWanted: EventLoopPromise<Bool>?
  ) {
    let sending = Task { [settings] in
      do {
        // Content that was read may be gone: do not read it if the request was not sent, because the second attempt needs
        // it.
        guard try await connection.beginSending() else { return }
        if let isWanted {
          let time = settings.value.origin.timeouts.expect.timeAmount
          let timer = connection.loop.scheduleTask(in: time) { isWanted.succeed(true) }
          defer { timer.cancel() }
          // The origin has responded without the content: the connection ends with the response.
          guard try await isWanted.futureResult.get() else { return }
        }
        for try await chunk in body where !chunk.isEmpty {
          // The next attempt sends it.
          try Task.checkCancellation()
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

  /// Whether the server responded recently. If that is unknown, connects to it; concurrent callers share one attempt.
  func health() async -> OriginHealth.State {
    if let known = knownHealth { return known }
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

  /// Whether the server responded recently; `nil` if that is unknown.
  var knownHealth: OriginHealth.State? {
    let now = now
    return state.withLock { state in
      // The probes of the breaker know better than a connection.
      if let cause = state.breaker.cause { return .unreachable(cause.kind) }
      return state.health.state(at: now)
    }
  }

  /// Returns why the origin accepts no connection; `nil` if it does.
  private func probeKind() async -> OriginError.Kind? {
    do throws(OriginError) {
      let changes = state.withLock { $0.changes }
      try await open(on: group.any(), within: OriginHealth.probeTime, changes, mayBecomeTunnel: false)
        .close()
      return nil
    } catch {
      return error.kind
    }
  }

  // MARK: - Availability

  /// Does what follows from a change of the breaker: after a failed request or a failed check.
  private func follow(_ change: OriginBreaker.Change) {
    switch change {
    case .none: break
    case .opened(let cause, let probe):
      statistics.originOutages.increment()
      logger.warning(
        "the origin is down: other servers get its requests, and stored responses answer where they may, until it answers a probe",
        metadata: ["server": "\(self)", "kind": "\(cause.kind.rawValue)", "error": "\(cause)"])
      sendProbe(at: probe)
      // Without another server, the requests that wait for a connection wait on.
      guard available.count > 0, let error = outage else { break }
      for waiter in state.withLock({ $0.pool.removeWaiting() }) { waiter(.failure(error)) }
    case .closed: logger.notice("the origin is up again", metadata: ["server": "\(self)"])
    }
  }

  private func sendProbe(at deadline: NIODeadline) {
    group.any().scheduleTask(deadline: deadline) { [weak self] in self?.sendProbe() }
  }

  /// Sends a probe, if one is due.
  private func sendProbe() {
    let (authority, loop) = (settings.value.host ?? location.authority, group.any())
    let (request, next): (HTTPRequest?, NIODeadline?) = state.withLock { state in
      guard !state.isClosed, !state.isRetired,
        let request = state.breaker.probeBegan(authority: authority, at: now)
      else {
        return (nil, nil)
      }
      // All connections are in use: their requests are probes, too.
      guard state.pool.takePlace() else {
        return (nil, state.breaker.probeSkipped(at: now))
      }
      return (request, nil)
    }
    if let next { sendProbe(at: next) }
    guard let request else { return }
    Task { [self] in
      let result: Result<Int, OriginError>
      do {
        result = .success(try await ask(request, on: loop))
      } catch {
        result = .failure(error as? OriginError ?? OriginError(error))
      }
      let (timeout, now) = (settings.value.origin.timeouts.firstByte.timeAmount, now)
      let (next, change) = changing { state in
        switch result {
        case .success: state.health.exchangeEnded(nil, at: now)
        case .failure(let error) where error.isOfOrigin: state.health.exchangeEnded(error.kind, at: now)
        case .failure: break
        }
        return state.breaker.probeEnded(result, within: timeout, at: now)
      }
      follow(change)
      if let next { sendProbe(at: next) }
    }
  }

  /// Maximum time for the response to a probe, unless the interval is longer.
  private static let probeTime = TimeAmount.seconds(5)

  /// Waits for the head of a response on a connection of its own, and returns its status.
  private func ask(_ request: HTTPRequest, on loop: any EventLoop) async throws -> Int {
    let timeouts = settings.value.origin.timeouts
    let time = Swift.min(
      timeouts.firstByte.timeAmount, Swift.max(Self.probeTime, timeouts.probe.timeAmount))
    let link = try await connect(on: loop, isAwaited: false, servesOne: true)
    let sent = OriginRequest(request: request, via: via(.http11))
    let (connection, first) = try await loop.submit {
      let connection = link.begin()
      return (connection, connection.start(sent))
    }.get()
    let deadline = loop.now + time
    let timer = loop.scheduleTask(deadline: deadline) { connection.close() }
    defer { timer.cancel() }
    do {
      var reply = try await first.get()
      while reply.isInterim { reply = try await connection.next().get() }
      if case .arriving(let feed, _) = reply.content { feed.abandon() }
      if let failure = failure(by: reply) { throw failure }
      return reply.head.status.code
    } catch let error as OriginError where error.isByProxy && loop.now >= deadline {
      throw OriginError(.responseTimeout, "the origin has sent no final response to a probe")
    }
  }

  // MARK: - For the operator

  /// The state of the server and of its connections, as the admin port shows it.
  struct Figures {
    var name: String
    var requests: Int
    /// Requests without a response.
    var errors: Int
    var connections: Int
    /// Requests on connections of HTTP/2.
    var streams: Int
    /// Maximum connections.
    var limit: Int?
    /// Requests that wait for a connection.
    var waiting: Int
    /// Why the server is down.
    var cause: OriginError?
  }

  var figures: Figures {
    state.withLock { state in
      Figures(
        name: description, requests: requests.load(ordering: .relaxed),
        errors: errors.load(ordering: .relaxed),
        connections: state.pool.connections, streams: state.pool.sharing,
        limit: state.pool.limits.connections,
        waiting: state.pool.waiting, cause: state.breaker.cause)
    }
  }

  /// Applies changed settings.
  ///
  /// - Parameter retiresConnections: whether connections from before serve no further request.
  func settingsChanged(retiresConnections: Bool) {
    let (now, settings) = (now, settings.value)
    let (outcome, change, probe): (Pool.Outcome, OriginBreaker.Change, NIODeadline?) = changing {
      state in
      if state.isClosed { return (Pool.Outcome(), .none, nil) }
      var outcome = state.pool.update(settings.poolLimits, at: now)
      if retiresConnections {
        state.changes += 1
        outcome.closing += state.pool.retire { _ in true }
      }
      let (change, probe) = state.breaker.update(
        failures: settings.origin.limits.failures, interval: settings.origin.timeouts.probe.timeAmount,
        checkPath: settings.origin.checkPath, at: now)
      return (outcome, change, probe)
    }
    follow(change)
    if let probe { sendProbe(at: probe) }
    perform(outcome)
  }

  /// Ends the use of the server after the requests that it has.
  func retire() {
    let closing = changing { state in
      state.isRetired = true
      state.changes += 1
      return state.pool.retire { _ in true }
    }
    for connection in closing { connection.close() }
  }

  /// Whether it has no connection, and no request.
  var isUnused: Bool { state.withLock { $0.pool.places == 0 && $0.pool.waiting == 0 } }

  /// Lets requests in that waited, and closes connections.
  ///
  /// - Parameter error: the error of a connection that could not be made.
  func perform(_ outcome: Pool.Outcome, _ error: OriginError? = nil) {
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
