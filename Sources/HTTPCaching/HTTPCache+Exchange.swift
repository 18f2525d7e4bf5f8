import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

extension HTTPCache {
  /// Asks the origin, and does what the engine says with the answer. Runs in the flight's own task.
  func fly(_ pending: PendingExchange, _ flight: Flight) async {
    note(
      .forwarded, pending.forwarding.original, pending.forwarding.reason,
      partition: pending.lookup.partition)
    let key = pending.lookup.key
    var tokens = removalTokens(pending.lookup)
    let requestTime = clock.now
    let response: TransportResponse
    do {
      response = try await pending.send()
    } catch {
      land(flight, key, .failed(error))
      let (error, result) = TransportFault.cause(of: error)
      let outcome = outcome(of: result, pending, requestTime: requestTime)
      if case .stored(let answer) = outcome.answer {
        flight.deliver(.success(respond(with: answer, outcome, pending, forwardStatus: nil)))
      } else {
        noteFailure(of: pending)
        flight.deliver(.failure(error))
      }
      return
    }
    let outcome = outcome(
      of: .response(response.head), pending, length: response.body.length, requestTime: requestTime)
    let isOwnInvalidation =
      !outcome.invalidations.isEmpty && !isRemoved(key, scopes(outcome, under: key), since: tokens.key)
    apply(outcome, pending)
    // What a POST invalidates, its own response may replace (RFC 9110 §9.3.3); not what another has invalidated since.
    if isOwnInvalidation { tokens = removalTokens(pending.lookup) }
    switch outcome.answer {
    case .forwardAgain(let forwarding):
      var again = pending
      again.forwarding = forwarding
      await fly(again, flight)
    case .stored(let answer):
      land(flight, key, .stored(status: response.head.status.code))
      flight.deliver(
        .success(respond(with: answer, outcome, pending, forwardStatus: response.head.status.code)))
    case .network, .completed, .failure:
      await passOn(response, outcome, pending, flight, tokens: tokens)
    }
  }

  private func isRemoved(_ key: CacheKey?, _ scopes: [StoreScope], since token: RemovalToken?) -> Bool {
    guard let key, let token else { return false }
    return store.mayBeRemoved(StoreKey(key.bytes), in: scopes, since: token)
  }

  /// The scopes of the response that is to be stored.
  func scopes(_ outcome: Outcome, under key: CacheKey?) -> [StoreScope] {
    guard case .store(let stored, _) = outcome.storage, let key else { return [] }
    return stored.scopes(under: key).map { StoreScope($0) }
  }

  func outcome(
    of result: Exchange.Result, _ pending: PendingExchange, length: Int? = nil, requestTime: Timestamp
  ) -> Outcome {
    engine.outcome(
      of: Exchange(
        forwarding: pending.forwarding, candidates: pending.lookup.candidates.responses, result: result,
        contentLength: length.map { Int64($0) }, requestTime: requestTime, responseTime: clock.now))
  }

  /// A stored response as the answer to a request that went to the origin.
  func respond(
    with answer: Outcome.StoredAnswer, _ outcome: Outcome, _ pending: PendingExchange, forwardStatus: Int?
  ) -> CachedResponse {
    let request = pending.forwarding.original
    let source: CachedResponse.Source =
      outcome.reason == .validated ? .validated : (answer.isStale ? .stale : .hit)
    let body = content(
      answer.content, of: answer.response, pending.lookup.candidates.entries[answer.candidate], for: request)
    noteAnswer(to: pending, outcome.reason, source, byteCount: body.length)
    return CachedResponse(
      head: answer.response.response(answer.content, age: answer.age, boundary: boundary), body: body,
      source: source, reason: outcome.reason,
      cacheStatus: CacheStatus(
        cache: configuration.name, forward: pending.forwarding.reason.forward, forwardStatus: forwardStatus,
        timeToLive: answer.remainingLifetime, isStored: !outcome.updates.isEmpty,
        isCollapsed: pending.isCollapsed, key: shownKey(pending.lookup.key), detail: outcome.reason))
  }

  /// Says that the client has its answer, if there is one who waits for it.
  func noteAnswer(
    to pending: PendingExchange, _ reason: Reason, _ source: CachedResponse.Source, byteCount: Int? = nil
  ) {
    guard !pending.isBehind else { return }
    note(
      .answered, pending.forwarding.original, reason, source: source, byteCount: byteCount,
      partition: pending.lookup.partition)
  }

  func noteFailure(of pending: PendingExchange) {
    guard !pending.isBehind else { return }
    note(.failed, pending.forwarding.original, .originUnreachable, partition: pending.lookup.partition)
  }

  /// The key, where it is to be told and is no burden to a header section: that of a QUERY has the content.
  func shownKey(_ key: CacheKey?) -> CacheKey? {
    guard configuration.showsKeys, let key, key.bytes.count <= 1024 else { return nil }
    return key
  }

  /// In whole seconds, of a response that is being stored.
  func remainingLifetime(_ outcome: Outcome) -> Int64? {
    guard case .store(let stored, _) = outcome.storage else { return nil }
    return stored.facts.remainingLifetime(at: clock.now) / 1000
  }

  // MARK: - What happens to the store

  /// Updates and removes what the outcome says, before anybody sees the answer.
  func apply(_ outcome: Outcome, _ pending: PendingExchange) {
    let (request, partition) = (pending.forwarding.original, pending.lookup.partition)
    for uri in outcome.invalidations {
      removeAll(for: uri, partition: partition)
      note(.invalidated, request, .invalidatedByUnsafeMethod, partition: partition)
    }
    store.mark(outcome.invalidatedScopes.map { StoreScope($0.scope.bytes(partition: partition)) })
    for invalidated in outcome.invalidatedScopes {
      note(.invalidated, request, invalidated.reason, partition: partition)
    }
    guard let key = pending.lookup.key else { return }
    let storeKey = StoreKey(key.bytes)
    for update in outcome.updates {
      let candidates = pending.lookup.candidates
      let id = candidates.entries[update.candidate].id
      // Made invalid with its group since it was looked up: an update must not take it out of the group.
      if store.isInvalidated(candidates.responses[update.candidate], id, under: key) { continue }
      let isUpdated = store.updateMetadata(
        of: id, key: storeKey,
        metadata: update.response.encoded(), storedAt: update.response.facts.responseTime.milliseconds)
      // Replaced or removed meanwhile: what came in its place is newer.
      if isUpdated { note(.updated, request, update.reason, partition: partition) }
    }
    for candidate in outcome.removals {
      store.remove(storeKey, variant: pending.lookup.candidates.entries[candidate].variant)
    }
  }

  func land(_ flight: Flight, _ key: CacheKey?, _ landing: Flight.Landing) {
    if let key { flights.close(flight, for: key) }
    flight.land(landing)
  }
}

extension Reason {
  init(_ refusal: RefusalReason) {
    switch refusal {
    case .tooLarge: self = .tooLarge
    case .removedSince: self = .removedMeanwhile
    case .overtaken: self = .overtaken
    case .lengthMismatch, .cancelled: self = .incompleteContent
    case .superseded, .noRoom, .noTier, .inputOutput, .closed: self = .storeFailed
    }
  }
}
