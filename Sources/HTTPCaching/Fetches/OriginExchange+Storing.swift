// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

/// The storing of a response that arrives.
extension OriginExchange {
  /// Opens the writer for a response that will be stored; returns `nil` and updates the outcome if it is not.
  func openWriter() -> EntryWriter? {
    guard case .store(let stored, _) = outcome.storage else { return nil }
    replacement = stored
    let lookup = sent.lookup
    guard let (place, writer) = makeWriter(stored, lookup, length: length) else {
      outcome.storage = .refuse(
        lookup.key == nil ? sent.request.reasonWithoutKey : cache.responses.reasonWithoutPlace)
      return nil
    }
    self.place = place
    guard let length else {
      settlement = Settlement(.open)
      return writer
    }
    guard let destination = writer.destination(ofBody: length) else {
      // It cannot be stored, so no memory is used for it, and no request waits for it.
      let refused = writer.refusal.map { Refused($0) } ?? Refused(cache.responses.reasonWithoutPlace)
      self.refused = refused
      outcome.storage = .refuse(refused.reason)
      return nil
    }
    // Content on its way to memory is complete in flight before it is stored; a file takes its content earlier.
    // A failing disk may still be tried with content for which memory has no capacity.
    var isExpected = destination == .memory || !cache.store.isDiskFailing
    if destination == .memory, response.body.bytes == nil {
      hasRoom = cache.transit.reserve(length)
      reserved = hasRoom ? length : 0
      isExpected = hasRoom
      // Small content waits for room.
      if length <= TransitBudget.block { hasRoom = true }
    }
    let isRemoved = cache.responses.isRemoved(
      lookup.key, outcome.scopes(under: lookup.key), since: sent.tokens.key)
    settlement = Settlement(isExpected && !isRemoved ? .expected : .open)
    return writer
  }

  /// - Returns: the writer, or `nil` if the response cannot be stored anywhere.
  private func makeWriter(
    _ stored: StoredResponse, _ lookup: Lookup, length: Int?
  ) -> (StoreKey, EntryWriter)? {
    let responses = cache.responses
    guard let place = responses.place(for: stored, lookup, tokens: sent.tokens) else { return nil }
    let writer = cache.store.makeWriter(
      key: place.key, variant: cache.store.fingerprint(of: stored.selecting.variantKey),
      metadata: stored.encoded(), storedAt: responses.storedAt(stored.facts.responseTime),
      expectedLength: length, maximumLength: sent.call.ruled?.engine.maximumLength(of: response.head),
      tiers: .all, scopes: lookup.key.map { stored.scopes(under: $0).map { StoreScope($0) } } ?? [],
      isEditable: sent.call.willStore != nil, unlessRemovedSince: place.token)
    return (place.key, writer)
  }

  /// Publishes the entry if the content is complete, or has exactly the part that should be stored.
  ///
  /// - Returns: the entry, if it was stored.
  func conclude(_ writer: EntryWriter) async -> EntryID? {
    let (entry, overtaken) = publish(writer)
    if let overtaken {
      let (result, reason) = await combine(overtaken)
      end(result, reason)
    }
    return entry
  }

  /// Publishes an entry of a whole response.
  func conclude(_ writer: EntryWriter, with bytes: ArraySlice<UInt8>) {
    _ = writer.append(bytes)
    _ = publish(writer)
  }

  /// - Returns: the entry, if it was stored; the part, if another response was stored in its place.
  @inline(never)
  private func publish(_ writer: EntryWriter) -> (EntryID?, overtaken: ReceivedContent?) {
    guard case .store(let stored, let reason) = outcome.storage else { return (nil, nil) }
    if let expected, expected != received { writer.cancel() }
    let content = ReceivedContent(writer, of: stored, self)
    let result = commit(writer, as: stored, unless: overtaking(stored, sent.lookup))
    if let content, result.isOvertakenPart { return (nil, content) }
    let entry = try? result.get()
    sent.removeSuperseded(outcome, by: stored, at: place, result)
    if let entry { share(stored, entry) }
    end(result, reason)
    return (entry, nil)
  }

  /// Reports whether the response was stored, and ends the fetch.
  @inline(never)
  private func end(_ result: Result<EntryID, Refused>, _ reason: CacheEngine.Reason) {
    guard case .store(let stored, _) = outcome.storage else { return }
    note(result, reason)
    if case .failure(let refused) = result, refused.reason == .refusedByApplication {
      fetch?.finish(.notShared)
    } else {
      fetch?.finish(.stored(status: stored.status.code, at: exchange.times))
    }
  }

  /// Queues a complete response for the shared tier. What the application may have changed stays here.
  private func share(_ stored: StoredResponse, _ id: EntryID) {
    guard let shared = cache.shared, stored.parts == nil, sent.call.willStore == nil,
      let key = sent.lookup.key, let place, place.leads(from: key)
    else { return }
    shared.offer(
      key, id, at: place, count: storedCount, since: sent.tokens.shared, fetch?.lease, sent.queuedStep)
  }

  /// Publishes a written entry, after the application's hook has been called.
  ///
  /// - Parameters:
  ///   - isBeginning: whether less content arrived than was announced; `stored` then has the length.
  ///   - isOvertaken: whether an entry in the same place prevents this one from being stored.
  private func commit(
    _ writer: EntryWriter, as stored: StoredResponse, isBeginning: Bool = false,
    unless isOvertaken: (@Sendable (StoredEntry) -> Bool)?
  ) -> Result<EntryID, Refused> {
    let metadata = isBeginning ? stored.encoded() : nil
    guard let willStore = sent.call.willStore, let taken = writer.takeEntry() else {
      return Result(
        writer.commit(metadata: metadata, unless: isOvertaken, keepsContent: stored.parts != nil), of: stored)
    }
    var entry = taken.entry
    metadata.map { entry.metadata = $0 }
    var proposal = StorageProposal(
      request: sent.request, response: stored.response(age: nil), content: entry.body)
    willStore(&proposal)
    if proposal.tiers.isEmpty { return .failure(Refused(.refusedByApplication)) }
    if stored.parts == nil, proposal.content != entry.body {
      var edited = stored
      edited.replaceContent(count: proposal.content.count)
      entry.metadata = edited.encoded()
      entry.body = proposal.content
    }
    entry.tiers = proposal.tiers
    return cache.responses.insert(
      entry, annotation: proposal.annotation, unlessRemovedSince: taken.token, unless: isOvertaken, of: stored
    )
  }

  /// Publishes the bytes received before a transfer ended early, if they are of use.
  func keepBeginning(_ writer: EntryWriter, _ error: any Error) async -> EntryID? {
    let isContradictory = error as? HTTPCacheError == .incompleteContent
    guard !isContradictory, let stored = outcome.incomplete(after: Int64(received)) else {
      refuse(Refused(.incompleteContent))
      return nil
    }
    do {
      for try await chunk in MessageBody([after]) where !writer.append(chunk) { break }
    } catch {
      writer.cancel()
    }
    let content = ReceivedContent(writer, of: stored, self)
    var result = commit(
      writer, as: stored, isBeginning: true,
      unless: stored.parts == nil ? nil : overtaking(stored, sent.lookup))
    var reason: CacheEngine.Reason = stored.parts == nil ? .storedCombined : .storedAsPart
    var entry = try? result.get()
    if let content, result.isOvertakenPart {
      (result, reason) = await combine(content, isBeginning: true)
      entry = nil
    }
    note(
      result.mapError { $0.reason == .partNotCombined ? Refused(.incompleteContent) : $0 }, reason)
    return entry
  }

  /// Maximum number of times that a part is combined again because another part was stored meanwhile. Each time, one of
  /// the parts that arrived together is stored.
  private static let combiningLimit = 64

  /// Stores a part together with the parts that were stored in its place since the request was sent. They are other
  /// parts of the same representation: a client that fetches several ranges at a time gets them together (§3.4).
  ///
  /// - Returns: the outcome, and the reason for which the part is stored.
  @inline(never)
  private func combine(
    _ content: ReceivedContent, isBeginning: Bool = false
  ) async -> (Result<EntryID, Refused>, CacheEngine.Reason) {
    let lost = (
      Result<EntryID, Refused>.failure(Refused(.partNotCombined)), CacheEngine.Reason.partNotCombined
    )
    var exchange = exchange
    // The nominated responses are positions among those stored before.
    exchange.forwarding.isValidation = false
    exchange.forwarding.selected = nil
    exchange.forwarding.completion = nil
    for _ in 0..<Self.combiningLimit {
      let again = sent.with(
        lookup: await cache.responses.lookUp(
          sent.request, content: sent.call.body, sent.lookup.partition), tokens: sent.tokens)
      exchange.candidates = again.lookup.responses
      var outcome = cache.outcome(of: exchange, by: sent.call.ruled)
      guard case .store(var stored, let reason) = outcome.storage, let assembly = outcome.assembly else {
        // All of these invalidations are stored by now.
        outcome.invalidatedScopes = []
        again.apply(outcome, under: fetch?.lease)
        guard case .refuse(let reason) = outcome.storage else { return lost }
        return (.failure(Refused(reason)), .partNotCombined)
      }
      if isBeginning {
        guard let beginning = outcome.incomplete(after: Int64(received)) else { return lost }
        stored = beginning
      }
      guard let (_, writer) = makeWriter(stored, again.lookup, length: nil) else {
        return (.failure(Refused(cache.responses.reasonWithoutPlace)), .partNotCombined)
      }
      let entry = assembly.candidate.map { again.lookup.entries[$0] }
      func piece(_ range: Range<Int64>) -> MessageBody.Piece {
        entry.map { MessageBody.Piece($0.body, range) } ?? .bytes([])
      }
      do {
        for try await chunk in MessageBody([piece(assembly.before)]) where !writer.append(chunk) { break }
        guard await content.copy(to: writer) else { return lost }
        let after = piece(assembly.after(Int64(received)))
        for try await chunk in MessageBody([after]) where !writer.append(chunk) { break }
      } catch {
        // The entry to combine with is gone or damaged: look it up once more.
        continue
      }
      let result = commit(
        writer, as: stored, isBeginning: true, unless: overtaking(stored, again.lookup))
      if !result.isOvertakenPart { return (result, isBeginning ? .storedAsPart : reason) }
    }
    return lost
  }

  /// Returns the check that prevents this response from being stored if another was stored in its place since the
  /// request was sent.
  ///
  /// A part gives way to any response, because that may be complete. A complete response gives way to a more recent
  /// one, because a cache uses the most recent (§4); of those made in the same second, to the one that arrived last.
  /// Responses stored before the request do not count: with a wrong date one could stay forever.
  private func overtaking(
    _ stored: StoredResponse, _ lookup: Lookup
  ) -> @Sendable (StoredEntry) -> Bool {
    let known = lookup.entries.map(\.id)
    return { entry in
      if known.contains(entry.id) { return false }
      if stored.parts != nil { return true }
      var other: ReuseFacts?
      entry.withMetadata { other = StoredResponse(decoding: $0)?.facts }
      return other.map { ($0.date, $0.responseTime) > (stored.facts.date, stored.facts.responseTime) }
        ?? false
    }
  }

  /// Returns the stored content, for slow readers; `nil` if the application may have changed it, or it is gone.
  func body(of entry: EntryID?) -> StoredBody? {
    guard let entry, let place, sent.call.willStore == nil else { return nil }
    let found =
      cache.store.peek(place).first { $0.id == entry } ?? cache.store.lookup(place).first { $0.id == entry }
    return found?.body
  }

  private func note(_ result: Result<EntryID, Refused>, _ reason: CacheEngine.Reason) {
    switch result {
    case .success:
      sent.note(.stored, reason, byteCount: storedCount)
      settlement?.settle(reason, isStored: true)
    case .failure(let refused): refuse(refused)
    }
  }

  func refuse(_ refused: Refused) {
    sent.note(.notStored, refused.reason, refusal: refused.refusal)
    settlement?.settle(refused.reason, isStored: false)
  }
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
  init?(_ writer: EntryWriter, of stored: StoredResponse, _ exchange: OriginExchange) {
    guard stored.parts != nil else { return nil }
    self.writer = writer
    range = exchange.before.count..<exchange.before.count + exchange.received
    guard exchange.sent.call.willStore != nil else { return }
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
