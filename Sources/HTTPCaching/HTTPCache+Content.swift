// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// The content of one response in flight, and the outcome that it belongs to.
///
/// It belongs to the task of the fetch, and is a class for the same reason as ``RequestCourse``.
private final class Arrival {
  var outcome: CacheEngine.Outcome
  let exchange: CacheEngine.Exchange
  let pending: PendingExchange
  let flight: Flight
  /// Taken before the request was sent.
  let tokens: HTTPCache.RemovalTokens
  /// The key that it is stored under.
  var key: StoreKey?
  /// The number of bytes received from the network.
  var received = 0
  /// The sizes that kept the response from being stored, if a known length did.
  var refusal: InsertRefusal?
  /// Records whether the response was stored; `nil` if it is not being stored.
  var settlement: Settlement?
  /// The memory reserved for its content in flight, in bytes.
  var reserved = 0

  init(
    _ outcome: CacheEngine.Outcome, of exchange: CacheEngine.Exchange, _ pending: PendingExchange,
    _ flight: Flight, _ tokens: HTTPCache.RemovalTokens
  ) {
    self.outcome = outcome
    self.exchange = exchange
    self.pending = pending
    self.flight = flight
    self.tokens = tokens
  }

  var request: HTTPRequest { pending.request }

  /// Whether requests that have waited for the response can use it without a revalidation.
  var isShared: Bool {
    guard case .store(let stored, _) = outcome.storage else { return false }
    return stored.isReusable(after: exchange.times)
  }

  /// Whether the answer has stored content before or after the network's.
  var isCompleted: Bool { if case .completed = outcome.answer { true } else { false } }

  /// The number of bytes that must come from the network, if known. It is the length of the expected part, or the
  /// Content-Length of a response with content (RFC 9112 §8).
  var expected: Int? {
    if let assembly = outcome.assembly { return assembly.received.count }
    guard case .store(let stored, _) = outcome.storage else { return nil }
    return stored.value(of: .contentLength).flatMap { Int($0) }
  }

  /// Returns the length of all content to store, if known: the stored content around the network's is added to the
  /// length that the transport announces.
  func length(of response: TransportResponse) -> Int? {
    let around = outcome.assembly.map { Int($0.count) - $0.received.count } ?? 0
    return response.body.length.map { $0.addingReportingOverflow(around).partialValue }
  }

  private func stored(_ range: Range<Int64>?) -> MessageBody.Piece {
    guard let range, let candidate = outcome.assembly?.candidate else { return .bytes([]) }
    return MessageBody.Piece(pending.lookup.candidates.entries[candidate].body, range)
  }

  /// The stored content before the received content.
  var before: MessageBody.Piece { stored(outcome.assembly?.before) }
  /// The stored content after the received content.
  var after: MessageBody.Piece { stored(outcome.assembly?.after(Int64(received))) }
  /// The number of bytes to store: the received ones, and the stored ones around them.
  var stored: Int { received + before.count + after.count }
}

/// The part received from the network, to be stored once more if another response has replaced the entry it was written
/// for.
private struct ReceivedContent {
  private let writer: EntryWriter
  /// The position of the part in the writer's content.
  private let range: Range<Int>
  /// The bytes taken from the writer before it is committed; `nil` if they can be read from it afterwards.
  private var taken: [ArraySlice<UInt8>]?

  /// - Returns: `nil` for a response that is stored as a whole.
  init?(_ writer: EntryWriter, of stored: StoredResponse, _ arrival: Arrival) {
    guard stored.parts != nil else { return nil }
    self.writer = writer
    range = arrival.before.count..<arrival.before.count + arrival.received
    guard arrival.pending.call.willStore != nil else { return }
    // The application's hook gets the entry. It is then in memory, so the read does not wait for the disk.
    var slices: [ArraySlice<UInt8>] = []
    var position = range.lowerBound
    while position < range.upperBound,
      let chunk = writer.read(from: position, upTo: range.upperBound - position), !chunk.isEmpty
    {
      slices.append(chunk)
      position += chunk.count
    }
    taken = slices
  }

  /// - Returns: whether all of it could be read.
  func copy(to other: EntryWriter) async -> Bool {
    if let taken {
      for slice in taken where !other.append(slice) { break }
      return true
    }
    return await BlockingExecutor.run { [writer, range] in
      var position = range.lowerBound
      while position < range.upperBound {
        guard let chunk = writer.read(from: position, upTo: range.upperBound - position), !chunk.isEmpty
        else { return false }
        if !other.append(chunk) { break }
        position += chunk.count
      }
      return true
    }
  }
}

extension Result where Failure == Refused {
  /// Whether a part was not stored because another response was stored in its place.
  fileprivate var isOvertakenPart: Bool {
    if case .failure(let refused) = self { refused.reason == .partNotCombined } else { false }
  }
}

extension HTTPCache {
  /// Returns the stored content that an answer begins with, if the network's completes it.
  func beginning(of outcome: CacheEngine.Outcome, _ pending: PendingExchange) -> MessageBody.Piece {
    guard case .completed = outcome.answer, let assembly = outcome.assembly,
      let candidate = assembly.candidate
    else { return .bytes([]) }
    return MessageBody.Piece(pending.lookup.candidates.entries[candidate].body, assembly.before)
  }

  /// Passes the origin's response to the leader, and to the store if it may be stored.
  func passOn(
    _ response: TransportResponse, _ outcome: CacheEngine.Outcome, of exchange: CacheEngine.Exchange,
    _ pending: PendingExchange,
    _ flight: Flight, tokens: RemovalTokens
  ) async {
    let arrival = Arrival(outcome, of: exchange, pending, flight, tokens)
    let writer = openWriter(response, arrival)
    let isShared = writer != nil && arrival.isShared
    // A part says nothing about the whole.
    if outcome.assembly == nil { noteSharing(isShared, pending, status: response.head.status.code) }
    if writer == nil, let reason = arrival.outcome.storage.reason {
      note(
        .notStored, arrival.request, reason, refusal: arrival.refusal, partition: pending.lookup.partition)
    }
    if writer == nil || (!isShared && response.body.bytes == nil) {
      // Waiting requests need the origin in any case, and so do the other nodes. The end may never come: a stream of events.
      land(flight, .notShared)
      pending.lease?.release()
    }
    if pending.call.localOrigin != nil, writer == nil, !arrival.isCompleted {
      var answer = respond(with: response, .empty, arrival.outcome, pending, settlement: nil)
      answer.isPassedThrough = true
      return flight.deliver(.success(.init(response: answer)))
    }
    if let bytes = response.body.bytes {
      await passOn(bytes, of: response, writer, arrival)
      return
    }
    let isStored = writer != nil
    guard flight.hasLeader || isStored else { return }
    // The transfer contains the content to be stored. A leader that gets only the network's part begins at that part.
    let transfer = Transfer(
      length: arrival.length(of: response), writer: consume writer, budget: transit,
      reserved: arrival.reserved)
    var delivery = Flight.Delivery(
      response: respond(with: response, .empty, arrival.outcome, pending, settlement: arrival.settlement))
    if flight.hasLeader {
      let isPart = !arrival.isCompleted
      let start = isPart && arrival.before.count > 0 ? Transfer.later : 0
      delivery.reading = transfer.addReader(at: start).map { (transfer, $0) }
      delivery.response.body = MessageBody(
        .pieces([]), length: isPart ? response.body.length : outcome.assembly.map { Int($0.count) })
    }
    flight.begin(transfer, shared: shared(response, arrival, transfer, isStored: isStored))
    flight.deliver(.success(delivery))
    await pump(response.body, to: transfer, arrival)
  }

  /// Opens the writer for a response that will be stored; returns `nil` and updates the outcome if it is not.
  private func openWriter(_ response: TransportResponse, _ arrival: Arrival) -> EntryWriter? {
    guard case .store(let stored, _) = arrival.outcome.storage else { return nil }
    let lookup = arrival.pending.lookup
    guard let (key, writer) = makeWriter(stored, lookup, arrival, length: arrival.length(of: response)) else {
      arrival.outcome.storage = .refuse(
        lookup.key == nil ? arrival.request.reasonWithoutKey : reasonWithoutPlace)
      return nil
    }
    arrival.key = key
    guard let length = arrival.length(of: response) else {
      arrival.settlement = Settlement(.open)
      return writer
    }
    guard let destination = writer.destination(ofBody: length) else {
      // It cannot be stored, so no memory is used for it, and no request waits for it.
      arrival.refusal = writer.refusal
      arrival.outcome.storage = .refuse(writer.refusal.map { .init($0.reason) } ?? reasonWithoutPlace)
      return nil
    }
    // Content on its way to memory is complete in flight before it is stored; a file takes its content earlier.
    // A failing disk may still be tried with content for which memory has no capacity.
    var hasRoom = destination == .memory || !store.isDiskFailing
    if destination == .memory, response.body.bytes == nil {
      hasRoom = transit.reserve(length)
      arrival.reserved = hasRoom ? length : 0
    }
    let isRemoved = isRemoved(
      lookup.key, scopes(arrival.outcome, under: lookup.key), since: arrival.tokens.key)
    arrival.settlement = Settlement(hasRoom && !isRemoved ? .expected : .open)
    return writer
  }

  /// - Returns: the writer, or `nil` if the response cannot be stored anywhere.
  private func makeWriter(
    _ stored: StoredResponse, _ lookup: Lookup, _ arrival: Arrival, length: Int?
  ) -> (StoreKey, EntryWriter)? {
    guard let place = place(for: stored, lookup, tokens: arrival.tokens) else { return nil }
    let writer = store.makeWriter(
      key: place.key, variant: store.fingerprint(of: stored.selecting.variantKey),
      metadata: stored.encoded(), storedAt: storedAt(stored.facts.responseTime), expectedLength: length,
      tiers: .all, scopes: lookup.key.map { stored.scopes(under: $0).map { StoreScope($0) } } ?? [],
      isEditable: arrival.pending.call.willStore != nil, unlessRemovedSince: place.token)
    return (place.key, writer)
  }

  /// Passes on content that is already complete. It is stored before the leader sees it, so that its next request finds
  /// it.
  private func passOn(
    _ bytes: ArraySlice<UInt8>, of response: TransportResponse, _ writer: EntryWriter?,
    _ arrival: Arrival
  ) async {
    let answer = respond(
      with: response, .empty, arrival.outcome, arrival.pending, settlement: arrival.settlement)
    arrival.received = bytes.count
    var delivery = Flight.Delivery(response: answer)
    delivery.response.body = MessageBody(
      arrival.isCompleted ? [arrival.before, .bytes(bytes), arrival.after] : [.bytes(bytes)])
    if let writer {
      do {
        for try await chunk in MessageBody([arrival.before, .bytes(bytes), arrival.after]) {
          guard writer.append(chunk) else { break }
        }
        _ = await conclude(writer, arrival)
      } catch {
        // A failure of stored content ends only the storing.
        writer.cancel()
        refuse(Refused(.storeFailed), arrival)
        land(arrival.flight, .notShared)
      }
      delivery.response.settle()
    }
    arrival.flight.deliver(.success(delivery))
  }

  /// Returns the response for followers to read while it is being stored; `nil` if they could not use it.
  private func shared(
    _ response: TransportResponse, _ arrival: Arrival, _ transfer: Transfer, isStored: Bool
  ) -> SharedResponse? {
    // The application may change the stored content, so others must not begin to read this one.
    guard isStored, let settlement = arrival.settlement,
      case .store(var stored, _) = arrival.outcome.storage, stored.parts == nil,
      arrival.outcome.assembly?.candidate == nil, arrival.request.method != .head,
      arrival.pending.call.willStore == nil, stored.isReusable(at: clock.now)
    else { return nil }
    stored.contentLength = transfer.length.map { Int64($0) }
    return SharedResponse(
      response: stored, status: response.head.status.code, transfer: transfer, settlement: settlement)
  }

  /// Streams the content to its readers and into the store. It ends when the content is complete, or when the task is
  /// cancelled because no caller wants it.
  private func pump(_ body: MessageBody, to transfer: Transfer, _ arrival: Arrival) async {
    do {
      if arrival.isCompleted {
        try await hand(arrival.before, to: transfer, arrival)
      } else {
        await copy(arrival.before, to: transfer, arrival)
        transfer.beginForReaders()
      }
      for try await chunk in body {
        if arrival.isCompleted, let expected = arrival.expected, chunk.count > expected - arrival.received {
          // The leader would mistake it for the stored content that follows.
          throw HTTPCacheError.incompleteContent
        }
        arrival.received += chunk.count
        try await hand(chunk, to: transfer, arrival)
      }
      // A cancelled stream may end without an error.
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
        let entry = await publishing(arrival) { await keepBeginning(writer, arrival, error) }
        transfer.finish(.failure(error), entry: transfer.hasLaggards ? self.body(of: entry, arrival) : nil)
        land(arrival.flight, .failed(error))
      }
      transfer.finish(.failure(error))
      return
    }
    // Committed before the leader sees the end, so that its next request finds the content that it has just read.
    var entry: EntryID?
    if let writer = transfer.takeWriter() {
      entry = await publishing(arrival) { await conclude(writer, arrival) }
    }
    transfer.finish(.success(()), entry: transfer.hasLaggards ? self.body(of: entry, arrival) : nil)
  }

  /// Passes a chunk to the store and to the readers.
  ///
  /// - Throws: `CancellationError` if no caller wants it.
  private func hand(_ chunk: ArraySlice<UInt8>, to transfer: Transfer, _ arrival: Arrival) async throws {
    switch await transfer.append(chunk) {
    case .stored: break
    case .refused(let refusal): giveUp(Refused(refusal), arrival)
    case .transitFull: giveUp(Refused(.transitFull), arrival)
    case .notStored: if !transfer.isRead { throw CancellationError() }
    }
    try Task.checkCancellation()
  }

  private func hand(_ piece: MessageBody.Piece, to transfer: Transfer, _ arrival: Arrival) async throws {
    guard piece.count > 0 else { return }
    for try await chunk in MessageBody([piece]) { try await hand(chunk, to: transfer, arrival) }
  }

  /// Copies stored content into the new entry. A failure ends only the storing.
  private func copy(_ piece: MessageBody.Piece, to transfer: Transfer, _ arrival: Arrival) async {
    guard piece.count > 0, transfer.writer != nil else { return }
    do {
      // Also runs if the task is cancelled: no more bytes are needed from the network.
      for try await chunk in MessageBody([piece]) {
        switch await transfer.append(chunk) {
        case .stored: break
        case .refused(let refusal): return giveUp(Refused(refusal), arrival)
        case .transitFull: return giveUp(Refused(.transitFull), arrival)
        case .notStored: return
        }
      }
    } catch {
      guard let writer = transfer.takeWriter() else { return }
      writer.cancel()
      giveUp(Refused(.storeFailed), arrival)
    }
  }

  /// Reports that the content is not stored, so that no request waits for it.
  private func giveUp(_ refused: Refused, _ arrival: Arrival) {
    refuse(refused, arrival)
    land(arrival.flight, .notShared)
  }

  /// Content of more bytes than this is not published on an event loop.
  private static let largeContent = 1 << 20

  /// Publishes the received content on a thread that may take its time if the content is large: it is then copied, and
  /// many entries may be evicted for it.
  private func publishing(_ arrival: Arrival, _ body: () async -> EntryID?) async -> EntryID? {
    guard arrival.received > Self.largeContent else { return await body() }
    return await withTaskExecutorPreference(BlockingExecutor.shared) { await body() }
  }

  /// Publishes the entry if the content is complete, or has exactly the part that should be stored.
  ///
  /// - Returns: the entry, if it was stored.
  private func conclude(_ writer: EntryWriter, _ arrival: Arrival) async -> EntryID? {
    guard case .store(let stored, var reason) = arrival.outcome.storage else { return nil }
    if let expected = arrival.expected, expected != arrival.received { writer.cancel() }
    let content = ReceivedContent(writer, of: stored, arrival)
    var result = commit(
      writer, as: stored, unless: overtaking(stored, arrival.pending.lookup.candidates), for: arrival.request,
      arrival.pending.call.willStore)
    if let content, result.isOvertakenPart {
      (result, reason) = await combine(content, arrival)
      finish(result, reason, arrival)
      land(arrival.flight, .stored(status: stored.status.code, at: arrival.exchange.times))
      return nil
    }
    if case .success(let id) = result {
      dropOthers(of: stored, arrival)
      share(stored, id, arrival)
    }
    finish(result, reason, arrival)
    if case .failure(let refused) = result, refused.reason == .refusedByApplication {
      land(arrival.flight, .notShared)
    } else {
      land(arrival.flight, .stored(status: stored.status.code, at: arrival.exchange.times))
    }
    return try? result.get()
  }

  /// Queues a complete response for the shared tier. What the application may have changed stays here.
  private func share(_ stored: StoredResponse, _ id: EntryID, _ arrival: Arrival) {
    guard let shared, stored.parts == nil, arrival.pending.call.willStore == nil,
      let key = arrival.pending.lookup.key, let place = arrival.key, place.leads(from: key)
    else { return }
    shared.offer(
      key, id, at: place, count: arrival.stored, since: arrival.tokens.shared, arrival.pending.lease)
  }

  /// Removes a replaced response from entries of other variants, where it shared their content. Otherwise it could come
  /// back when the new one is evicted, or because of a `Date` in the future.
  private func dropOthers(of stored: StoredResponse, _ arrival: Arrival) {
    guard let key = arrival.key else { return }
    let (variantKey, candidates) = (stored.selecting.variantKey, arrival.pending.lookup.candidates)
    let variant = store.fingerprint(of: variantKey)
    for (entry, response) in zip(candidates.entries, candidates.responses)
    where response.selecting.variantKey == variantKey {
      let place = entry.storeKey
      if entry.variant == variant, place == key { continue }
      if let shared, !shared.mayTrust(entry, response, at: clock.now) {
        // An update would make the rest of the entry seem validated.
        store.remove(place, variant: entry.variant)
        continue
      }
      store.updateMetadata(of: entry, key: place, storedAt: entry.storedAt) { bytes in
        let present = earlier.present(bytes, of: entry)
        return StoredResponse.encoded(present.filter { $0.selecting.variantKey != variantKey })
          ?? StoredResponse.encoded(present) ?? []
      }
    }
  }

  /// Publishes the bytes received before a transfer ended early, if they are of use.
  private func keepBeginning(_ writer: EntryWriter, _ arrival: Arrival, _ error: any Error) async -> EntryID?
  {
    let isContradictory = error as? HTTPCacheError == .incompleteContent
    guard !isContradictory, let stored = arrival.outcome.incomplete(after: Int64(arrival.received)) else {
      writer.cancel()
      refuse(Refused(.incompleteContent), arrival)
      return nil
    }
    do {
      for try await chunk in MessageBody([arrival.after]) where !writer.append(chunk) { break }
    } catch {
      writer.cancel()
    }
    let content = ReceivedContent(writer, of: stored, arrival)
    var result = commit(
      writer, as: stored, isBeginning: true,
      unless: stored.parts == nil ? nil : overtaking(stored, arrival.pending.lookup.candidates),
      for: arrival.request, arrival.pending.call.willStore)
    var reason: CacheEngine.Reason = stored.parts == nil ? .storedCombined : .storedAsPart
    var entry = try? result.get()
    if let content, result.isOvertakenPart {
      (result, reason) = await combine(content, arrival, isBeginning: true)
      entry = nil
    }
    finish(
      result.mapError { $0.reason == .partNotCombined ? Refused(.incompleteContent) : $0 }, reason, arrival)
    return entry
  }

  /// Maximum number of times that a part is combined again because another part was stored meanwhile. Each time, one of
  /// the parts that arrived together is stored.
  private static let combiningLimit = 64

  /// Stores a part together with the parts that were stored in its place since the request was sent. They are other
  /// parts of the same representation: a client that fetches several ranges at a time gets them together (§3.4).
  ///
  /// - Returns: the outcome, and the reason for which the part is stored.
  private func combine(
    _ content: ReceivedContent, _ arrival: Arrival, isBeginning: Bool = false
  ) async -> (Result<EntryID, Refused>, CacheEngine.Reason) {
    let lost = (
      Result<EntryID, Refused>.failure(Refused(.partNotCombined)), CacheEngine.Reason.partNotCombined
    )
    var exchange = arrival.exchange
    // The nominated responses are positions among those stored before.
    exchange.forwarding.nominated = []
    exchange.forwarding.selected = nil
    exchange.forwarding.completion = nil
    for _ in 0..<Self.combiningLimit {
      let first = arrival.pending
      let pending = first.with(
        lookup: await lookUp(arrival.request, content: first.call.body, first.lookup.partition))
      exchange.candidates = pending.lookup.candidates.responses
      var outcome = engine.outcome(of: exchange)
      guard case .store(var stored, let reason) = outcome.storage, let assembly = outcome.assembly else {
        // All of these invalidations are stored by now.
        outcome.invalidatedScopes = []
        apply(outcome, pending, since: arrival.tokens)
        guard case .refuse(let reason) = outcome.storage else { return lost }
        return (.failure(Refused(reason)), .partNotCombined)
      }
      if isBeginning {
        guard let beginning = outcome.incomplete(after: Int64(arrival.received)) else { return lost }
        stored = beginning
      }
      guard let (_, writer) = makeWriter(stored, pending.lookup, arrival, length: nil) else {
        return (.failure(Refused(reasonWithoutPlace)), .partNotCombined)
      }
      let entry = assembly.candidate.map { pending.lookup.candidates.entries[$0] }
      func piece(_ range: Range<Int64>) -> MessageBody.Piece {
        entry.map { MessageBody.Piece($0.body, range) } ?? .bytes([])
      }
      do {
        for try await chunk in MessageBody([piece(assembly.before)]) where !writer.append(chunk) { break }
        guard await content.copy(to: writer) else { return lost }
        let after = piece(assembly.after(Int64(arrival.received)))
        for try await chunk in MessageBody([after]) where !writer.append(chunk) { break }
      } catch {
        // The entry to combine with is gone or damaged: look it up once more.
        continue
      }
      let result = commit(
        writer, as: stored, isBeginning: true, unless: overtaking(stored, pending.lookup.candidates),
        for: arrival.request, pending.call.willStore)
      if !result.isOvertakenPart { return (result, isBeginning ? .storedAsPart : reason) }
    }
    return lost
  }

  /// Returns the check that prevents this response from being stored if another was stored in its place since the
  /// request was sent.
  ///
  /// A part gives way to any response, because that may be complete. A complete response gives way to a more recent
  /// one, because a cache uses the most recent (§4). Responses stored before the request do not count: with a wrong
  /// date one could stay forever.
  private func overtaking(
    _ stored: StoredResponse, _ candidates: Candidates
  ) -> @Sendable (StoredEntry) -> Bool {
    let known = candidates.entries.map(\.id)
    return { entry in
      if known.contains(entry.id) { return false }
      if stored.parts != nil { return true }
      var date: Timestamp?
      entry.withMetadata { date = StoredResponse(decoding: $0)?.facts.date }
      return date.map { $0 > stored.facts.date } ?? false
    }
  }

  /// Returns the stored content, for slow readers; `nil` if the application may have changed it, or it is gone.
  private func body(of entry: EntryID?, _ arrival: Arrival) -> StoredBody? {
    guard let entry, let key = arrival.key, arrival.pending.call.willStore == nil else { return nil }
    let found = store.peek(key).first { $0.id == entry } ?? store.lookup(key).first { $0.id == entry }
    return found?.body
  }

  private func finish(_ result: Result<EntryID, Refused>, _ reason: CacheEngine.Reason, _ arrival: Arrival) {
    switch result {
    case .success:
      note(
        .stored, arrival.request, reason, byteCount: arrival.stored,
        partition: arrival.pending.lookup.partition)
      arrival.settlement?.settle(reason, isStored: true)
    case .failure(let refused): refuse(refused, arrival)
    }
  }

  private func refuse(_ refused: Refused, _ arrival: Arrival) {
    note(
      .notStored, arrival.request, refused.reason, refusal: refused.refusal,
      partition: arrival.pending.lookup.partition)
    arrival.settlement?.settle(refused.reason, isStored: false)
  }
}
