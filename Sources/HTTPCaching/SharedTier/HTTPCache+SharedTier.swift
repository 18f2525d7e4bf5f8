// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

extension HTTPCache {
  /// Counts and state of the shared tier; `nil` without one.
  public var sharedTierStatistics: SharedTierStatistics? { shared?.statistics }

  /// Waits until all removals that this cache has made so far have been applied by every node of the shared tier.
  ///
  /// A call that removes or expires responses does so in this cache at once, and tells the shared tier in the background.
  /// Call this method afterwards to know how far the removal has reached. Without a shared tier it returns at once.
  ///
  /// A node that does not answer is waited for until its registration ends: one and a half times
  /// ``SharedTierOptions/trust``. By then it has stopped serving its content without validation.
  ///
  /// - Parameter limit: maximum time to wait.
  /// - Returns: how far the removals have reached.
  public func confirmRemovals(within limit: Duration = .seconds(5)) async -> RemovalReach {
    await shared?.reach(within: limit) ?? .everywhere
  }

  /// Leaves the shared tier, and waits until that has forgotten this cache.
  package func closeSharedTier() async {
    shared?.stop()
    await shared?.stopped()
  }

  /// Purges a group of any origin, in any partition, here and at the other nodes.
  package func purgeGroupOfAnyOrigin(_ group: String, softly: Bool) -> Int {
    GroupName.possible(group).reduce(0) { count, group in
      shared?.add(.groupOfAnyOrigin(group, softly: softly))
      return count + purge(.groupOfAnyOrigin(group), softly: softly)
    }
  }

  // MARK: - Trust

  /// Marks the candidates that must be validated, because the cache does not know whether another node has removed them.
  ///
  /// - Parameter start: the time when the request began. A response that the origin has confirmed since may be used.
  func markUnconfirmed(_ lookup: inout Lookup, since start: Timestamp, at now: Timestamp) {
    guard let shared, lookup.key != nil else { return }
    for index in lookup.candidates.responses.indices {
      let response = lookup.candidates.responses[index]
      if shared.mayTrust(lookup.candidates.entries[index], response, at: now) { continue }
      if response.facts.responseTime > start, response.facts.responseTime <= now { continue }
      lookup.candidates.responses[index].facts.flags.insert(.invalidated)
      lookup.isUnconfirmed = true
    }
  }

  /// Whether all candidates may be used without validation.
  func areConfirmed(_ candidates: Candidates) -> Bool {
    guard let shared else { return true }
    let now = clock.now
    return zip(candidates.entries, candidates.responses).allSatisfy { shared.mayTrust($0, $1, at: now) }
  }

  // MARK: - Finding

  /// Whether a request may be answered from the shared tier.
  func mayShare(_ forwarding: CacheEngine.Forwarding, _ lookup: Lookup) -> Bool {
    guard let shared, shared.sharesResponses, let key = lookup.key, !isAlone(forwarding, key) else {
      return false
    }
    let method = forwarding.original.method
    guard method == .get || method == .head, StoredKey(StoreKey(key.bytes)).kind == .get,
      forwarding.policy == .useProtocolCachePolicy || forwarding.policy == .returnCacheDataElseLoad
    else { return false }
    return forwarding.reason.isAboutStored
  }

  /// Copies what the shared tier has for a key to the local store.
  ///
  /// - Returns: whether anything was copied that the local store did not have, or had less fresh.
  private func fill(_ lookup: Lookup, for request: HTTPRequest) async -> Bool {
    guard let shared, let key = lookup.key else { return false }
    let token = store.removalToken(for: StoreKey(key.bytes))
    let found = await shared.find(key) { engine.variantKeys(of: request.headerFields, on: $0) }
    if found.isEmpty { return false }
    guard store.hasDisk else { return copy(found, key, lookup, since: token) }
    return await BlockingExecutor.run { [self] in copy(found, key, lookup, since: token) }
  }

  private func copy(
    _ found: [SharedEntryForm.Found], _ key: CacheKey, _ lookup: Lookup, since token: RemovalToken
  ) -> Bool {
    let (candidates, known) = (lookup.candidates, lookup.knownVariants)
    var isFilled = false
    for entry in found {
      // When it was found.
      let now = entry.stored.facts.responseTime
      let variantKey = entry.stored.selecting.variantKey
      let remaining = entry.stored.facts.remainingLifetime(at: now)
      let isBetter = zip(candidates.entries, candidates.responses).allSatisfy { local, response in
        response.selecting.variantKey != variantKey || shared?.mayTrust(local, response, at: now) == false
          || response.facts.remainingLifetime(at: now) < remaining
      }
      guard isBetter,
        let place = place(for: entry.stored, in: (StoreKey(key.bytes), token), known: known)
      else { continue }
      let new = NewEntry(
        key: place.key, variant: store.fingerprint(of: variantKey),
        metadata: entry.stored.encoded(), body: entry.body, storedAt: storedAt(now), tiers: .all,
        scopes: entry.scopes.map { StoreScope($0) })
      if store.insert(new, unlessRemovedSince: place.token).id != nil { isFilled = true }
    }
    return isFilled
  }

  /// The answer of the shared tier before a request goes to the origin.
  enum Sharing: Sendable {
    /// The local store has something new, or soon will have: another node revalidates it in the background.
    case filled
    /// There is nothing that the local store lacks. This node sends the request under a lease, if it has one.
    case nothing(under: LeaseHold? = nil)
  }

  /// Looks for a response in the shared tier before a request goes to the origin.
  ///
  /// If the tier has no such response, the call takes the lease of the key, so that this node sends the request for all
  /// nodes. If another node has the lease, it waits for that node, and looks once more.
  func share(_ pending: PendingExchange) async -> Sharing {
    if await fill(pending.lookup, for: pending.request) { return .filled }
    guard let shared, let key = pending.lookup.key, mayWait(pending.forwarding, key),
      pending.request.method == .get
    else { return .nothing() }
    switch await shared.lease(leaseKey(key, pending.lookup, for: pending.request)) {
    case .leads(let lease): return .nothing(under: lease)
    case .alone: return .nothing()
    case .waited: return await fill(pending.lookup, for: pending.request) ? .filled : .nothing()
    }
  }

  /// Looks in the shared tier before a revalidation in the background. If another node is at it, that is enough.
  func shareInBackground(_ pending: PendingExchange) async -> Sharing {
    guard let shared, let key = pending.lookup.key, mayShare(pending.forwarding, pending.lookup) else {
      return .nothing()
    }
    if await fill(pending.lookup, for: pending.request) { return .filled }
    switch await shared.lease(leaseKey(key, pending.lookup, for: pending.request), mayWait: false) {
    case .leads(let lease): return .nothing(under: lease)
    case .alone: return .nothing()
    case .waited: return .filled
    }
  }

  // MARK: - Removals of other nodes

  /// Applies a removal of another node to the local store.
  func apply(_ removal: Removal) {
    switch removal {
    case .target(let target, let partition, let softly, let keepingPins):
      if softly {
        _ = expire(keyed: target, partition: partition)
      } else {
        removeAll(keyed: target, partition: partition, keepingPins: keepingPins)
      }
    case .patterns(let patterns, let partition, let softly):
      _ = purge(
        .keys { key in key.isIn(partition: partition) && patterns.contains { key.isMeant(by: $0) } },
        softly: softly)
    case .group(let group, let target, let partition, let softly):
      if !softly {
        mark([StoreScope(CacheKey(target, partition: partition).scope(group: group))])
      }
      _ = purge(.group(group, target: target, partition), softly: softly)
    case .groupOfAnyOrigin(let group, let softly): _ = purge(.groupOfAnyOrigin(group), softly: softly)
    case .scopes(let scopes): mark(scopes.map { StoreScope($0) })
    case .partition(let name):
      mark([StoreScope(CacheKey.scope(ofPartition: name))])
      store.unpin { StoredKey($0).isIn(partition: name) }
    case .since(let time): store.removeAll(since: time.milliseconds)
    case .everything(let softly):
      if softly { _ = purge(.keys { _ in true }, softly: true) } else { store.removeAll() }
    }
  }
}

extension CacheEngine.Reason {
  /// Whether a request goes to the origin only because of what is stored here, so that what is stored elsewhere may answer
  /// it.
  fileprivate var isAboutStored: Bool {
    switch self {
    case .nothingStored, .noVariantMatches, .stale, .staleMustRevalidate, .storedInTheFuture,
      .contentIncomplete, .noLifetime, .staleWhileRevalidate:
      true
    default: false
    }
  }
}
