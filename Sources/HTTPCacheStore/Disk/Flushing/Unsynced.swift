// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// What may not be on the disk itself yet. The log's lock guards it.
struct Unsynced: Sendable {
  /// Something was removed in a way that a loss of power would undo. The next acknowledged removal syncs it, as it may
  /// rely on it.
  var hasReplacement = false
  /// A removal was logged that awaits its sync. Another of the same key finds nothing to remove, and relies on it.
  var hasRemoval = false
  /// Body files whose bytes may not be on the disk itself.
  var bodies: Set<UInt64> = []

  var hasRemovals: Bool { hasReplacement || hasRemoval }

  /// What is to be synced now; what is logged from here on is noted anew.
  mutating func take(withBodies: Bool) -> Unsynced {
    var taken = self
    if withBodies { bodies = [] } else { taken.bodies = [] }
    (hasReplacement, hasRemoval) = (false, false)
    return taken
  }

  /// What was taken is not synced. Whoever comes next must not take it for done.
  mutating func restore(_ taken: Unsynced) {
    hasReplacement = true
    hasRemoval = hasRemoval || taken.hasRemoval
    bodies.formUnion(taken.bodies)
  }
}
