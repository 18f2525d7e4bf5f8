// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

/// Applies the outcome of an exchange to the stored responses, and makes its events.
extension SentRequest {
  // MARK: - Changes to the store

  /// Updates and removes stored responses as the outcome requires, before a client sees the response.
  ///
  /// - Parameter lease: the lease of the shared tier under which the request was sent.
  /// - Returns: whether a stored response was updated.
  @discardableResult
  func apply(_ outcome: CacheEngine.Outcome, under lease: LeaseHold? = nil) -> Bool {
    let (store, responses, shared) = (cache.store, cache.responses, cache.shared)
    for uri in outcome.invalidations {
      cache.remove(HTTPCache.Selection(.target(uri, keepingPins: true), partition: lookup.partition))
      note(.invalidated, .invalidatedByUnsafeMethod)
    }
    let scopes = outcome.invalidatedScopes.map { $0.scope.bytes(partition: lookup.partition) }
    if !scopes.isEmpty { cache.remove(HTTPCache.Selection(.scopes(scopes))) }
    for invalidated in outcome.invalidatedScopes {
      note(.invalidated, invalidated.reason)
    }
    guard let key = lookup.key else { return false }
    var hasUpdated = false
    for update in outcome.updates + (outcome.addition.map { [$0] } ?? []) {
      let (old, entry) = (lookup.responses[update.candidate], lookup.entries[update.candidate])
      // Invalidated with its group since the lookup: an update must not take it out of the group.
      if store.isInvalidated(old, entry.id, under: key) { continue }
      if update == outcome.addition, let place = copy(update.response, of: entry) {
        hasUpdated = true
        note(.updated, update.reason)
        shared?.offer(
          key, place.id, at: place.key, count: entry.bodyCount, since: tokens.shared, lease, queuedStep)
        continue
      }
      let isUpdated = store.updateMetadata(
        of: entry, key: entry.storeKey, storedAt: responses.storedAt(update.response.facts.responseTime),
        // A 304 may take the response into a group that was removed meanwhile.
        in: (old.scopes(under: key) + update.response.scopes(under: key)).map { StoreScope($0) },
        unlessSweptSince: tokens.key
      ) {
        StoredResponse.encoded(
          update.response, replacing: update == outcome.addition ? nil : old.selecting,
          among: responses.earlier.present($0, of: entry))
      }
      // If it was replaced or removed meanwhile, its successor is newer.
      if isUpdated {
        hasUpdated = true
        responses.link(
          update.response, to: entry, in: (StoreKey(key.bytes), tokens.key), known: lookup.variants)
        note(.updated, update.reason)
        shared?.offer(
          key, entry.id, at: entry.storeKey, count: entry.bodyCount, isRefresh: true, since: tokens.shared,
          lease, queuedStep)
      }
    }
    if !outcome.removals.isEmpty { remove(outcome.removals) }
    return hasUpdated
  }
}

extension SentRequest {
  /// Removes single variants. For other caches, that is a removal of the target.
  private func remove(_ candidates: [Int]) {
    let removal = TargetURI(request).map { target in
      Removal(
        HTTPCache.Selection(
          .target(cache.responses.keyed(target), keepingPins: true), partition: lookup.partition))
    }
    if let removal, let shared = cache.shared, shared.sharesResponses { shared.add(removal) }
    for candidate in candidates {
      let entry = lookup.entries[candidate]
      cache.store.remove(entry.storeKey, variant: entry.variant)
    }
    if let removal { cache.removalPeers.tell(removal) }
  }

  /// Content of more bytes than this is not copied for a response that could share it.
  private static let mostCopied = 1 << 20

  /// Stores a response whose content a 304 chose with a copy of that content, if as many responses share the content as one
  /// entry may have. Further ones then share the copy.
  ///
  /// - Returns: where it is stored; `nil` if it is to share the content.
  private func copy(_ response: StoredResponse, of entry: StoredEntry) -> (id: EntryID, key: StoreKey)? {
    guard lookup.entries.count(where: { $0.id == entry.id }) >= StoredResponse.mostSharing,
      response.parts == nil, entry.bodyCount <= Self.mostCopied,
      let place = cache.responses.place(for: response, lookup, tokens: tokens),
      let content = try? entry.body.readAll()
    else { return nil }
    let new = NewEntry(
      key: place.key, variant: cache.store.fingerprint(of: response.selecting.variantKey),
      metadata: response.encoded(), body: Array(content),
      storedAt: cache.responses.storedAt(response.facts.responseTime),
      scopes: lookup.key.map { response.scopes(under: $0).map { StoreScope($0) } } ?? [])
    return cache.store.insert(new, unlessRemovedSince: place.token).id.map { ($0, place.key) }
  }
}
