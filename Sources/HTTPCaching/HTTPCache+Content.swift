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
  /// How many bytes came from the network.
  var received = 0
  /// Tells the leader whether it was stored.
  let settlement = Settlement()

  var request: HTTPRequest { pending.request }

  /// Whether the answer has stored content around the network's.
  var isCompleted: Bool { if case .completed = outcome.answer { true } else { false } }

  /// How much must come from the network, where that is known: as much as the part it is to be, or as Content-Length of
  /// a response with content says (RFC 9112 §8).
  var expected: Int? {
    if let assembly = outcome.assembly { return assembly.received.count }
    guard case .store(let stored, _) = outcome.storage else { return nil }
    return stored.value(of: .contentLength).flatMap { Int($0) }
  }

  /// The length of all that is to be stored, where it is known: what is stored around it comes on top of what the transport
  /// announces.
  func length(of response: TransportResponse) -> Int? {
    let around = outcome.assembly.map { Int($0.count) - $0.received.count } ?? 0
    return response.body.length.map { $0.addingReportingOverflow(around).partialValue }
  }

  private func stored(_ range: Range<Int64>?) -> MessageBody.Piece {
    guard let range, let candidate = outcome.assembly?.candidate else { return .bytes([]) }
    return MessageBody.Piece(pending.lookup.candidates.entries[candidate].body, range)
  }

  /// The stored content that goes before.
  var before: MessageBody.Piece { stored(outcome.assembly?.before) }
  /// The stored content that goes behind what has come.
  var after: MessageBody.Piece { stored(outcome.assembly?.after(Int64(received))) }
  /// How many bytes are stored of what came, and of what is stored around it.
  var stored: Int { received + before.count + after.count }
}

extension HTTPCache {
  /// Gives the origin's response to the leader, and to the store if it may be kept.
  func passOn(
    _ response: TransportResponse, _ outcome: Outcome, _ pending: PendingExchange, _ flight: Flight,
    tokens: RemovalTokens
  ) async {
    var arrival = Arrival(outcome: outcome, pending: pending, flight: flight)
    let writer = openWriter(response, &arrival, tokens)
    if writer == nil {
      if let reason = arrival.outcome.storage.reason {
        note(.notStored, arrival.request, reason, partition: pending.lookup.partition)
      }
      land(flight, pending.lookup.key, .notShared)
    }
    let settlement = writer == nil ? nil : arrival.settlement
    if let bytes = response.body.bytes {
      await passOn(bytes, of: response, writer, &arrival)
      return
    }
    if case .store(let stored, _) = arrival.outcome.storage, !stored.isReusable(at: clock.now) {
      // Those that wait would have to ask the origin in any case, and the end may never come: a stream of events.
      land(flight, pending.lookup.key, .notShared)
    }
    let isStored = writer != nil
    guard flight.hasLeader || isStored else { return }
    // The transfer carries what is stored. Where the leader is to get only the network's part of that, it begins there.
    let transfer = Transfer(
      length: arrival.length(of: response), writer: consume writer, budget: transit)
    var delivery = Flight.Delivery(
      response: respond(with: response, .empty, arrival.outcome, pending, settlement: settlement))
    if flight.hasLeader {
      let isPart = !arrival.isCompleted
      let start = isPart && arrival.before.count > 0 ? Transfer.later : 0
      delivery.reading = transfer.addReader(at: start).map { (transfer, $0) }
      delivery.response.body = MessageBody(
        .pieces([]), length: isPart ? response.body.length : outcome.assembly.map { Int($0.count) })
    }
    flight.begin(transfer, shared: shared(response, arrival, transfer, isStored: isStored))
    flight.deliver(.success(delivery))
    await pump(response.body, to: transfer, &arrival)
  }

  /// Begins the entry for a response that is to be stored; `nil` if it is not, which the outcome says then.
  private func openWriter(
    _ response: TransportResponse, _ arrival: inout Arrival, _ tokens: RemovalTokens
  ) -> EntryWriter? {
    guard case .store(let stored, _) = arrival.outcome.storage else { return nil }
    let lookup = arrival.pending.lookup
    guard let place = place(for: stored, lookup, tokens: tokens) else {
      arrival.outcome.storage = .refuse(
        lookup.key == nil ? arrival.request.reasonWithoutKey : .removedMeanwhile)
      return nil
    }
    arrival.key = place.key
    return store.makeWriter(
      key: place.key, variant: store.fingerprint(of: stored.selecting.variantKey),
      metadata: stored.encoded(), storedAt: stored.facts.responseTime.milliseconds,
      expectedLength: arrival.length(of: response),
      tiers: .all, scopes: scopes(arrival.outcome, under: lookup.key),
      isEditable: arrival.pending.call.willStore != nil, unlessRemovedSince: place.token)
  }

  /// Passes on content that is all there already: stored before the leader sees it, so that its next request finds it.
  private func passOn(
    _ bytes: ArraySlice<UInt8>, of response: TransportResponse, _ writer: EntryWriter?,
    _ arrival: inout Arrival
  ) async {
    let answer = respond(
      with: response, .empty, arrival.outcome, arrival.pending,
      settlement: writer == nil ? nil : arrival.settlement)
    arrival.received = bytes.count
    var delivery = Flight.Delivery(response: answer)
    delivery.response.body = MessageBody(
      arrival.isCompleted ? [arrival.before, .bytes(bytes), arrival.after] : [.bytes(bytes)])
    if let writer {
      do {
        for try await chunk in MessageBody([arrival.before, .bytes(bytes), arrival.after]) {
          guard writer.append(chunk) else { break }
        }
        _ = conclude(writer, arrival)
      } catch {
        // Whatever is wrong with stored content ends the storing, and nothing else.
        writer.cancel()
        refuse(.storeFailed, arrival)
        land(arrival.flight, arrival.pending.lookup.key, .notShared)
      }
    }
    arrival.flight.deliver(.success(delivery))
  }

  /// What followers can read of a response that is being stored whole; `nil` for one that they could not use.
  private func shared(
    _ response: TransportResponse, _ arrival: Arrival, _ transfer: Transfer, isStored: Bool
  ) -> SharedResponse? {
    // What the application changes is not what others could begin to read.
    guard isStored, case .store(var stored, _) = arrival.outcome.storage, stored.parts == nil,
      arrival.outcome.assembly?.candidate == nil, arrival.request.method != .head,
      arrival.pending.call.willStore == nil, stored.isReusable(at: clock.now)
    else { return nil }
    stored.contentLength = transfer.length.map { Int64($0) }
    return SharedResponse(response: stored, status: response.head.status.code, transfer: transfer)
  }

  /// Streams the content to its readers and into the store, until all of it has come or the task is cancelled because
  /// nobody wants it.
  private func pump(_ body: MessageBody, to transfer: Transfer, _ arrival: inout Arrival) async {
    do {
      if arrival.isCompleted {
        try await hand(arrival.before, to: transfer, arrival)
      } else {
        await copy(arrival.before, to: transfer, arrival)
        transfer.beginForReaders()
      }
      for try await chunk in body {
        if arrival.isCompleted, let expected = arrival.expected, chunk.count > expected - arrival.received {
          // The leader would take it for what is stored behind.
          throw HTTPCacheError.incompleteContent
        }
        arrival.received += chunk.count
        try await hand(chunk, to: transfer, arrival)
      }
      // A stream that is cancelled may just end.
      try Task.checkCancellation()
      if arrival.isCompleted {
        guard arrival.received == arrival.expected else { throw HTTPCacheError.incompleteContent }
        try await hand(arrival.after, to: transfer, arrival)
      } else {
        transfer.endForReaders()
        await copy(arrival.after, to: transfer, arrival)
      }
    } catch {
      if let writer = transfer.takeWriter() {
        let entry = await keepBeginning(writer, arrival, error)
        transfer.finish(.failure(error), entry: transfer.hasLaggards ? self.body(of: entry, arrival) : nil)
        land(arrival.flight, arrival.pending.lookup.key, .failed(error))
      }
      transfer.finish(.failure(error))
      return
    }
    // Committed before the leader sees the end, so that its next request finds what it has just read.
    let entry = transfer.takeWriter().flatMap { conclude($0, arrival) }
    transfer.finish(.success(()), entry: transfer.hasLaggards ? self.body(of: entry, arrival) : nil)
  }

  /// Hands a chunk to the store and to the readers.
  ///
  /// - Throws: `CancellationError` when nobody wants it.
  private func hand(_ chunk: ArraySlice<UInt8>, to transfer: Transfer, _ arrival: Arrival) async throws {
    switch await transfer.append(chunk) {
    case .stored: break
    case .refused(let refusal): giveUp(Reason(refusal), arrival)
    case .transitFull: giveUp(.transitFull, arrival)
    case .notStored: if !transfer.isRead { throw CancellationError() }
    }
    try Task.checkCancellation()
  }

  private func hand(_ piece: MessageBody.Piece, to transfer: Transfer, _ arrival: Arrival) async throws {
    guard piece.count > 0 else { return }
    for try await chunk in MessageBody([piece]) { try await hand(chunk, to: transfer, arrival) }
  }

  /// Copies stored content into the new entry. Whatever goes wrong ends the storing, and nothing else.
  private func copy(_ piece: MessageBody.Piece, to transfer: Transfer, _ arrival: Arrival) async {
    guard piece.count > 0, transfer.writer != nil else { return }
    do {
      // Also when the task is cancelled: nothing more has to come from the network.
      for try await chunk in MessageBody([piece]) {
        switch await transfer.append(chunk) {
        case .stored: break
        case .refused(let refusal): return giveUp(Reason(refusal), arrival)
        case .transitFull: return giveUp(.transitFull, arrival)
        case .notStored: return
        }
      }
    } catch {
      guard let writer = transfer.takeWriter() else { return }
      writer.cancel()
      giveUp(.storeFailed, arrival)
    }
  }

  /// Says that the content is not stored: there is nothing to wait for.
  private func giveUp(_ reason: Reason, _ arrival: Arrival) {
    refuse(reason, arrival)
    land(arrival.flight, arrival.pending.lookup.key, .notShared)
  }

  /// Makes the entry visible if the content is whole, or just the part that it was to be.
  ///
  /// - Returns: the entry, if it was stored.
  private func conclude(_ writer: EntryWriter, _ arrival: Arrival) -> EntryID? {
    guard case .store(let stored, let reason) = arrival.outcome.storage else { return nil }
    if let expected = arrival.expected, expected != arrival.received { writer.cancel() }
    let result = commit(
      writer, as: stored, unless: overtaking(stored, arrival), for: arrival.request,
      arrival.pending.call.willStore)
    finish(result, reason, arrival)
    if case .failure(let refused) = result, refused.reason == .refusedByApplication {
      land(arrival.flight, arrival.pending.lookup.key, .notShared)
    } else {
      land(arrival.flight, arrival.pending.lookup.key, .stored(status: stored.status.code))
    }
    return try? result.get()
  }

  /// Makes visible what came of a transfer that broke off, where that is of use.
  private func keepBeginning(_ writer: EntryWriter, _ arrival: Arrival, _ error: any Error) async -> EntryID?
  {
    let isContradictory = error as? HTTPCacheError == .incompleteContent
    guard !isContradictory, let stored = arrival.outcome.incomplete(after: Int64(arrival.received)) else {
      writer.cancel()
      refuse(.incompleteContent, arrival)
      return nil
    }
    do {
      for try await chunk in MessageBody([arrival.after]) where !writer.append(chunk) { break }
    } catch {
      writer.cancel()
    }
    let result = commit(
      writer, as: stored, isBeginning: true, unless: stored.parts == nil ? nil : overtaking(stored, arrival),
      for: arrival.request, arrival.pending.call.willStore)
    finish(
      result.mapError { $0.reason == .partNotCombined ? Refused(.incompleteContent) : $0 },
      stored.parts == nil ? .storedCombined : .storedAsPart, arrival)
    return try? result.get()
  }

  /// What keeps this response from being stored: another that was stored in its place since the origin was asked.
  ///
  /// A part gives way to any, which may be whole; a whole response to a more recent one, as the most recent is to be used
  /// (§4). What was stored before does not count: with a wrong date it could stay for ever.
  private func overtaking(_ stored: StoredResponse, _ arrival: Arrival) -> @Sendable (StoredEntry) -> Bool {
    let known = arrival.pending.lookup.candidates.entries.map(\.id)
    return { entry in
      if known.contains(entry.id) { return false }
      if stored.parts != nil { return true }
      var date: Timestamp?
      entry.withMetadata { date = StoredResponse(decoding: $0)?.facts.date }
      return date.map { $0 > stored.facts.date } ?? false
    }
  }

  /// The stored content, for readers that are behind; `nil` if the application may have changed it, or it is gone.
  private func body(of entry: EntryID?, _ arrival: Arrival) -> StoredBody? {
    guard let entry, let key = arrival.key, arrival.pending.call.willStore == nil else { return nil }
    let found = store.peek(key).first { $0.id == entry } ?? store.lookup(key).first { $0.id == entry }
    return found?.body
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
