import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// The content of one response on its way from the origin, and what is made of it.
private struct Arrival {
  var outcome: Outcome
  let pending: PendingExchange
  let flight: Flight
  /// What it is stored under.
  var key: StoreKey?
  /// Where it is stored; `nil` if it is not, or not any more.
  var writer: EntryWriter?
  /// How many bytes came from the network.
  var received = 0
  /// To those who read it while it comes.
  var transfer: SharedTransfer?
  /// Whether the writer has what is stored behind, too.
  var hasAfter = false
  /// Tells the leader whether it was stored.
  let settlement = Settlement()

  init(_ outcome: Outcome, _ pending: PendingExchange, _ flight: Flight) {
    self.outcome = outcome
    self.pending = pending
    self.flight = flight
  }

  var request: HTTPRequest { pending.forwarding.original }

  /// The answer that has stored content around the network's; `nil` if the network's alone is the answer.
  var completed: Outcome.StoredAnswer? {
    if case .completed(let answer) = outcome.answer { answer } else { nil }
  }

  /// How much must come from the network, where that is known: as much as the part it is to be, or as Content-Length of
  /// a response with content says (RFC 9112 §8).
  var expected: Int? {
    if let assembly = outcome.assembly { return assembly.received.count }
    guard case .store(let stored, _) = outcome.storage else { return nil }
    return stored.value(of: .contentLength).flatMap { Int($0) }
  }

  private func stored(_ range: Range<Int64>?) -> MessageBody.Piece {
    guard let range, let candidate = outcome.assembly?.candidate else { return .bytes([]) }
    return MessageBody.Piece(pending.lookup.candidates.entries[candidate].body, range)
  }

  /// The stored content that goes before.
  var before: MessageBody.Piece { stored(outcome.assembly?.before) }
  /// How many bytes are stored of what came, and of what is stored around it.
  var stored: Int { received + before.count + after.count }
  /// The stored content that goes behind what has come.
  var after: MessageBody.Piece { stored(outcome.assembly?.after(Int64(received))) }
}

extension HTTPCache {
  /// Gives the origin's response to the leader, and to the store if it may be kept.
  func passOn(
    _ response: TransportResponse, _ outcome: Outcome, _ pending: PendingExchange, _ flight: Flight,
    tokens: RemovalTokens
  ) async {
    var arrival = Arrival(outcome, pending, flight)
    if case .store(let stored, _) = outcome.storage,
      let place = place(for: stored, pending.lookup, tokens: tokens)
    {
      // What is stored around it comes on top of what the transport announces.
      let around = outcome.assembly.map { Int($0.count) - $0.received.count } ?? 0
      arrival.writer = store.makeWriter(
        key: place.key, variant: store.fingerprint(of: stored.selecting.variantKey),
        metadata: stored.encoded(), storedAt: stored.facts.responseTime.milliseconds,
        expectedLength: response.body.length.map { $0.addingReportingOverflow(around).partialValue },
        tiers: .all, scopes: scopes(outcome, under: pending.lookup.key),
        isEditable: pending.willStore != nil, unlessRemovedSince: place.token)
      arrival.key = place.key
    } else {
      if case .store = outcome.storage {
        arrival.outcome.storage = .refuse(
          pending.lookup.key == nil ? arrival.request.reasonWithoutKey : .removedMeanwhile)
      }
      if let reason = arrival.outcome.storage.reason {
        note(.notStored, arrival.request, reason, partition: pending.lookup.partition)
      }
      land(flight, pending.lookup.key, .notShared)
    }
    let (isStored, outcome, settlement) = (arrival.writer != nil, arrival.outcome, arrival.settlement)
    noteAnswer(to: pending, outcome.reason, .network)
    var head = arrival.completed.map { $0.response.response(age: $0.age) } ?? response.head
    // The caller gets the time of arrival, as the store does, where the origin gave none (RFC 9110 §6.6.1).
    if head.headerFields[.date] == nil { head.headerFields[.date] = HTTPDate(clock.now).imfFixdate }
    func answer(_ body: MessageBody) -> CachedResponse {
      var answer = CachedResponse(
        head: head, body: body,
        source: .network, reason: outcome.reason, storage: outcome.storage.reason,
        cacheStatus: CacheStatus(
          cache: configuration.name, forward: pending.forwarding.reason.forward,
          forwardStatus: response.head.status.code, timeToLive: remainingLifetime(outcome),
          isStored: isStored,
          isCollapsed: pending.isCollapsed, key: shownKey(pending.lookup.key),
          detail: outcome.storage.reason ?? outcome.reason))
      if isStored { answer.settlement = settlement }
      return answer
    }
    if let bytes = response.body.bytes {
      // All there already: stored before the leader sees it, so that its next request finds it.
      await copy(arrival.before, &arrival)
      arrival.received = bytes.count
      arrival.writer?.append(bytes)
      let after = arrival.after
      await conclude(&arrival)
      let body = MessageBody(
        arrival.completed == nil ? [.bytes(bytes)] : [arrival.before, .bytes(bytes), after])
      flight.deliver(.success(answer(body)))
      return
    }
    if case .store(let stored, _) = outcome.storage, !stored.isReusable(at: clock.now) {
      // Those who wait would have to ask the origin all the same, and the end may never come: a stream of events.
      land(flight, pending.lookup.key, .notShared)
    }
    var rest: (@Sendable (Int) async throws -> MessageBody)?
    // What the application changes is not what others could begin to read.
    if pending.willStore == nil,
      let transfer = transfer(of: arrival.outcome, response, pending, into: arrival.writer)
    {
      arrival.transfer = transfer
      rest = { [self] offset in self.rest(of: transfer, flight, pending, from: offset) }
    }
    let channel = flight.openChannel(
      keeps: arrival.transfer?.keeps ?? BodyChannel.limit, rest: arrival.writer == nil ? nil : rest)
    if let transfer = arrival.transfer, arrival.writer != nil { flight.share(transfer) }
    if let channel {
      let length = arrival.completed == nil ? response.body.length : outcome.assembly.map { Int($0.count) }
      flight.deliver(.success(answer(MessageBody(.stream(BodyReader(channel)), length: length))))
    }
    await pump(response.body, to: channel, &arrival)
  }

  /// Streams the content to the leader and into the store; goes on for the store when the leader has gone but
  /// followers wait, until the task is cancelled because nobody does.
  ///
  /// - Parameter channel: to the leader; `nil` if there is none.
  private func pump(_ body: MessageBody, to channel: BodyChannel?, _ arrival: inout Arrival) async {
    guard channel != nil || arrival.writer != nil else { return }
    do {
      if arrival.completed == nil {
        await copy(arrival.before, &arrival)
      } else {
        for try await chunk in MessageBody([arrival.before]) { try await hand(chunk, to: channel, &arrival) }
      }
      for try await chunk in body {
        if arrival.completed != nil, let expected = arrival.expected,
          chunk.count > expected - arrival.received
        {
          // The leader would take for the rest of the content what is none.
          throw HTTPCacheError.incompleteContent
        }
        arrival.received += chunk.count
        try await hand(chunk, to: channel, &arrival)
      }
      // A stream that is cancelled may just end.
      try Task.checkCancellation()
      if arrival.completed != nil {
        guard arrival.received == arrival.expected else { throw HTTPCacheError.incompleteContent }
        for try await chunk in MessageBody([arrival.after]) { try await hand(chunk, to: channel, &arrival) }
        arrival.hasAfter = true
      }
    } catch {
      if arrival.writer != nil {
        await keepBeginning(&arrival, error)
        land(arrival.flight, arrival.pending.lookup.key, .failed(error))
      }
      arrival.transfer?.finish(.failure(error))
      channel?.finish(.failure(error))
      return
    }
    // Committed before the leader sees the end, so that its next request finds what it has just read.
    await conclude(&arrival)
    arrival.transfer?.finish(.success(()))
    channel?.finish(.success(()))
  }

  /// Hands a chunk to the store and to the leader.
  ///
  /// - Throws: `CancellationError` when nobody wants it.
  private func hand(
    _ chunk: ArraySlice<UInt8>, to channel: BodyChannel?, _ arrival: inout Arrival
  ) async throws {
    if let writer = arrival.writer, !writer.append(chunk) {
      giveUp(&arrival)
      // For the leader alone now, and at its pace.
      channel?.waitAgain()
    }
    let isShared = await arrival.transfer?.send(chunk, isStored: arrival.writer != nil) ?? false
    let isRead = await channel?.send(chunk) ?? false
    if !isRead, !isShared || Task.isCancelled, arrival.writer == nil || Task.isCancelled {
      throw CancellationError()
    }
  }

  /// Copies stored content into the new entry. Whatever goes wrong is the end of the storing, and of nothing else.
  private func copy(_ piece: MessageBody.Piece, _ arrival: inout Arrival) async {
    guard arrival.writer != nil, piece.count > 0 else { return }
    do {
      for try await chunk in MessageBody([piece]) where arrival.writer?.append(chunk) == false {
        return giveUp(&arrival)
      }
    } catch {
      arrival.writer?.cancel()
      giveUp(&arrival)
    }
  }

  /// Says that the store does not take any more of the content: there is nothing to wait for.
  private func giveUp(_ arrival: inout Arrival) {
    if case .refused(let refusal) = arrival.writer?.commit() { refuse(Reason(refusal), arrival) }
    arrival.writer = nil
    land(arrival.flight, arrival.pending.lookup.key, .notShared)
  }

  /// Makes the entry visible if the content is whole, or just the part that it was to be.
  private func conclude(_ arrival: inout Arrival) async {
    guard case .store(let stored, let reason) = arrival.outcome.storage else { return }
    if let expected = arrival.expected, expected != arrival.received {
      arrival.writer?.cancel()
    } else if !arrival.hasAfter {
      await copy(arrival.after, &arrival)
    }
    guard let writer = arrival.writer else { return }
    if isOvertaken(stored, arrival) {
      writer.cancel()
      refuse(stored.parts == nil ? .overtaken : .partNotCombined, arrival)
    } else {
      let result = commit(writer, as: stored, for: arrival.request, arrival.pending.willStore)
      arrival.transfer?.stored(try? result.get())
      finish(result, reason, arrival)
      if case .failure(let refused) = result, refused.reason == .refusedByApplication {
        return land(arrival.flight, arrival.pending.lookup.key, .notShared)
      }
    }
    land(arrival.flight, arrival.pending.lookup.key, .stored(status: stored.status.code))
  }

  /// Makes visible what came of a transfer that broke off, where that is of use.
  private func keepBeginning(_ arrival: inout Arrival, _ error: any Error) async {
    let isContradictory = error as? HTTPCacheError == .incompleteContent
    guard !isContradictory, let stored = arrival.outcome.incomplete(after: Int64(arrival.received)),
      stored.parts == nil || !isOvertaken(stored, arrival)
    else {
      arrival.writer?.cancel()
      return refuse(.incompleteContent, arrival)
    }
    await copy(arrival.after, &arrival)
    guard let writer = arrival.writer else { return }
    let reason: Reason = stored.parts == nil ? .storedCombined : .storedAsPart
    finish(
      commit(writer, as: stored, isBeginning: true, for: arrival.request, arrival.pending.willStore), reason,
      arrival)
  }

  /// Whether this response is no longer to be stored, because another was in its place since the origin was asked.
  ///
  /// A part gives way to any, which may be whole; a whole response to a more recent one, as the most recent is to be used
  /// (§4). What was stored before does not count: with a wrong date it could stay for ever.
  private func isOvertaken(_ stored: StoredResponse, _ arrival: Arrival) -> Bool {
    guard let key = arrival.key else { return false }
    let known = arrival.pending.lookup.candidates.entries
    let variant = store.fingerprint(of: stored.selecting.variantKey)
    func isNew(_ entry: StoredEntry) -> Bool {
      entry.variant == variant && !known.contains { $0.id == entry.id }
    }
    guard stored.parts == nil else { return store.lookup(key).contains(where: isNew) }
    // Of all that is stored whole: not worth a read from disk.
    return store.peek(key).contains { entry in
      guard isNew(entry) else { return false }
      var date: Timestamp?
      entry.withMetadata { date = StoredResponse(decoding: $0)?.facts.date }
      return date.map { $0 > stored.facts.date } ?? false
    }
  }

  private func finish(_ result: Result<EntryID, Refused>, _ reason: Reason, _ arrival: Arrival) {
    switch result {
    case .success:
      note(
        .stored, arrival.request, reason, byteCount: arrival.stored,
        partition: arrival.pending.lookup.partition)
      arrival.settlement.settle(reason, isStored: true)
    case .failure(let refused): refuse(refused.reason, arrival)
    }
  }

  private func refuse(_ reason: Reason, _ arrival: Arrival) {
    note(.notStored, arrival.request, reason, partition: arrival.pending.lookup.partition)
    arrival.settlement.settle(reason, isStored: false)
  }
}
