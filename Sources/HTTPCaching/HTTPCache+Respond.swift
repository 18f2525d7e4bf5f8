// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

extension HTTPCache {
  /// Answers a request from the store if the rules and the policy allow it, and otherwise from the origin.
  ///
  /// - Parameters:
  ///   - request: the request; its target URI and fields select the stored response.
  ///   - content: the request's content, for methods that have some.
  ///   - policy: what the request allows the cache to do.
  ///   - partition: separates the responses of one account or site from those of another (default: the
  ///     configuration's).
  ///   - interim: gets the interim (1xx) responses to this request as they arrive. They are not stored: a request that
  ///     is answered from the store, or coalesced with another, gets none.
  ///   - willStore: called before a response to this request is stored; it may change or refuse what is stored.
  ///   - lifetime: sets the freshness lifetime of the origin's response, in place of the origin.
  ///   - transport: sends a request to the origin; called once for all concurrent requests that can share the response.
  /// - Throws: ``HTTPCacheError`` (``HTTPCacheError/Code-swift.struct/notCached``) if the policy forbids the network
  ///   and no stored response can answer; the transport's error if no stored response may be used instead.
  public func respond(
    to request: HTTPRequest, body content: MessageBody = .empty,
    policy: RequestCachePolicy = .useProtocolCachePolicy, partition: String? = nil,
    interim: InterimReceiver? = nil, willStore: StorageHook? = nil, lifetime: LifetimeRule? = nil,
    transport: @escaping Transport
  ) async throws -> CachedResponse {
    try await respond(
      to: Call(
        request: request, body: content, policy: policy, interim: interim, willStore: willStore,
        lifetime: lifetime, transport: transport), partition)
  }

  /// Does the same, and runs the request to the origin on an executor if the cache has no disk.
  ///
  /// A server's event loop can thus do all of a miss on its own thread: each hop to another one takes two system calls
  /// or more.
  ///
  /// - Parameter executor: runs the fetch, also for requests that are coalesced with this one.
  package func respond(
    to request: HTTPRequest, body content: MessageBody, policy: RequestCachePolicy,
    interim: InterimReceiver?, on executor: any TaskExecutor, transport: @escaping Transport
  ) async throws -> CachedResponse {
    try await respond(
      to: Call(
        request: request, body: content, policy: policy, interim: interim, transport: transport,
        executor: executor), nil)
  }

  /// Does the same for a handler in this process, see ``LocalOrigin``.
  ///
  /// - Parameter handler: runs the handler. If the response ``CachedResponse/isPassedThrough``, its body is empty: the
  ///   caller has the content itself, because the transport returned it.
  package func respond(
    to request: HTTPRequest, body content: MessageBody, partition: String?, from origin: LocalOrigin,
    handler: @escaping Transport
  ) async throws -> CachedResponse {
    try await respond(
      to: Call(
        request: request, body: content, policy: .useProtocolCachePolicy, transport: handler,
        localOrigin: origin), partition)
  }

  private func respond(
    to asked: Call, _ partition: String?, isTraced: Bool = false
  ) async throws -> CachedResponse {
    if !isTraced, let tracer = configuration.tracer {
      return try await tracer.trace(.answer, of: asked.request) { span in
        let response = try await respond(to: asked, partition, isTraced: true)
        span.record(response)
        return response
      }
    }
    let (request, content, policy) = (asked.request, asked.body, asked.policy)
    let partition = partition ?? configuration.partition
    let endCount = flights.endCount
    let course: RequestCourse
    switch resident(for: request, content: content, partition, mayForward: true) {
    case .entries(let key, let found):
      if let response = hit(request, policy, key, found, partition) { return response }
      course = RequestCourse(asked, lookup(of: found, key, for: request, partition), endCount: endCount)
    case .perhapsOnDisk:
      course = RequestCourse(
        asked, await lookUpOnDisk(request, content: content, partition), endCount: endCount)
    case .otherwise:
      var call = asked
      call.body = try await withQueryContent(content, of: request)
      course = RequestCourse(
        call, await lookUp(request, content: call.body, partition), endCount: endCount)
    }
    return try await answer(course)
  }

  /// Returns the response to a request without content if memory can answer at once, without the origin; otherwise
  /// `nil`.
  ///
  /// The call never suspends: use it on an event loop, or to inspect a cache. It returns `nil` for a QUERY request, and
  /// for a response whose use requires a revalidation in the background. Use
  /// ``respond(to:body:policy:partition:interim:willStore:lifetime:transport:)`` for those.
  public func storedResponse(
    for request: HTTPRequest, policy: RequestCachePolicy = .useProtocolCachePolicy, partition: String? = nil
  ) -> CachedResponse? {
    guard !policy.ignoresStored else { return nil }
    let partition = partition ?? configuration.partition
    let lookup: Lookup
    switch resident(for: request, partition, mayForward: false) {
    case .entries(let key, let found):
      if let response = hit(request, policy, key, found, partition) { return traced(response, request) }
      lookup = self.lookup(of: found, key, for: request, partition)
    case .perhapsOnDisk: return nil
    case .otherwise:
      guard !request.method.isQuery,
        let found = lookUp(request, content: .empty, partition, inMemory: true)
      else { return nil }
      lookup = found
    }
    guard !lookup.candidates.entries.isEmpty, areConfirmed(lookup.candidates) else { return nil }
    let plan = engine.plan(
      for: request, policy: policy, candidates: lookup.candidates.responses, now: clock.now)
    guard case .serve(let service) = plan, service.revalidation == nil else { return nil }
    return traced(serve(service, to: request, lookup), request)
  }

  /// Records an answer that was given without waiting.
  private func traced(_ response: CachedResponse, _ request: HTTPRequest) -> CachedResponse {
    configuration.tracer?.traceHit(response, to: request)
    return response
  }

  // MARK: - From memory

  /// Returns the response from memory if there is a single stored response, which is fresh and needs no other check;
  /// `nil` if the decision takes more.
  private func hit(
    _ request: HTTPRequest, _ policy: RequestCachePolicy, _ key: CacheKey, _ found: FoundEntries,
    _ partition: String
  ) -> CachedResponse? {
    guard let entry = found.entries.only, !store.mayBeMarked(entry, in: found.entries) else { return nil }
    // The tier compares the time with its own only, which began with this process.
    if let shared, !shared.mayTrust(revision: entry.revision, at: clock.now) { return nil }
    guard let now = earlier.now(for: entry) else { return nil }
    // The remaining bytes are checked only here, each time they are served. The check allocates nothing and takes less
    // than a tenth of the time of a response. The store, which could check once, does not know HTTP.
    var hit: CacheEngine.Hit?
    entry.withMetadata { bytes in
      guard let fresh = engine.hit(for: request, policy: policy, stored: bytes, now: now),
        StoredResponse.canDecode(bytes)
      else { return }
      hit = fresh
    }
    guard let hit else { return nil }
    noteUse(of: entry, under: key, found.variants)
    let body = request.method == .head ? MessageBody.empty : MessageBody(entry.body)
    note(.served, request, hit.reason, source: .hit, byteCount: body.length, partition: partition)
    return CachedResponse(
      StoredHeading(
        entry, ageInSeconds: hit.ageInSeconds,
        cacheStatus: cacheStatus(of: hit.reason, key, remainingSeconds: hit.remainingSeconds)),
      body: body, reason: hit.reason)
  }

  /// Returns the content of a QUERY request, read into memory if it can be part of the key.
  private func withQueryContent(_ body: MessageBody, of request: HTTPRequest) async throws -> MessageBody {
    guard request.method.isQuery, !body.isInMemory, let length = body.length,
      length <= configuration.maximumQueryContent
    else { return body }
    return MessageBody(try await body.collect(upTo: length))
  }

  // MARK: - The steps of a request

  /// Answers a request from the stored responses: serves one, fails, or sends a request to the origin. It decides every
  /// answer except a plain hit in memory.
  private func answer(_ course: RequestCourse) async throws -> CachedResponse {
    var step = try nextStep(of: course)
    while true {
      switch step {
      case .answer(let response): return response
      case .begin(let service, let body):
        // An unreadable entry has been dropped, and the next lookup does not find it.
        if await body.canBegin() { return serve(service, body, course) }
      case .follow(let claim, let pending):
        switch try await follow(claim, pending, isPatient: !course.hasSeenFailure) {
        case .answer(let response): return response
        case .lookUpAgain(let landing):
          course.note(landing, forward: pending.forwarding.reason.forward)
          // The next request begins a new fetch, instead of waiting for an origin that is silent.
          if case .overdue = landing, claim.flight.isSilent { flights.close(claim.flight) }
        }
      case .share(let pending, let claim):
        switch await share(pending) {
        case .filled:
          step = try nextStep(of: course, afterFillingUnder: claim)
          continue
        case .nothing(let lease):
          return try await lead(pending.with(lease: lease), claim ?? Flight.make(on: clock))
        }
      case .lead(let pending, let claim): return try await lead(pending, claim)
      case .lookUpAgain: break
      }
      course.lookup = await lookUp(
        course.call.request, content: course.call.body, course.lookup.partition)
      step = try nextStep(of: course)
    }
  }

  /// Decides what a request does next after something was copied from the shared tier: usually it is served as a plain hit.
  ///
  /// - Parameter claim: the fetch that the request leads, if others may have joined it.
  private func nextStep(
    of course: RequestCourse, afterFillingUnder claim: Flight.Claim?
  ) throws -> RequestCourse.Step {
    let lookup = course.lookup
    if let claim, let key = lookup.key { course.led = (claim, key) }
    // With a target, the key may be another one now.
    guard let key = lookup.key, lookup.target == nil,
      let found = entries(of: key, for: course.call.request, inMemory: true)
    else {
      return .lookUpAgain
    }
    if course.collapsing == .notTried,
      let response = hit(course.call.request, course.call.policy, key, found, lookup.partition)
    {
      course.led = nil
      // Requests that have joined it look up the store.
      if let claim { land(claim.flight, .notShared) }
      return .answer(response)
    }
    course.lookup = self.lookup(found, under: key, lookup.partition)
    return try nextStep(of: course)
  }

  /// Decides what a request does next. It never suspends, so its temporary values are no part of a suspended task.
  private func nextStep(of course: RequestCourse) throws -> RequestCourse.Step {
    let (call, now) = (course.call, clock.now)
    markUnconfirmed(&course.lookup, since: course.start ?? now, at: now)
    course.start = course.start ?? now
    let lookup = course.lookup
    var plan = engine.plan(
      for: call.request, policy: call.policy, candidates: course.responses, now: now,
      revalidatesInBackground: call.revalidatesInBackground)
    if case .forward(var forwarding) = plan, lookup.key == nil, forwarding.reason == .nothingStored {
      forwarding.reason = call.request.reasonWithoutKey
      plan = .forward(forwarding)
    }
    if case .forward(var forwarding) = plan, lookup.variants?.index != nil,
      forwarding.reason == .nothingStored
    {
      // The index leads to no response that the request selects.
      forwarding.reason = .noVariantMatches
      plan = .forward(forwarding)
    }
    if case .forward(var forwarding) = plan, lookup.isUnconfirmed, forwarding.reason == .storedInvalidated {
      forwarding.reason = .storedUnconfirmed
      plan = .forward(forwarding)
    }
    if let (claim, ledKey) = course.led {
      course.led = nil
      if case .forward(let forwarding) = plan, forwarding.isCollapsible, lookup.key == ledKey {
        return send(course.pending(forwarding), claim, course)
      }
      // Requests that have joined it since must send their own, and must not wait for this one.
      land(claim.flight, .notShared)
    }
    switch plan {
    case .serve(var service):
      if course.awaited != nil {
        // What is left out of the age to judge the response is part of the `Age` that the client sees (§4.2.3).
        let facts = lookup.candidates.responses[service.candidate].facts
        service.ageInSeconds = facts.ageInSeconds(at: now)
        service.remainingSeconds = facts.remainingSeconds(at: now)
      }
      let body = content(of: service, lookup, for: call.request)
      return body.isReadyToBegin ? .answer(serve(service, body, course)) : .begin(service, body)
    case .fail(let refusal): return .answer(try refuse(call.request, refusal, lookup.partition))
    case .forward(let forwarding):
      // The response to the other request does not fit this one. This one sends its own, because a second wait might
      // never end.
      guard let key = lookup.key, course.collapsing == .notTried, mayWait(forwarding, key)
      else { return send(course.pending(forwarding), nil, course) }
      let fetchKey = fetchKey(key, lookup, for: call.request)
      let (claim, isLeader) = flights.join(fetchKey, at: store.removalToken(for: StoreKey(key.bytes))) {
        store.mayBeRemoved(key, since: $0)
      }
      guard isLeader else { return .follow(claim, course.pending(forwarding)) }
      if !course.hasLookedAgain, flights.mayHaveEnded(fetchKey, since: course.endCount) {
        // Another fetch ended since the store was looked up, and may have stored the response.
        course.hasLookedAgain = true
        course.led = (claim, key)
        return .lookUpAgain
      }
      return send(course.pending(forwarding), claim, course)
    }
  }

  /// Returns the step of a request that nothing stored can answer: to ask the shared tier, once, or to lead a fetch.
  private func send(_ pending: PendingExchange, _ claim: Flight.Claim?, _ course: RequestCourse)
    -> RequestCourse.Step
  {
    guard !course.hasAskedTier, mayShare(pending.forwarding, pending.lookup) else {
      return .lead(pending, claim ?? Flight.make(on: clock))
    }
    course.hasAskedTier = true
    return .share(pending, claim)
  }

  /// Serves the stored response that a plan selected, and revalidates it in the background if the plan says so.
  private func serve(
    _ service: CacheEngine.Service, _ body: MessageBody, _ course: RequestCourse
  ) -> CachedResponse {
    revalidate(service, course.call, course.lookup)
    return serve(service, body, to: course.call.request, course.lookup, collapsing: course.collapsing)
  }

  /// Returns the executor of a fetch: threads that may block, if the cache has a disk; `nil` for Swift's own.
  private func executor(for call: Call) -> (any TaskExecutor)? {
    store.hasDisk ? BlockingExecutor.shared : call.executor
  }

  /// Sends a request to the origin and waits for its response. If the caller is cancelled, the followers keep the
  /// fetch.
  private func lead(_ pending: PendingExchange, _ claim: Flight.Claim) async throws -> CachedResponse {
    claim.flight.run(on: executor(for: pending.call)) { [self] flight in await fly(pending, flight) }
    var delivery = try await claim.flight.response()
    if let (transfer, reader) = delivery.reading {
      delivery.response.body = MessageBody(
        .stream(TransferReader(transfer, reader, claim)), length: delivery.response.body.length)
    }
    return delivery.response
  }

  private enum Followed {
    case answer(CachedResponse)
    case lookUpAgain(Flight.Landing)
  }

  /// Shares another request's fetch: reads its response as it arrives, or waits until it is stored.
  ///
  /// - Parameter isPatient: whether the request tries once more if the fetch fails.
  private func follow(
    _ claim: Flight.Claim, _ pending: PendingExchange, isPatient: Bool
  ) async throws -> Followed {
    try await traced(.wait, of: pending.request) { span in
      let followed = try await followUntraced(claim, pending, isPatient: isPatient)
      // Its span exists by now.
      if let context = claim.flight.span { span?.link(to: context) }
      return followed
    }
  }

  private func followUntraced(
    _ claim: Flight.Claim, _ pending: PendingExchange, isPatient: Bool
  ) async throws -> Followed {
    let flight = claim.flight
    var landing = await flight.follow(mayShare: true)
    if case .shared(let shared) = landing {
      switch read(shared, claim, pending) {
      case .answer(let response): return .answer(response)
      case .notForThis: return .lookUpAgain(.notShared)
      case .whenStored: landing = await flight.follow()
      }
    }
    switch landing {
    case .cancelled: throw CancellationError()
    case .failed(let error):
      // A stored response may be used instead. Otherwise one of the waiting requests repeats the fetch, for all.
      let (error, result) = TransportFault.cause(of: error)
      let outcome = engine.outcome(of: exchange(result, pending, requestTime: clock.now))
      let collapsed = pending.with(collapsing: .collapsed(status: nil))
      if isPatient, !outcome.answer.isStored { return .lookUpAgain(landing) }
      guard let response = await respond(toFailure: outcome, collapsed) else { throw error }
      return .answer(response)
    case .notShared, .shared, .abandoned, .overdue, .stored: return .lookUpAgain(landing)
    }
  }

  /// How a follower may use a response that is still arriving.
  private enum Reading {
    case answer(CachedResponse)
    /// The response can answer when it is stored: it answers a range, or its beginning is no longer in memory.
    case whenStored
    /// The rules do not allow the response for this request, now or later.
    case notForThis
  }

  /// Answers a follower with a response that is still arriving, if the rules allow it for this request.
  private func read(_ shared: SharedResponse, _ claim: Flight.Claim, _ pending: PendingExchange) -> Reading {
    let request = pending.request
    // RFC 9111 §4: the response is judged as if it were already stored.
    let plan = engine.plan(
      for: request, policy: pending.forwarding.policy, candidates: [shared.response], now: clock.now)
    guard case .serve(let service) = plan, !isMarked(shared.response, since: claim.flight.start, pending)
    else {
      return .notForThis
    }
    guard service.content == .whole || service.content == .notModified, service.revalidation == nil else {
      return .whenStored
    }
    var body = MessageBody.empty
    if request.method != .head, service.content == .whole {
      guard let reader = shared.transfer.addReader() else { return .whenStored }
      body = MessageBody(
        .stream(TransferReader(shared.transfer, reader, claim)), length: shared.transfer.length)
    }
    return .answer(
      serve(
        service, shared.response, body, to: request, pending.lookup,
        collapsing: .collapsed(
          forward: pending.forwarding.reason.forward, status: shared.status,
          isStored: shared.settlement.isStored)))
  }

  /// Whether a group of the response was invalidated after the fetch began, and perhaps before this request was made.
  /// (The key itself was checked when the request joined the fetch; the groups were not known then.)
  private func isMarked(
    _ response: StoredResponse, since start: RemovalToken?, _ pending: PendingExchange
  ) -> Bool {
    guard let start, let key = pending.lookup.key else { return false }
    return store.mayBeMarked(response.scopes(under: key).map { StoreScope($0) }, since: start)
  }

  /// Starts the revalidation of a response that is served stale meanwhile (RFC 5861 §3).
  private func revalidate(_ service: CacheEngine.Service, _ call: Call, _ lookup: Lookup) {
    guard let revalidation = service.revalidation, let key = lookup.key,
      let claim = flights.startInBackground(
        fetchKey(key, lookup, for: call.request), at: store.removalToken(for: StoreKey(key.bytes)),
        isOutdated: { store.mayBeRemoved(key, since: $0) })
    else { return }
    var call = call
    call.interim = nil
    if let background = call.localOrigin?.background { call.transport = background }
    let pending = PendingExchange(call: call, forwarding: revalidation, lookup: lookup, isInBackground: true)
    claim.flight.run(on: executor(for: call)) { [self] flight in
      switch await shareInBackground(pending) {
      case .filled: land(flight, .abandoned)
      case .nothing(let lease): await fly(pending.with(lease: lease), flight)
      }
      // The task itself wants the result.
      withExtendedLifetime(claim) {}
    }
  }

  /// Sends the request to the origin, and applies the engine's outcome to the response. Runs in the fetch's own task.
  private func fly(_ pending: PendingExchange, _ flight: Flight) async {
    note(.forwarded, pending.request, pending.forwarding.reason, partition: pending.lookup.partition)
    let key = pending.lookup.key
    var tokens = removalTokens(pending.lookup)
    let requestTime = clock.now
    let response: TransportResponse
    do {
      let step: TracedStep = pending.isInBackground ? .revalidation : .fetch
      response = try await traced(step, of: pending.forwarding.request) { span in
        if let span { flight.span = span.context }
        let response = try await pending.send()
        span?.record(response.head.status)
        return response
      }
    } catch is TransportAbandoned {
      land(flight, .abandoned)
      flight.deliver(.failure(CancellationError()))
      return
    } catch {
      land(flight, .failed(error))
      let (error, result) = TransportFault.cause(of: error)
      let outcome = engine.outcome(of: exchange(result, pending, requestTime: requestTime))
      if let response = await respond(toFailure: outcome, pending) {
        flight.deliver(.success(.init(response: response)))
      } else {
        flight.deliver(.failure(error))
      }
      return
    }
    let exchange = exchange(
      .response(response.head), pending, length: response.body.length, requestTime: requestTime)
    let outcome = engine.outcome(of: exchange)
    let isOwnInvalidation =
      !outcome.invalidations.isEmpty && !isRemoved(key, scopes(outcome, under: key), since: tokens.key)
    let isUpdated = apply(outcome, pending, since: tokens)
    // The response to a POST may replace what the POST invalidates (RFC 9110 §9.3.3), but not what others have
    // invalidated since.
    if isOwnInvalidation { tokens = removalTokens(pending.lookup) }
    switch outcome.answer {
    case .forwardAgain(let forwarding):
      await fly(pending.with(forwarding: forwarding), flight)
    case .stored(let answer):
      let body = content(of: answer, pending)
      guard await body.canBegin() else { return await flyAgain(pending, flight) }
      let status = response.head.status.code
      noteSharing(answer.response.isReusable(after: exchange.times), pending, status: status)
      land(flight, .stored(status: status, at: exchange.times))
      flight.deliver(
        .success(
          .init(
            response: respond(
              with: answer, body, outcome, pending, forwardStatus: status, isUpdated: isUpdated))))
    case .generated(let refusal):
      land(flight, .notShared)
      flight.deliver(.success(.init(response: generate(refusal, pending, status: response.head.status.code))))
    case .network, .completed, .failure:
      guard await MessageBody([beginning(of: outcome, pending)]).canBegin() else {
        return await flyAgain(pending, flight)
      }
      await passOn(response, outcome, of: exchange, pending, flight, tokens: tokens)
    }
  }

  /// Fetches the complete response, because the stored response that would have answered turned out to be damaged.
  private func flyAgain(_ pending: PendingExchange, _ flight: Flight) async {
    var lookup = pending.lookup
    lookup.candidates = Candidates()
    let plan = engine.plan(
      for: pending.request, policy: pending.forwarding.policy, candidates: [], now: clock.now)
    switch plan {
    case .forward(let forwarding):
      await fly(pending.with(forwarding: forwarding, lookup: lookup), flight)
    case .serve, .fail:
      // It was forwarded with stored responses, so it can be sent without them.
      land(flight, .notShared)
      flight.deliver(.failure(HTTPCacheError.notCached(plan.reason)))
    }
  }

  /// Ends a fetch for all requests that may join it.
  func land(_ flight: Flight, _ landing: Flight.Landing) {
    flights.close(flight)
    flight.land(landing)
  }
}

/// The parameters of one request to the cache.
struct Call: Sendable {
  var request: HTTPRequest
  var body: MessageBody
  var policy: RequestCachePolicy
  /// Receives the interim responses; `nil` for a request that no client waits for.
  var interim: InterimReceiver?
  var willStore: StorageHook?
  var lifetime: LifetimeRule?
  var transport: Transport
  /// Runs the fetch in a cache without a disk; `nil` for Swift's own executor.
  var executor: (any TaskExecutor)?
  /// Set if a handler in this process is the origin.
  var localOrigin: LocalOrigin?

  /// Whether a stale response may be served while it is revalidated.
  var revalidatesInBackground: Bool { localOrigin.map { $0.background != nil } ?? true }
}

/// A request that is about to go to the origin.
///
/// It is a class because all steps of a fetch know it. As a struct it has several hundred bytes, and an async function
/// keeps many copies.
final class PendingExchange: Sendable {
  let call: Call
  let forwarding: CacheEngine.Forwarding
  let lookup: Lookup
  let collapsing: Collapsing
  /// Whether no client waits for it: it revalidates a stored response.
  let isInBackground: Bool
  /// The lease of the shared tier under which it is sent.
  let lease: LeaseHold?

  init(
    call: Call, forwarding: CacheEngine.Forwarding, lookup: Lookup, collapsing: Collapsing = .notTried,
    isInBackground: Bool = false, lease: LeaseHold? = nil
  ) {
    self.call = call
    self.forwarding = forwarding
    self.lookup = lookup
    self.collapsing = collapsing
    self.isInBackground = isInBackground
    self.lease = lease
  }

  /// Returns the same with other parts.
  func with(
    forwarding: CacheEngine.Forwarding? = nil, lookup: Lookup? = nil, collapsing: Collapsing? = nil,
    lease: LeaseHold? = nil
  ) -> PendingExchange {
    PendingExchange(
      call: call, forwarding: forwarding ?? self.forwarding, lookup: lookup ?? self.lookup,
      collapsing: collapsing ?? self.collapsing, isInBackground: isInBackground, lease: lease ?? self.lease)
  }

  /// The client's request.
  var request: HTTPRequest { forwarding.original }

  /// Sends the request and returns the origin's final response. Interim responses before it go to the client (RFC 9110
  /// §15.2).
  func send() async throws -> TransportResponse {
    var response = try await call.transport(forwarding.request, call.body)
    while response.head.status.kind == .informational, let next = response.next {
      call.interim?(response.head)
      response = try await next()
    }
    return response
  }
}

/// Whether the request was coalesced with another: the `collapsed` parameter of `Cache-Status` (RFC 9211 §2.6).
enum Collapsing: Hashable, Sendable {
  /// It went to the origin by itself, or did not need the origin.
  case notTried
  /// It waited for a response that it could not use.
  case inVain
  /// The response to another request answers it.
  ///
  /// - Parameters:
  ///   - forward: why it would have gone to the origin.
  ///   - status: the origin's status code for the other request; `nil` if there was none.
  ///   - isStored: whether the response is stored; `false` if it still arrives, and that is unknown.
  case collapsed(forward: CacheStatus.Forward? = nil, status: Int?, isStored: Bool = true)
}

/// A response that followers may read while it is being stored.
struct SharedResponse: Sendable {
  var response: StoredResponse
  /// The origin's status code.
  var status: Int
  var transfer: Transfer
  /// What is known about its storing.
  var settlement: Settlement
}

extension CacheEngine.Outcome.Answer {
  fileprivate var isStored: Bool { if case .stored = self { true } else { false } }
}

extension CacheEngine.Forwarding {
  /// Whether this request may share the response to an equal request in flight.
  ///
  /// It may not if it requires a response made after it was sent (a reload, `no-cache`), or if every use requires its
  /// own revalidation. The response to a range request serves only requests for that range or a part of it.
  var isCollapsible: Bool {
    guard original.method == .get || original.method.isQuery, original.headerFields[.range] == nil,
      policy == .useProtocolCachePolicy || policy == .returnCacheDataElseLoad
    else { return false }
    switch reason {
    case .nothingStored, .noVariantMatches, .stale, .staleMustRevalidate, .storedInTheFuture,
      .storedUnconfirmed, .contentIncomplete:
      return true
    default: return false
    }
  }
}
