// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// Applies the outcome of an exchange to the store, and makes its events.
extension HTTPCache {
  func isRemoved(_ key: CacheKey?, _ scopes: [StoreScope], since token: RemovalToken?) -> Bool {
    guard let key, let token else { return false }
    return store.mayBeRemoved(StoreKey(key.bytes), in: scopes, since: token)
  }

  /// Returns the scopes of the response that will be stored.
  func scopes(_ outcome: CacheEngine.Outcome, under key: CacheKey?) -> [StoreScope] {
    guard case .store(let stored, _) = outcome.storage, let key else { return [] }
    return stored.scopes(under: key).map { StoreScope($0) }
  }

  func exchange(
    _ result: CacheEngine.Exchange.Result, _ pending: PendingExchange, length: Int? = nil,
    requestTime: Timestamp
  ) -> CacheEngine.Exchange {
    var lifetime: Duration?
    if let rule = pending.call.lifetime, case .response(let head) = result {
      lifetime = rule(pending.request, head)
    }
    var exchange = CacheEngine.Exchange(
      forwarding: pending.forwarding, candidates: pending.lookup.candidates.responses, result: result,
      contentLength: length.map { Int64($0) }, lifetime: lifetime, requestTime: requestTime,
      responseTime: clock.now, arrival: clock.wallTime)
    exchange.storesUndeclared = pending.call.localOrigin == nil
    return exchange
  }

  /// Makes the event for the client's response, if a client waits for one.
  func noteAnswer(
    to pending: PendingExchange, _ reason: CacheEngine.Reason, _ source: CachedResponse.Source,
    byteCount: Int? = nil
  ) {
    guard !pending.isInBackground else { return }
    note(
      .answered, pending.request, reason, source: source, byteCount: byteCount,
      partition: pending.lookup.partition)
  }

  func noteFailure(of pending: PendingExchange, _ reason: CacheEngine.Reason) {
    guard !pending.isInBackground else { return }
    note(.failed, pending.request, reason, partition: pending.lookup.partition)
  }

  // MARK: - Changes to the store

  /// Updates and removes stored responses as the outcome requires, before a client sees the response.
  ///
  /// - Parameter tokens: taken before the request to the origin.
  /// - Returns: whether a stored response was updated.
  @discardableResult
  func apply(
    _ outcome: CacheEngine.Outcome, _ pending: PendingExchange, since tokens: RemovalTokens
  ) -> Bool {
    let token = tokens.key
    let (request, partition) = (pending.request, pending.lookup.partition)
    for uri in outcome.invalidations {
      removeAll(for: uri, partition: partition, keepingPins: true)
      note(.invalidated, request, .invalidatedByUnsafeMethod, partition: partition)
    }
    let scopes = outcome.invalidatedScopes.map { $0.scope.bytes(partition: partition) }
    if !scopes.isEmpty { shared?.add(.scopes(scopes)) }
    mark(scopes.map { StoreScope($0) })
    for invalidated in outcome.invalidatedScopes {
      note(.invalidated, request, invalidated.reason, partition: partition)
    }
    guard let key = pending.lookup.key else { return false }
    var hasUpdated = false
    let candidates = pending.lookup.candidates
    for update in outcome.updates + (outcome.addition.map { [$0] } ?? []) {
      let (old, entry) = (candidates.responses[update.candidate], candidates.entries[update.candidate])
      // Invalidated with its group since the lookup: an update must not take it out of the group.
      if store.isInvalidated(old, entry.id, under: key) { continue }
      if update == outcome.addition, let place = copy(update.response, of: entry, pending, since: tokens) {
        hasUpdated = true
        note(.updated, request, update.reason, partition: partition)
        shared?.offer(
          key, place.id, at: place.key, count: entry.bodyCount, since: tokens.shared, pending.lease)
        continue
      }
      let isUpdated = store.updateMetadata(
        of: entry, key: entry.storeKey, storedAt: storedAt(update.response.facts.responseTime),
        in: old.scopes(under: key).map { StoreScope($0) }, unlessSweptSince: token
      ) {
        StoredResponse.encoded(
          update.response, replacing: update == outcome.addition ? nil : old.selecting,
          among: earlier.present($0, of: entry))
      }
      // If it was replaced or removed meanwhile, its successor is newer.
      if isUpdated {
        hasUpdated = true
        link(
          update.response, to: entry, in: (StoreKey(key.bytes), token), known: pending.lookup.variants)
        note(.updated, request, update.reason, partition: partition)
        shared?.offer(
          key, entry.id, at: entry.storeKey, count: entry.bodyCount, since: tokens.shared, pending.lease)
      }
    }
    if !outcome.removals.isEmpty, let shared, let target = TargetURI(request), shared.sharesResponses {
      // The tier has no removal of single variants.
      shared.add(.target(keyed(target), partition: partition, softly: false, keepingPins: true))
    }
    for candidate in outcome.removals {
      let entry = candidates.entries[candidate]
      store.remove(entry.storeKey, variant: entry.variant)
    }
    return hasUpdated
  }
}

extension HTTPCache {
  /// Content of more bytes than this is not copied for a response that could share it.
  private static let mostCopied = 1 << 20

  /// Stores a response whose content a 304 chose with a copy of that content, if as many responses share the content as one
  /// entry may have. Further ones then share the copy.
  ///
  /// - Returns: where it is stored; `nil` if it is to share the content.
  private func copy(
    _ response: StoredResponse, of entry: StoredEntry, _ pending: PendingExchange, since tokens: RemovalTokens
  ) -> (id: EntryID, key: StoreKey)? {
    let candidates = pending.lookup.candidates
    guard candidates.entries.count(where: { $0.id == entry.id }) >= StoredResponse.mostSharing,
      response.parts == nil, entry.bodyCount <= Self.mostCopied,
      let place = place(for: response, pending.lookup, tokens: tokens),
      let content = try? entry.body.readAll()
    else { return nil }
    let new = NewEntry(
      key: place.key, variant: store.fingerprint(of: response.selecting.variantKey),
      metadata: response.encoded(), body: Array(content), storedAt: storedAt(response.facts.responseTime),
      scopes: pending.lookup.key.map { response.scopes(under: $0).map { StoreScope($0) } } ?? [])
    return store.insert(new, unlessRemovedSince: place.token).id.map { ($0, place.key) }
  }
}

extension CacheEngine.Reason {
  init(_ refusal: RefusalReason) {
    switch refusal {
    case .tooLarge: self = .tooLarge
    case .tooLargeForMemory: self = .tooLargeForMemory
    case .tooLargeForDisk: self = .tooLargeForDisk
    case .removedSince: self = .removedMeanwhile
    case .lengthMismatch, .cancelled: self = .incompleteContent
    case .overtaken, .superseded: self = .overtaken
    case .noRoom: self = .storeBusy
    case .noTier: self = .tierWithoutCapacity
    case .noCapacity: self = .noCapacity
    case .diskUnavailable: self = .diskUnavailable
    case .inputOutput: self = .diskFailing
    case .closed: self = .storeClosed
    default: self = .storeFailed
    }
  }
}
