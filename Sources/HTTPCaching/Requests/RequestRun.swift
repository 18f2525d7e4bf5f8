// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// A request that has begun, and that could not be answered at once: see ``HTTPCache/begin(_:policy:partition:)``.
public struct PendingRequest: Sendable {
  let request: HTTPRequest
  let policy: RequestCachePolicy
  /// What the rules decide about the request; `nil` if none concerns it.
  let ruled: RuledRequest?
  /// Whether a stale response may be served while it is revalidated.
  let revalidatesInBackground: Bool
  /// Whether the origin is a handler in this process: a reload finds nothing newer there, and runs it for nothing.
  let isLocal: Bool
  /// How many fetches had ended before the store was looked up.
  var endCount: Int
  var lookup: Lookup
  var machine = RequestMachine()
  /// What it does next; `nil` if it waits for the disk.
  var action: RequestMachine.Action?
  /// When the stored responses were first judged.
  var start: Timestamp?
  /// When the request began, for the event that ends it.
  var begun: EventHub.Moment = 0

  init(
    _ request: HTTPRequest, _ policy: RequestCachePolicy, by ruled: RuledRequest?, _ lookup: Lookup,
    endCount: Int, revalidatesInBackground: Bool, isLocal: Bool = false
  ) {
    (self.request, self.policy, self.lookup, self.endCount) = (request, policy, lookup, endCount)
    (self.ruled, self.isLocal) = (ruled, isLocal)
    self.revalidatesInBackground = revalidatesInBackground
  }

  /// Decides what the request does next, by the stored responses.
  mutating func judge(in cache: HTTPCache) {
    let now = cache.clock.now
    let start = start ?? now
    self.start = start
    cache.shared?.markUnconfirmed(&lookup, since: start, at: now)
    let awaited = machine.awaited.flatMap { start <= $0.response ? $0 : nil }
    let plan = cache.plan(
      for: request, by: ruled, policy: policy, candidates: responses(awaited), now: now,
      revalidatesInBackground: revalidatesInBackground,
      isReloadMet: isLocal
        || awaited.map { awaited in
          lookup.responses.contains { $0.facts.responseTime == awaited.response }
        } ?? false)
    switch plan {
    case .serve(var service):
      if awaited != nil {
        // What is left out of the age to judge the response is part of the `Age` that the client sees (§4.2.3).
        let facts = lookup.responses[service.candidate].facts
        service.ageInSeconds = facts.ageInSeconds(at: now)
        service.remainingSeconds = facts.remainingSeconds(at: now)
      }
      let isReady =
        lookup.entries[service.candidate].isResident
        || cache.answers.content(of: service, lookup, for: request).canBeginAtOnce
      action = machine.handle(.found(service, isReady: isReady))
    case .fail(let refusal): action = machine.handle(.refused(refusal))
    case .forward(var forwarding):
      if let reason = reason(insteadOf: forwarding.reason) { forwarding.reason = reason }
      action = machine.handle(
        .missed(
          RequestMachine.Demand(
            forwarding, key: lookup.key,
            mayWait: lookup.key.map { cache.fetches.mayWait(forwarding, $0) } ?? false,
            maySearch: maySearch(forwarding, in: cache))))
    }
  }

  /// Joins the fetch of an equal request, or begins one.
  @inline(never)
  mutating func join(_ demand: RequestMachine.Demand, in cache: HTTPCache) {
    guard let key = demand.key else {
      return handle(.leads(Fetch.make(in: cache.fetches), isLate: false))
    }
    let (store, fetches) = (cache.store, cache.fetches)
    let fetchKey = cache.responses.fetchKey(key, lookup, for: request)
    let (claim, isLeader) = fetches.join(fetchKey, at: store.removalToken(for: StoreKey(key.bytes))) {
      store.mayBeRemoved(key, since: $0)
    }
    if isLeader {
      handle(.leads(claim, isLate: fetches.mayHaveEnded(fetchKey, since: endCount)))
    } else {
      handle(claim.fetch.isEnclosing ? .leads(Fetch.make(in: fetches), isLate: false) : .follows(claim))
    }
  }

  @inline(never)
  mutating func handle(_ event: RequestMachine.Event) { action = machine.handle(event) }

  /// Whether the shared tier may have a response.
  private func maySearch(_ forwarding: CacheEngine.Forwarding, in cache: HTTPCache) -> Bool {
    guard let shared = cache.shared, let key = lookup.key else { return false }
    return shared.mayHave(forwarding, key) && !cache.fetches.isAlone(forwarding, key)
  }

  /// The stored responses, as they are judged for this request.
  private func responses(_ awaited: ExchangeTimes?) -> [StoredResponse] {
    guard let awaited else { return lookup.responses }
    return lookup.responses.map { response in
      guard response.facts.responseTime == awaited.response else { return response }
      var response = response
      response.facts.leaveOutDelay(of: awaited)
      return response
    }
  }

  /// Returns a reason that the engine does not know, because it sees only the responses that were found.
  private func reason(insteadOf reason: CacheEngine.Reason) -> CacheEngine.Reason? {
    switch reason {
    case .nothingStored where lookup.key == nil: request.reasonWithoutKey
    // The index leads to no response that the request selects.
    case .nothingStored where lookup.variants?.index != nil: .noVariantMatches
    case .storedInvalidated where lookup.isUnconfirmed: .storedUnconfirmed
    default: nil
    }
  }
}

/// One request on its way to an answer: performs the actions of its ``RequestMachine``.
///
/// It belongs to the task that answers the request. It is a class because an async function keeps its own copies of what a
/// struct contains at every point where it may wait: as variables there, the same took 13 KB of each request. For the same
/// reason, what does not wait is not inlined.
final class RequestRun {
  private typealias Machine = RequestMachine

  private let cache: HTTPCache
  private var call: Call
  private var pending: PendingRequest

  init(_ cache: HTTPCache, _ call: Call, _ pending: PendingRequest) {
    (self.cache, self.call, self.pending) = (cache, call, pending)
    self.call.begun = pending.begun
    // As the rules have changed it.
    (self.call.request, self.call.ruled) = (pending.request, pending.ruled)
  }

  private var request: HTTPRequest { call.request }

  /// Performs actions until one of them is the answer.
  func answer() async throws -> CachedResponse {
    if request.method.isQuery { try await readQueryContent() }
    while true {
      switch pending.action {
      case nil:
        pending.lookup = await cache.responses.lookUpOnDisk(
          request, content: call.body, pending.lookup.partition)
        pending.judge(in: cache)
      case .lookUp:
        pending.endCount = cache.fetches.endCount
        pending.lookup = await cache.responses.lookUp(request, content: call.body, pending.lookup.partition)
        pending.judge(in: cache)
      case .read(let service):
        let content = cache.answers.content(of: service, pending.lookup, for: request)
        pending.handle(.read(isReadable: await content.canBegin()))
      case .join(let demand): pending.join(demand, in: cache)
      case .wait(let demand, let claim, let mayRead):
        pending.handle(await wait(demand, claim, mayRead: mayRead))
      case .search(let demand): pending.handle(await search(demand))
      case .send(let demand, let claim, let collapsing, let lease):
        pending.handle(await send(demand, claim, collapsing, under: lease))
      case .fallBack(let demand, let error): return try await fallBack(demand, error)
      case .serve, .refuse, .answer, .fail: return try end()
      }
    }
  }

  /// Performs the last action, if nothing waits for it.
  @inline(never)
  private func end() throws -> CachedResponse {
    switch pending.action {
    case .serve(let service, let stage): return serve(service, stage)
    case .refuse(let refusal):
      return try cache.answers.refuse(
        request, refusal, by: call.ruled, pending.lookup.partition, since: pending.begun)
    case .answer(let response): return response
    case .fail(let error): throw error
    case nil, .lookUp, .read, .join, .wait, .search, .send, .fallBack:
      preconditionFailure("the request goes on")
    }
  }

  /// Reads the content of a QUERY request into memory, if it can be part of the key.
  private func readQueryContent() async throws {
    guard !call.body.isInMemory, let length = call.body.length, length <= cache.maximumQueryContent else {
      return
    }
    call.body = MessageBody(try await call.body.collect(upTo: length))
  }

  // MARK: - The actions

  /// Serves a stored response, and revalidates it in the background if the engine says so.
  private func serve(_ service: CacheEngine.Service, _ stage: Machine.Stage) -> CachedResponse {
    revalidate(service)
    return cache.answers.serve(
      service, to: request, pending.lookup, collapsing: stage.collapsing, since: pending.begun)
  }

  /// Waits for the fetch of another request.
  @inline(never)
  private func wait(
    _ demand: Machine.Demand, _ claim: Fetch.Claim, mayRead: Bool
  ) async -> Machine.Event {
    // The other request may have to wait for an origin that does not answer.
    if let error = call.withhold?({ unanswered(demand).hasFallback }) {
      return .ended(.failed(error), hasFallback: true)
    }
    return await cache.configuration.traced(.wait, of: request) { span in
      let waited = await claim.follow(mayRead: mayRead)
      // Its span exists by now.
      if let context = claim.fetch.span { span?.link(to: context) }
      switch waited {
      case .arriving(let arriving): return .arriving(read(arriving, claim, demand))
      case .ended(.failed(let error)):
        let outcome = unanswered(demand).outcome(of: error)
        return .ended(.failed(error), hasFallback: outcome.answer.isStored)
      case .ended(let ending): return .ended(ending)
      case .overdue: return .overdue
      case .cancelled: return .cancelled
      }
    }
  }

  /// Answers a follower with a response that is still arriving, if the rules allow it for this request.
  private func read(
    _ arriving: Fetch.Arriving, _ claim: Fetch.Claim, _ demand: Machine.Demand
  ) -> Machine.Reading {
    // RFC 9111 §4: the response is judged as if it were already stored.
    let plan = cache.plan(
      for: request, by: call.ruled, policy: call.policy, candidates: [arriving.response],
      now: cache.clock.now,
      // A validation from before the request does not count, however long its content takes.
      isReloadMet: pending.start.map { $0 <= arriving.response.facts.responseTime } ?? false)
    guard case .serve(let service) = plan, !isMarked(arriving.response, since: claim.fetch.start, demand)
    else {
      return .notForThis
    }
    guard service.content == .whole || service.content == .notModified, service.revalidation == nil else {
      return .whenStored
    }
    var body = MessageBody.empty
    if request.method != .head, service.content == .whole {
      guard let reader = arriving.transfer.addReader() else { return .whenStored }
      body = MessageBody(
        .stream(TransferReader(arriving.transfer, reader, claim)), length: arriving.transfer.length)
    }
    return .answer(
      cache.answers.serve(
        service, arriving.response, body, to: request, pending.lookup,
        collapsing: .collapsed(
          forward: demand.forwarding.reason.forward, status: arriving.response.status.code,
          isStored: arriving.settlement.isStored), since: pending.begun))
  }

  /// Whether a group of the response was invalidated after the fetch began, and perhaps before this request was made.
  /// (The key itself was checked when the request joined the fetch; the groups were not known then.)
  private func isMarked(
    _ response: StoredResponse, since start: RemovalToken?, _ demand: Machine.Demand
  ) -> Bool {
    guard let start, let key = demand.key else { return false }
    return cache.store.mayBeMarked(response.scopes(under: key).map { StoreScope($0) }, since: start)
  }

  /// Looks for a response in the shared tier before a request goes to the origin.
  ///
  /// If the tier has no such response, the call takes the lease of the key, so that this node sends the request for all
  /// nodes. If another node has the lease, it waits for that node, and looks once more.
  @inline(never)
  private func search(_ demand: Machine.Demand) async -> Machine.Event {
    guard let shared = cache.shared else { return .notFilled(nil) }
    if await Self.fill(pending.lookup, for: request, from: shared, in: cache) { return .filled }
    guard let key = demand.key, demand.mayWait, request.method == .get else { return .notFilled(nil) }
    let leaseKey = cache.responses.leaseKey(key, pending.lookup, for: request)
    let leasing = await cache.configuration.traced(.tierLease, of: request) { _ in
      await shared.lease(leaseKey)
    }
    switch leasing {
    case .leads(let lease): return .notFilled(lease)
    case .alone: return .notFilled(nil)
    case .waited:
      let isFilled = await Self.fill(pending.lookup, for: request, from: shared, in: cache)
      return isFilled ? .filled : .notFilled(nil)
    }
  }

  private static func fill(
    _ lookup: Lookup, for request: HTTPRequest, from shared: SharedTierLink, in cache: HTTPCache
  ) async -> Bool {
    await cache.configuration.traced(.tierLookup, of: request) { _ in
      await shared.fill(lookup, for: request, in: cache.responses)
    }
  }

  /// Sends a request to the origin and waits for its response. If the caller is cancelled, the followers keep the fetch.
  private func send(
    _ demand: Machine.Demand, _ claim: Fetch.Claim?, _ collapsing: Collapsing, under lease: LeaseHold?
  ) async -> Machine.Event {
    let claim = claim ?? Fetch.make(in: cache.fetches)
    claim.fetch.run(on: cache.executor(for: call), under: lease) {
      [cache, call, lookup = pending.lookup] fetch in
      await fetch.send(SentRequest(call, demand.forwarding, lookup, collapsing, in: cache))
    }
    do {
      return .arrived(try await claim.fetch.response())
    } catch {
      return .failed(error)
    }
  }

  /// Starts the revalidation of a response that is served stale meanwhile (RFC 5861 §3).
  private func revalidate(_ service: CacheEngine.Service) {
    let (store, lookup) = (cache.store, pending.lookup)
    guard let revalidation = service.revalidation, let key = lookup.key,
      let claim = cache.fetches.startInBackground(
        cache.responses.fetchKey(key, lookup, for: request),
        at: store.removalToken(for: StoreKey(key.bytes)),
        isOutdated: { store.mayBeRemoved(key, since: $0) })
    else { return }
    var call = call
    call.interim = nil
    if let background = call.localOrigin?.background { call.transport = background }
    claim.fetch.run(on: cache.executor(for: call)) { [cache, call] fetch in
      if await Self.isNeeded(revalidation, lookup, key, fetch, in: cache) {
        await fetch.send(SentRequest(call, revalidation, lookup, isInBackground: true, in: cache))
      }
      // The task itself wants the result.
      withExtendedLifetime(claim) {}
    }
  }

  /// Looks in the shared tier before a revalidation in the background. If another node is at it, that is enough.
  private static func isNeeded(
    _ revalidation: CacheEngine.Forwarding, _ lookup: Lookup, _ key: CacheKey, _ fetch: Fetch,
    in cache: HTTPCache
  ) async -> Bool {
    guard let shared = cache.shared, shared.mayHave(revalidation, key),
      !cache.fetches.isAlone(revalidation, key)
    else { return true }
    if await fill(lookup, for: revalidation.original, from: shared, in: cache) { return false }
    let leaseKey = cache.responses.leaseKey(key, lookup, for: revalidation.original)
    let leasing = await cache.configuration.traced(.tierLease, of: revalidation.original) { _ in
      await shared.lease(leaseKey, mayWait: false)
    }
    switch leasing {
    case .leads(let lease):
      fetch.lease = lease
      return true
    case .alone: return true
    case .waited: return false
    }
  }

  // MARK: - Failures

  /// Answers with a stored response after the fetch that the request waited for has failed.
  @inline(never)
  private func fallBack(_ demand: Machine.Demand, _ error: any Error) async throws -> CachedResponse {
    let request = unanswered(demand)
    let outcome = request.outcome(of: error)
    guard let response = await cache.answers.respond(toFailure: outcome, request) else {
      throw TransportFault.cause(of: error).error
    }
    return response
  }

  /// Returns the request that another was sent for.
  private func unanswered(_ demand: Machine.Demand) -> SentRequest {
    SentRequest(call, demand.forwarding, pending.lookup, .collapsed(status: nil), in: cache)
  }
}

extension CacheEngine.Outcome.Answer {
  var isStored: Bool { if case .stored = self { true } else { false } }
}
