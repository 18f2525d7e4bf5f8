// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Dispatch
import Synchronization

/// What all content in flight occupies in memory: content that is neither stored yet nor delivered.
///
/// The limit is soft by one block for each transfer, so that it can never block one for good: whoever holds nothing may
/// always take one block, and whoever holds something takes no more while the budget ``isFull``. Therefore nobody has to
/// wait for another transfer's bytes: each goes on as its own readers take what it holds.
package final class TransitBudget: Sendable {
  /// Bytes; see ``HTTPCache/Configuration/transitCapacity``.
  package let capacity: Int
  private let occupied = Atomic<Int>(0)
  /// The most bytes in use since freed memory was last given back.
  private let peak = Atomic<Int>(0)
  private let isGivingBack = Atomic(false)
  /// Freed memory is given back when this much of it was freed, in bytes.
  private static let worthGivingBack = 16 << 20

  package init(capacity: Int) {
    self.capacity = Swift.max(0, capacity)
  }

  /// Bytes in use now.
  package var used: Int { occupied.load(ordering: .relaxed) }

  /// Whether there is room only for those who hold nothing.
  package var isFull: Bool { used >= capacity }

  /// Counts a change of what one holder occupies, in bytes.
  package func change(by bytes: Int) {
    guard bytes != 0 else { return }
    let used = occupied.wrappingAdd(bytes, ordering: .relaxed).newValue
    if bytes > 0 {
      peak.max(used, ordering: .relaxed)
    } else if peak.load(ordering: .relaxed) - used >= Self.worthGivingBack {
      giveBackSoon()
    }
  }

  /// Has freed memory returned to the system, at most twice a second.
  ///
  /// glibc returns only what lies at the end of its heaps: when 40 clients with 64 MiB in flight had left, the process kept
  /// 110 MB of which it used 35.
  private func giveBackSoon() {
    guard !isGivingBack.exchange(true, ordering: .relaxed) else { return }
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .milliseconds(500)) { [self] in
      peak.store(used, ordering: .relaxed)
      isGivingBack.store(false, ordering: .relaxed)
      Allocator.giveBack()
    }
  }
}
