// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore

/// The store of a cache as HTTP sees it: it finds the stored responses of a request, and the places of new ones.
///
/// A target's responses lie under one key, its variants beside each other. A resource with many variants has an index, which
/// leads to further keys: see ``VariantIndex``. With `No-Vary-Search`, targets share keys: see ``Anchor``.
final class ResponseStore: Sendable {
  let store: CacheStore
  let engine: CacheEngine
  let configuration: HTTPCache.Configuration
  private let currentRules: CurrentRules
  let clock: any CacheClock
  let earlier: EarlierTimes
  /// The variants that no field of a request selects: those without `Vary`, and with `Vary: *`.
  let unselectedVariants: [VariantID]
  /// The order in which the variants of resources with several were last used.
  let order: VariantOrder
  /// Locked while the anchor of a QUERY target, or the index of many variants, is made.
  let anchorMaking = Mutex<Void>(())

  init(
    _ store: CacheStore, _ engine: CacheEngine, _ configuration: HTTPCache.Configuration,
    _ currentRules: CurrentRules, clock: any CacheClock
  ) {
    self.store = store
    self.engine = engine
    self.configuration = configuration
    self.currentRules = currentRules
    self.clock = clock
    earlier = EarlierTimes(store, clock: clock)
    unselectedVariants = StoredResponse.unselectedVariantKeys.map(store.fingerprint)
    order = VariantOrder(
      maximum: configuration.maximumVariants, memoryCapacity: configuration.store.memoryCapacity)
  }

  /// The rules of keys; `nil` if none changes a key.
  var ruleTable: RuleTable? { currentRules.tableOfKeys }

  /// The wall clock's time of storing, for ``StoredEntry/storedAt``.
  ///
  /// The clocks are read one after the other: a difference of less than 10 ms does not count.
  func storedAt(_ time: Timestamp) -> Int64 {
    let difference = clock.wallTime.millisecondsSince(clock.now)
    return abs(difference) < 10
      ? time.milliseconds : time.advanced(by: .milliseconds(difference)).milliseconds
  }

  /// Stores an entry, and its annotation.
  func insert(
    _ entry: NewEntry, annotation: [UInt8]?, unlessRemovedSince token: RemovalToken?,
    unless isOvertaken: (@Sendable (StoredEntry) -> Bool)? = nil, of stored: StoredResponse
  ) -> Result<EntryID, Refused> {
    let result = Result(
      store.insert(entry, unlessRemovedSince: token, unless: isOvertaken), of: stored)
    if let annotation, case .success(let id) = result {
      let annotation = Annotation(annotation, of: id).entry(beside: entry)
      // A token is good for one key.
      store.insert(
        annotation,
        unlessRemovedSince: token.map { store.removalToken(for: annotation.key, since: $0) })
    }
    return result
  }
}

extension Result where Success == EntryID, Failure == Refused {
  /// - Parameter stored: the response that the store got.
  init(_ outcome: InsertOutcome, of stored: StoredResponse) {
    self =
      switch outcome {
      case .stored(let id): .success(id)
      case .refused(let refusal) where refusal.reason == .overtaken && stored.parts != nil:
        .failure(Refused(.partNotCombined))
      case .refused(let refusal): .failure(Refused(refusal))
      }
  }
}
