// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// What may not be on the disk yet. The log's lock guards it.
struct Unsynced: Sendable {
  /// Whether something was removed in a way that a loss of power would undo. The next acknowledged removal syncs it,
  /// because it may rely on it.
  var hasReplacement = false
  /// Whether a logged removal waits for its sync. Another removal of the same key finds nothing to remove, and relies
  /// on it.
  var hasRemoval = false
  /// Body files whose bytes may not be on the disk.
  var bodies: Set<UInt64> = []

  var hasRemovals: Bool { hasReplacement || hasRemoval }

  /// Takes what must be synced now; later changes are recorded again.
  mutating func take(withBodies: Bool) -> Unsynced {
    var taken = self
    if withBodies { bodies = [] } else { taken.bodies = [] }
    (hasReplacement, hasRemoval) = (false, false)
    return taken
  }

  /// Puts back what was taken and not synced, so that the next caller does not count it as done.
  mutating func restore(_ taken: Unsynced) {
    hasReplacement = true
    hasRemoval = hasRemoval || taken.hasRemoval
    bodies.formUnion(taken.bodies)
  }
}
