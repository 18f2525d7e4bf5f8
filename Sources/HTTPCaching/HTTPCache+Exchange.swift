import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

extension HTTPCache {
  /// Asks the origin, and does what the engine says with the answer. Runs in the flight's own task.
  func fly(_ pending: PendingExchange, _ flight: Flight) async {
    note(.forwarded, pending.forwarding.original, pending.forwarding.reason)
    let key = pending.lookup.key
    var token = key.map { store.removalToken(for: StoreKey($0.bytes)) }
    let requestTime = clock.now
    let response: TransportResponse
    do {
      response = try await pending.send()
    } catch {
      land(flight, key, .failed(error))
      let outcome = outcome(of: .failure, pending, requestTime: requestTime)
      if case .stored(let answer) = outcome.answer {
        flight.deliver(.success(respond(with: answer, outcome, pending, forwardStatus: nil)))
      } else {
        flight.deliver(.failure(error))
      }
      return
    }
    let outcome = outcome(of: .response(response.head), pending, requestTime: requestTime)
    let isOwnInvalidation = !outcome.invalidations.isEmpty && !isRemoved(key, since: token)
    apply(outcome, pending)
    // What a POST invalidates, its own response may replace (RFC 9110 §9.3.3); not what another has invalidated since.
    if isOwnInvalidation { token = key.map { store.removalToken(for: StoreKey($0.bytes)) } }
    switch outcome.answer {
    case .forwardAgain(let forwarding):
      var again = pending
      again.forwarding = forwarding
      await fly(again, flight)
    case .stored(let answer):
      land(flight, key, .stored)
      flight.deliver(
        .success(respond(with: answer, outcome, pending, forwardStatus: response.head.status.code)))
    case .network, .failure:
      await passOn(response, outcome, pending, flight, token: token)
    }
  }

  private func isRemoved(_ key: CacheKey?, since token: RemovalToken?) -> Bool {
    guard let key, let token else { return false }
    return store.mayBeRemoved(StoreKey(key.bytes), since: token)
  }

  func outcome(
    of result: Exchange.Result, _ pending: PendingExchange, requestTime: Timestamp
  ) -> Outcome {
    engine.outcome(
      of: Exchange(
        forwarding: pending.forwarding, candidates: pending.lookup.candidates.responses, result: result,
        requestTime: requestTime, responseTime: clock.now))
  }

  /// A stored response as the answer to a request that went to the origin.
  func respond(
    with answer: Outcome.StoredAnswer, _ outcome: Outcome, _ pending: PendingExchange, forwardStatus: Int?
  ) -> CachedResponse {
    let request = pending.forwarding.original
    let source: CachedResponse.Source =
      outcome.reason == .validated ? .validated : (answer.isStale ? .stale : .hit)
    return CachedResponse(
      head: answer.response.response(answer.content, age: answer.age, boundary: boundary),
      body: content(
        answer.content, of: answer.response, pending.lookup.candidates.entries[answer.candidate], for: request
      ),
      source: source, reason: outcome.reason,
      cacheStatus: CacheStatus(
        cache: configuration.name, forward: pending.forwarding.reason.forward, forwardStatus: forwardStatus,
        timeToLive: answer.remainingLifetime, isStored: !outcome.updates.isEmpty, detail: outcome.reason))
  }

  // MARK: - What happens to the store

  /// Updates and removes what the outcome says, before anybody sees the answer.
  private func apply(_ outcome: Outcome, _ pending: PendingExchange) {
    let request = pending.forwarding.original
    for uri in outcome.invalidations {
      store.remove(StoreKey(CacheKey(uri, partition: configuration.partition).bytes))
      note(.invalidated, request, .invalidatedByUnsafeMethod)
    }
    guard let key = pending.lookup.key else { return }
    let storeKey = StoreKey(key.bytes)
    for update in outcome.updates {
      let isUpdated = store.updateMetadata(
        of: pending.lookup.candidates.entries[update.candidate].id, key: storeKey,
        metadata: update.response.encoded(), storedAt: update.response.facts.responseTime.milliseconds)
      // Replaced or removed meanwhile: what came in its place is newer.
      if isUpdated { note(.updated, request, update.reason) }
    }
    for candidate in outcome.removals {
      store.remove(storeKey, variant: pending.lookup.candidates.entries[candidate].variant)
    }
  }

  private func land(_ flight: Flight, _ key: CacheKey?, _ landing: Flight.Landing) {
    if let key { flights.close(flight, for: key) }
    flight.land(landing)
  }

  // MARK: - Content

  /// Gives the origin's response to the leader, and to the store if it may be kept.
  private func passOn(
    _ response: TransportResponse, _ outcome: Outcome, _ pending: PendingExchange, _ flight: Flight,
    token: RemovalToken?
  ) async {
    let request = pending.forwarding.original
    var writer: EntryWriter?
    if case .store(let stored, _) = outcome.storage, let key = pending.lookup.key {
      writer = store.makeWriter(
        key: StoreKey(key.bytes), variant: store.fingerprint(of: stored.selecting.variantKey),
        metadata: stored.encoded(), storedAt: stored.facts.responseTime.milliseconds,
        expectedLength: response.body.length, tiers: .all, unlessRemovedSince: token)
    } else {
      if let reason = outcome.storage.reason { note(.notStored, request, reason) }
      land(flight, pending.lookup.key, .notShared)
    }
    // The caller gets the time of arrival, as the store does, where the origin gave none (RFC 9110 §6.6.1).
    var head = response.head
    if head.headerFields[.date] == nil { head.headerFields[.date] = HTTPDate(clock.now).imfFixdate }
    func answer(_ body: MessageBody) -> CachedResponse {
      CachedResponse(
        head: head, body: body, source: .network, reason: outcome.reason,
        storage: outcome.storage.reason,
        cacheStatus: CacheStatus(
          cache: configuration.name, forward: pending.forwarding.reason.forward,
          forwardStatus: response.head.status.code, isStored: writer != nil,
          detail: outcome.storage.reason ?? outcome.reason))
    }
    if let bytes = response.body.bytes {
      // All there already: stored before the leader sees it, so that its next request finds it.
      writer?.append(bytes)
      conclude(writer, received: bytes.count, outcome, pending, flight)
      flight.deliver(.success(answer(MessageBody(bytes))))
      return
    }
    if case .store(let stored, _) = outcome.storage, !stored.isReusable(at: clock.now) {
      // Those who wait would have to ask the origin all the same, and the end may never come: a stream of events.
      land(flight, pending.lookup.key, .notShared)
    }
    guard let channel = flight.openChannel() else {
      await drain(response.body, into: writer, outcome, pending, flight)
      return
    }
    flight.deliver(.success(answer(MessageBody(.stream(BodyReader(channel)), length: response.body.length))))
    await pump(response.body, to: channel, and: writer, outcome, pending, flight)
  }

  /// Streams the content to the leader and into the store; goes on for the store when the leader has gone but
  /// followers wait, until the task is cancelled because nobody does.
  private func pump(
    _ body: MessageBody, to channel: BodyChannel, and writer: EntryWriter?, _ outcome: Outcome,
    _ pending: PendingExchange, _ flight: Flight
  ) async {
    var writer = writer
    var received = 0
    do {
      for try await chunk in body {
        received += chunk.count
        if let refused = writer, !refused.append(chunk) {
          writer = nil
          giveUp(refused, pending, flight)
          // For the leader alone now, and at its pace.
          channel.waitAgain()
        }
        let isRead = await channel.send(chunk)
        if !isRead, writer == nil || Task.isCancelled { throw CancellationError() }
      }
      try Task.checkCancellation()
    } catch {
      writer?.cancel()
      if writer != nil {
        note(.notStored, pending.forwarding.original, .incompleteContent)
        land(flight, pending.lookup.key, .failed(error))
      }
      channel.finish(.failure(error))
      return
    }
    // Committed before the leader sees the end, so that its next request finds what it has just read.
    conclude(writer, received: received, outcome, pending, flight)
    channel.finish(.success(()))
  }

  /// Streams the content into the store only, or just past where there is nothing to store.
  private func drain(
    _ body: MessageBody, into writer: EntryWriter?, _ outcome: Outcome, _ pending: PendingExchange,
    _ flight: Flight
  ) async {
    guard let writer else { return }
    var received = 0
    do {
      for try await chunk in body {
        received += chunk.count
        if !writer.append(chunk) { return giveUp(writer, pending, flight) }
        try Task.checkCancellation()
      }
      // A stream that is cancelled may just end.
      try Task.checkCancellation()
    } catch {
      writer.cancel()
      note(.notStored, pending.forwarding.original, .incompleteContent)
      land(flight, pending.lookup.key, .failed(error))
      return
    }
    conclude(writer, received: received, outcome, pending, flight)
  }

  /// Says that the store does not take any more of the content: there is nothing to wait for.
  private func giveUp(_ writer: EntryWriter, _ pending: PendingExchange, _ flight: Flight) {
    if case .refused(let refusal) = writer.commit() {
      note(.notStored, pending.forwarding.original, Reason(refusal))
    }
    land(flight, pending.lookup.key, .notShared)
  }

  /// Makes the entry visible if the content is whole.
  private func conclude(
    _ writer: EntryWriter?, received: Int, _ outcome: Outcome, _ pending: PendingExchange, _ flight: Flight
  ) {
    guard let writer, case .store(let stored, let reason) = outcome.storage else { return }
    let request = pending.forwarding.original
    // Content-Length of a response with content says how much there must be (RFC 9112 §8).
    let expected = stored.fields[.contentLength].flatMap { Int($0) }
    if let expected, expected != received {
      writer.cancel()
      note(.notStored, request, .incompleteContent)
    } else {
      switch writer.commit() {
      case .stored: note(.stored, request, reason)
      case .refused(let refusal): note(.notStored, request, Reason(refusal))
      }
    }
    land(flight, pending.lookup.key, .stored)
  }
}

extension Reason {
  init(_ refusal: RefusalReason) {
    switch refusal {
    case .tooLarge: self = .tooLarge
    case .removedSince: self = .removedMeanwhile
    case .lengthMismatch, .cancelled: self = .incompleteContent
    case .superseded, .noRoom, .noTier, .inputOutput, .closed: self = .storeFailed
    }
  }
}
