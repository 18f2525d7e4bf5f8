// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// The counters of a store that its tiers do not keep.
final class StoreCounters: Sendable {
  let diskHits = Atomic<Int>(0)
  let misses = Atomic<Int>(0)
  let inserts = Atomic<Int>(0)
  let updates = Atomic<Int>(0)
  let refusals = Atomic<Int>(0)
  let removals = Atomic<Int>(0)
  let diskRejections = Atomic<Int>(0)

  var statistics: StoreStatistics {
    var result = StoreStatistics()
    result.diskHits = diskHits.value
    result.misses = misses.value
    result.inserts = inserts.value
    result.updates = updates.value
    result.refusals = refusals.value
    result.removals = removals.value
    result.diskRejections = diskRejections.value
    return result
  }
}
