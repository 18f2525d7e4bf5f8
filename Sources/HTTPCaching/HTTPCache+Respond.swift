import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

extension HTTPCache {
  /// Answers a request, from the store where the rules and the policy allow it, and else from the origin.
  ///
  /// - Parameters:
  ///   - content: the request's content, for methods that have some.
  ///   - policy: what the request allows the cache to do.
  ///   - partition: keeps the responses of one account or site apart from another's; the configuration's, unless given.
  ///   - interim: gets the interim (1xx) responses to this request as they come. They are not stored, and those who are
  ///     answered from the store, or by another's request, get none.
  ///   - willStore: called before a response to this request is stored; it may change or refuse what is stored.
  ///   - transport: brings a response from the origin; called once for all who ask for the same at the same time.
  /// - Throws: ``HTTPCacheError/notCached(_:)`` where the policy forbids the network and nothing stored can answer;
  ///   whatever the transport throws where nothing stored may be used instead.
  public func respond(
    to request: HTTPRequest, body content: MessageBody = .empty,
    policy: RequestCachePolicy = .useProtocolCachePolicy, partition: String? = nil,
    interim: InterimReceiver? = nil, willStore: StorageHook? = nil, transport: @escaping Transport
  ) async throws -> CachedResponse {
    let partition = partition ?? configuration.partition
    let endCount = flights.endCount
    let (body, lookup): (MessageBody, Lookup)
    switch resident(for: request, content: content, partition) {
    case .entries(let key, let entries):
      if let response = hit(request, policy, key, entries, partition) { return response }
      body = content
      lookup = Lookup(
        key: key, partition: partition, candidates: Candidates(entries, under: key, in: store))
    case .perhapsOnDisk:
      (body, lookup) = (content, await lookUpOnDisk(request, content: content, partition))
    case .otherwise:
      body = try await withQueryContent(content, of: request)
      lookup = await lookUp(request, content: body, partition)
    }
    let plan = engine.plan(
      for: request, policy: policy, candidates: lookup.candidates.responses, now: clock.now)
    switch plan {
    case .serve(let service):
      return serve(request, service, lookup, body: body, transport: transport, willStore: willStore)
    case .fail(let refusal): return try refuse(request, refusal, partition)
    case .forward(var forwarding):
      if lookup.key == nil, forwarding.reason == .nothingStored {
        forwarding.reason = request.reasonWithoutKey
      }
      let pending = PendingExchange(
        forwarding: forwarding, lookup: lookup, body: body, interim: interim, willStore: willStore,
        transport: transport)
      guard let key = lookup.key, forwarding.isCollapsible else { return try await lead(pending, Flight()) }
      let (flight, isLeader) = flights.join(key, at: store.removalToken(for: StoreKey(key.bytes))) {
        store.mayBeRemoved(key, since: $0)
      }
      guard isLeader else { return try await follow(flight, pending) }
      if flights.mayHaveEnded(key, since: endCount) { return try await leadAnew(pending, flight) }
      return try await lead(pending, flight)
    }
  }

  /// The response to a request without content if it can be had from memory at once, without the origin; `nil` otherwise.
  ///
  /// Nothing is awaited: good for an event loop, or for asking what a cache holds. A QUERY request, and a response whose
  /// use requires a validation behind the client's back, are left to
  /// ``respond(to:body:policy:partition:interim:transport:)``.
  public func storedResponse(
    for request: HTTPRequest, policy: RequestCachePolicy = .useProtocolCachePolicy, partition: String? = nil
  ) -> CachedResponse? {
    guard !policy.ignoresStored else { return nil }
    let partition = partition ?? configuration.partition
    let lookup: Lookup
    switch resident(for: request, partition) {
    case .entries(let key, let entries):
      if let response = hit(request, policy, key, entries, partition) { return response }
      lookup = Lookup(
        key: key, partition: partition, candidates: Candidates(entries, under: key, in: store))
    case .perhapsOnDisk: return nil
    case .otherwise:
      guard !request.method.isQuery,
        let found = lookUp(request, content: .empty, partition, inMemory: true)
      else { return nil }
      lookup = found
    }
    guard !lookup.candidates.entries.isEmpty else { return nil }
    let plan = engine.plan(
      for: request, policy: policy, candidates: lookup.candidates.responses, now: clock.now)
    guard case .serve(let service) = plan, service.revalidation == nil else { return nil }
    return serve(request, service, lookup, body: .empty, transport: nil)
  }

  // MARK: - Steps

  /// The answer from memory, where a lone response is fresh and nothing else has to be looked at; `nil` where it takes
  /// more to decide.
  private func hit(
    _ request: HTTPRequest, _ policy: RequestCachePolicy, _ key: CacheKey, _ entries: StoredEntries,
    _ partition: String
  ) -> CachedResponse? {
    guard let entry = entries.only, !store.mayBeMarked(entry.id) else { return nil }
    let now = clock.now
    // The rest of the bytes is looked through only here, where it is to be handed out, and each time: that takes no
    // allocation, and less than a tenth of what an answer takes. The store, which could do it once, knows nothing of HTTP.
    var found: Hit?
    entry.withMetadata { bytes in
      guard let hit = engine.hit(for: request, policy: policy, stored: bytes, now: now),
        StoredResponse.canDecode(bytes)
      else { return }
      found = hit
    }
    guard let hit = found else { return nil }
    let body = request.method == .head ? MessageBody.empty : MessageBody(entry.body)
    note(.served, request, hit.reason, source: .hit, byteCount: body.length, partition: partition)
    return CachedResponse(
      StoredHeading(
        entry, age: hit.age,
        cacheStatus: CacheStatus(
          cache: configuration.name, isHit: true, timeToLive: hit.remainingLifetime, key: shownKey(key),
          detail: hit.reason)),
      body: body, reason: hit.reason)
  }

  /// The content of a QUERY request, in memory where it can be part of the key.
  private func withQueryContent(_ body: MessageBody, of request: HTTPRequest) async throws -> MessageBody {
    guard request.method.isQuery, !body.isInMemory, let length = body.length,
      length <= configuration.maximumQueryContent
    else { return body }
    return MessageBody(try await body.collect(upTo: length))
  }

  func serve(
    _ request: HTTPRequest, _ service: Service, _ lookup: Lookup, body: MessageBody, transport: Transport?,
    willStore: StorageHook? = nil, collapsed: Collapsed? = nil
  ) -> CachedResponse {
    let source: CachedResponse.Source = service.isStale ? .stale : .hit
    let stored = lookup.candidates.responses[service.candidate]
    let content = content(
      service.content, of: stored, lookup.candidates.entries[service.candidate], for: request)
    note(
      .served, request, service.reason, source: source, byteCount: content.length,
      partition: lookup.partition)
    if let revalidation = service.revalidation, let transport, let key = lookup.key,
      let flight = flights.startBehind(
        key, at: store.removalToken(for: StoreKey(key.bytes)),
        isOutdated: { store.mayBeRemoved(key, since: $0) })
    {
      let pending = PendingExchange(
        forwarding: revalidation, lookup: lookup, body: body, isBehind: true, willStore: willStore,
        transport: transport)
      flight.run { [self] flight in await fly(pending, flight) }
    }
    return CachedResponse(
      head: stored.response(service.content, age: service.age, boundary: boundary), body: content,
      source: source, reason: service.reason,
      cacheStatus: CacheStatus(
        cache: configuration.name, isHit: collapsed == nil, forward: collapsed?.forward,
        forwardStatus: collapsed?.status, timeToLive: service.remainingLifetime,
        isStored: collapsed != nil, isCollapsed: collapsed.map { _ in true },
        key: shownKey(lookup.key), detail: service.reason))
  }

  /// The content of a stored response, as much of it as the request is answered with.
  func content(
    _ selection: ContentSelection, of stored: StoredResponse, _ entry: StoredEntry, for request: HTTPRequest
  ) -> MessageBody {
    if request.method == .head { return .empty }
    return switch selection {
    case .whole: MessageBody(entry.body)
    case .notModified, .unsatisfiable: .empty
    case .ranges: MessageBody(entry.body, pieces: stored.pieces(of: selection, boundary: boundary))
    }
  }

  func refuse(_ request: HTTPRequest, _ refusal: Refusal, _ partition: String) throws -> CachedResponse {
    note(
      .refused, request, refusal.reason, source: refusal.reason == .onlyIfCached ? .generated : nil,
      partition: partition)
    // only-if-cached is the client's word on the wire and is answered there (RFC 9111 §5.2.1.7); the policy is the
    // caller's, who gets an error.
    guard refusal.reason == .onlyIfCached else { throw HTTPCacheError.notCached(refusal.reason) }
    return CachedResponse(
      head: refusal.response, body: .empty, source: .generated, reason: refusal.reason,
      cacheStatus: CacheStatus(cache: configuration.name, detail: refusal.reason),
      // An intermediary does not sign what it makes up itself (RFC 9211 §2); a user's own cache is none.
      tellsStatus: configuration.rules.kind == .private)
  }

  private func lead(_ pending: PendingExchange, _ flight: Flight) async throws -> CachedResponse {
    flight.run { [self] flight in await fly(pending, flight) }
    return try await flight.response()
  }

  /// Asks the store again before the origin: another's request ended since it was asked, and may have brought the answer.
  private func leadAnew(_ pending: PendingExchange, _ flight: Flight) async throws -> CachedResponse {
    let request = pending.forwarding.original
    let lookup = await lookUp(request, content: pending.body, pending.lookup.partition)
    let plan = engine.plan(
      for: request, policy: pending.forwarding.policy, candidates: lookup.candidates.responses,
      now: clock.now)
    var own = pending
    own.lookup = lookup
    if case .forward(let forwarding) = plan {
      own.forwarding = forwarding
      if forwarding.isCollapsible, lookup.key == pending.lookup.key { return try await lead(own, flight) }
    }
    // Those who have joined it since ask for themselves.
    land(flight, pending.lookup.key, .notShared)
    return switch plan {
    case .serve(let service):
      serve(
        request, service, lookup, body: pending.body, transport: pending.transport,
        willStore: pending.willStore)
    case .fail(let refusal): try refuse(request, refusal, lookup.partition)
    case .forward: try await lead(own, Flight())
    }
  }

  /// Waits for another's request, and then asks the store again.
  private func follow(_ flight: Flight, _ pending: PendingExchange) async throws -> CachedResponse {
    let request = pending.forwarding.original
    var collapsed: Collapsed?
    var landing = await flight.follow(mayShare: true)
    if case .shared(let transfer) = landing {
      switch read(transfer, of: flight, pending) {
      case .answer(let response): return response
      case .notForThis: landing = .notShared
      case .later: landing = await flight.follow()
      }
      flight.leave()
    }
    switch landing {
    case .cancelled: throw CancellationError()
    case .failed(let error):
      // One attempt for all; but each may have something stored that it can use instead.
      let (error, result) = TransportFault.cause(of: error)
      let outcome = outcome(of: result, pending, requestTime: clock.now)
      guard case .stored(let answer) = outcome.answer else {
        noteFailure(of: pending)
        throw error
      }
      var waited = pending
      waited.isCollapsed = true
      return respond(with: answer, outcome, waited, forwardStatus: nil)
    case .notShared, .shared: break
    case .stored(let status):
      collapsed = Collapsed(forward: pending.forwarding.reason.forward, status: status)
    }
    let policy = pending.forwarding.policy
    let lookup = await lookUp(request, content: pending.body, pending.lookup.partition)
    let plan = engine.plan(
      for: request, policy: policy, candidates: lookup.candidates.responses, now: clock.now)
    switch plan {
    case .serve(let service):
      return serve(
        request, service, lookup, body: pending.body, transport: pending.transport,
        willStore: pending.willStore, collapsed: collapsed)
    case .fail(let refusal): return try refuse(request, refusal, lookup.partition)
    case .forward(let forwarding):
      // What came is not for this request. It goes by itself: waiting in line again could last for ever.
      var own = pending
      own.forwarding = forwarding
      own.lookup = lookup
      own.isCollapsed = false
      return try await lead(own, Flight())
    }
  }
}

/// A request about to go to the origin.
struct PendingExchange: Sendable {
  var forwarding: Forwarding
  var lookup: Lookup
  var body: MessageBody
  /// The client's; `nil` for a request that no client waits for.
  var interim: InterimReceiver?
  /// Whether no client waits for it: it brings a stored response up to date.
  var isBehind = false
  var willStore: StorageHook?
  var transport: Transport
  /// Whether another's request answered this one, or was waited for in vain; `nil` if it goes by itself.
  var isCollapsed: Bool?

  /// The origin's final response; the interim ones before it go to the client (RFC 9110 §15.2).
  func send() async throws -> TransportResponse {
    var response = try await transport(forwarding.request, body)
    while response.head.status.kind == .informational, let next = response.next {
      interim?(response.head)
      response = try await next()
    }
    return response
  }
}

/// The request to the origin, another's, that a response was waited for from.
struct Collapsed: Sendable {
  /// Why this request would have gone there.
  var forward: CacheStatus.Forward?
  /// What the origin answered the other with.
  var status: Int
}

extension Forwarding {
  /// Whether a response to the same request that is under way already may serve this one too.
  ///
  /// Not if this request wants an answer that was made after it was sent (a reload, `no-cache`), nor if every use
  /// needs a validation of its own. The answer to a range serves those only who want no more than that range.
  var isCollapsible: Bool {
    guard original.method == .get || original.method.isQuery, original.headerFields[.range] == nil,
      policy == .useProtocolCachePolicy || policy == .returnCacheDataElseLoad
    else { return false }
    switch reason {
    case .nothingStored, .noVariantMatches, .stale, .staleMustRevalidate, .storedInTheFuture,
      .contentIncomplete:
      return true
    default: return false
    }
  }
}
