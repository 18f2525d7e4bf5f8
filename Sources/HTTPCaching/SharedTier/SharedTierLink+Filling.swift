// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// What a request gets from the tier: trust in its stored responses, and copies of those that other nodes have stored.
extension SharedTierLink {
  /// Marks the candidates that must be validated, because the cache does not know whether another node has removed them.
  ///
  /// - Parameter start: the time when the request began. A response that the origin has confirmed since may be used.
  func markUnconfirmed(_ lookup: inout Lookup, since start: Timestamp, at now: Timestamp) {
    guard lookup.key != nil else { return }
    for index in lookup.responses.indices {
      let response = lookup.responses[index]
      if mayTrust(lookup.entries[index], response, at: now) { continue }
      if response.facts.responseTime > start, response.facts.responseTime <= now { continue }
      lookup.responses[index].facts.flags.insert(.invalidated)
      lookup.isUnconfirmed = true
    }
  }

  // MARK: - Finding

  /// Whether a request may be answered from the shared tier.
  func mayHave(_ forwarding: CacheEngine.Forwarding, _ key: CacheKey) -> Bool {
    guard sharesResponses else { return false }
    let method = forwarding.original.method
    guard method == .get || method == .head, StoredKey(StoreKey(key.bytes)).kind == .get,
      forwarding.policy == .useProtocolCachePolicy || forwarding.policy == .returnCacheDataElseLoad
    else { return false }
    return forwarding.reason.isAboutStored
  }

  /// Copies what the shared tier has for a key to the local store.
  ///
  /// - Returns: whether anything was copied that the local store did not have, or had less fresh.
  func fill(_ lookup: Lookup, for request: HTTPRequest, in responses: ResponseStore) async -> Bool {
    guard let key = lookup.key else { return false }
    let token = store.removalToken(for: StoreKey(key.bytes))
    let found = await find(key) { responses.engine.variantKeys(of: request.headerFields, on: $0) }
    if found.isEmpty { return false }
    guard store.hasDisk else { return copy(found, key, lookup, since: token, to: responses) }
    return await BlockingExecutor.run { [self] in
      copy(found, key, lookup, since: token, to: responses)
    }
  }

  private func copy(
    _ found: [SharedEntryForm.Found], _ key: CacheKey, _ lookup: Lookup, since token: RemovalToken,
    to responses: ResponseStore
  ) -> Bool {
    let known = lookup.knownVariants
    var isFilled = false
    for entry in found {
      // When it was found.
      let now = entry.stored.facts.responseTime
      let variantKey = entry.stored.selecting.variantKey
      let remaining = entry.stored.facts.remainingLifetime(at: now)
      let isBetter = zip(lookup.entries, lookup.responses).allSatisfy { local, response in
        response.selecting.variantKey != variantKey || !mayTrust(local, response, at: now)
          || response.facts.remainingLifetime(at: now) < remaining
      }
      guard isBetter,
        let place = responses.place(for: entry.stored, in: (StoreKey(key.bytes), token), known: known)
      else { continue }
      let new = NewEntry(
        key: place.key, variant: store.fingerprint(of: variantKey),
        metadata: entry.stored.encoded(), body: entry.body, storedAt: responses.storedAt(now), tiers: .all,
        scopes: entry.scopes.map { StoreScope($0) })
      if store.insert(new, unlessRemovedSince: place.token).id != nil { isFilled = true }
    }
    return isFilled
  }
}

extension CacheEngine.Reason {
  /// Whether a request goes to the origin only because of what is stored here, so that what is stored elsewhere may answer
  /// it.
  fileprivate var isAboutStored: Bool {
    switch self {
    case .nothingStored, .noVariantMatches, .stale, .staleMustRevalidate, .storedInTheFuture,
      .contentIncomplete, .noLifetime, .staleWhileRevalidate, .staleByRule:
      true
    default: false
    }
  }
}
