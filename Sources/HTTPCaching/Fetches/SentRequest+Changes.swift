// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

/// Applies the outcome of an exchange to the stored responses, and makes its events.
extension SentRequest {
  // MARK: - Changes to the store

  /// Updates and removes stored responses as the outcome requires, before a client sees the response. If the response is to
  /// be stored, what it replaces is removed later, when it is complete.
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
    for update in outcome.updates {
      let (old, entry) = (lookup.responses[update.candidate], lookup.entries[update.candidate])
      // Invalidated with its group since the lookup: an update must not take it out of the group.
      if store.isInvalidated(old, entry.id, under: key) { continue }
      let isUpdated = store.updateMetadata(
        of: entry, key: entry.storeKey, storedAt: responses.storedAt(update.response.facts.responseTime),
        // A 304 may take the response into a group that was removed meanwhile.
        in: (old.scopes(under: key) + update.response.scopes(under: key)).map { StoreScope($0) },
        unlessSweptSince: tokens.key
      ) { _ in update.response.encoded() }
      // If it was replaced or removed meanwhile, its successor is newer.
      if isUpdated {
        hasUpdated = true
        note(.updated, update.reason)
        shared?.offer(
          key, entry.id, at: entry.storeKey, count: entry.bodyCount, isRefresh: true, since: tokens.shared,
          lease, queuedStep)
      }
    }
    if case .store = outcome.storage { return hasUpdated }
    remove(outcome.removals)
    return hasUpdated
  }
}

extension SentRequest {
  /// Removes what a complete response takes the place of: responses with other selecting fields, and those with the same if
  /// they are elsewhere, or if the store has no place for the new one.
  ///
  /// - Parameters:
  ///   - place: the key that the response is stored under.
  ///   - result: whether it is stored.
  func removeSuperseded(
    _ outcome: CacheEngine.Outcome, by stored: StoredResponse, at place: StoreKey?,
    _ result: Result<EntryID, Refused>
  ) {
    if lookup.entries.isEmpty { return }
    var place = place
    if case .failure(let refused) = result {
      guard refused.supersedes else { return }
      place = nil
    }
    let variantKey = stored.selecting.variantKey
    let variant = cache.store.fingerprint(of: variantKey)
    // The stored parts of the same representation stay, if the whole is too large.
    let isAnother = stored.parts == nil && outcome.assembly?.candidate == nil
    remove(
      lookup.entries.indices.filter { index in
        // A 304 with another `Vary` leaves a response in the place of its old one.
        guard lookup.responses[index].selecting.variantKey == variantKey else {
          return outcome.removals.contains(index)
        }
        let entry = lookup.entries[index]
        return place.map { entry.variant != variant || entry.storeKey != $0 } ?? isAnother
      })
  }

  /// Removes single variants. For other caches, that is a removal of the target.
  func remove(_ candidates: [Int]) {
    if candidates.isEmpty { return }
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
}
