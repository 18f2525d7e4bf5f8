// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// Numbers that only grow: the ids of entries, and the order of updates and removals.
final class SequenceNumbers: Sendable {
  private let next: Atomic<UInt64>

  /// The distance from the last number found to the next number. A lost entry or removal, which never reached the disk,
  /// then shares its number with nothing new.
  private static let gap: UInt64 = 1 << 24

  init(after last: UInt64) {
    next = Atomic(last == 0 ? 1 : (last / Self.gap + 1) * Self.gap)
  }

  /// Takes the next number. The caller sees everything that callers with a lower number did before they took it.
  func take() -> UInt64 {
    next.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue
  }

  /// The number that will be taken next.
  var upcoming: UInt64 { next.load(ordering: .sequentiallyConsistent) }
}
