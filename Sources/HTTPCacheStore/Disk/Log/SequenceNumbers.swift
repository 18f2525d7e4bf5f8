// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// Numbers that only grow: the ids of entries, and the order of updates and removals.
final class SequenceNumbers: Sendable {
  private let next: Atomic<UInt64>

  /// How far above the last number that was found the next is. What was numbered and lost, because it never reached the
  /// disk, then does not share its number with anything new.
  private static let gap: UInt64 = 1 << 24

  init(after last: UInt64) {
    next = Atomic(last == 0 ? 1 : (last / Self.gap + 1) * Self.gap)
  }

  /// Whoever takes a number sees what those did before who took a lower one.
  func take() -> UInt64 {
    next.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue
  }

  /// The number that will be taken next.
  var upcoming: UInt64 { next.load(ordering: .sequentiallyConsistent) }
}
