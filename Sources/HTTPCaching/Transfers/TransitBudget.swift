// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Dispatch
import Synchronization

/// The memory used by all content in flight: content that is neither stored yet nor delivered.
///
/// The limit is soft by one block for each transfer, so it can never block a transfer for good. A transfer without a
/// block may always take one. A transfer with a block takes no more while the budget ``isFull``. Therefore no transfer
/// waits for the bytes of another: each continues as its own readers take its bytes.
package final class TransitBudget: Sendable {
  /// The limit in bytes; see ``HTTPCache/Configuration/transitCapacity``.
  package let capacity: Int
  private let clock: any CacheClock
  private let occupied = Atomic<Int>(0)
  /// Maximum bytes in use since freed memory was last returned to the system.
  private let peak = Atomic<Int>(0)
  private let isGivingBack = Atomic(false)
  /// The number of freed bytes at which memory is returned to the system.
  private static let worthGivingBack = 16 << 20

  package init(capacity: Int, clock: any CacheClock = SystemCacheClock.shared) {
    self.capacity = Swift.max(0, capacity)
    self.clock = clock
  }

  /// Bytes in use now.
  package var used: Int { occupied.load(ordering: .relaxed) }

  /// Whether only transfers without a block may take one.
  package var isFull: Bool { used >= capacity }

  /// Reserves the bytes of content whose length is announced, so that it can be complete in flight.
  ///
  /// Reservations are made up to half of the capacity: bytes that were only announced never make the budget full.
  ///
  /// - Returns: whether they are reserved. The caller gives them back with ``change(by:)``.
  package func reserve(_ bytes: Int) -> Bool {
    guard used + bytes <= capacity / 2 else { return false }
    change(by: bytes)
    return true
  }

  /// Records a change of the bytes that one transfer uses.
  package func change(by bytes: Int) {
    guard bytes != 0 else { return }
    let used = occupied.wrappingAdd(bytes, ordering: .relaxed).newValue
    if bytes > 0 {
      peak.max(used, ordering: .relaxed)
    } else if peak.load(ordering: .relaxed) - used >= Self.worthGivingBack {
      giveBackSoon()
    }
  }

  /// Returns freed memory to the system, at most twice a second.
  ///
  /// glibc returns only the memory at the end of its heaps. After 40 clients with 64 MiB in flight had left, the
  /// process kept 110 MB, of which it used 35.
  private func giveBackSoon() {
    guard !isGivingBack.exchange(true, ordering: .relaxed) else { return }
    Task(priority: .utility) { [self] in
      try? await clock.sleep(for: .milliseconds(500))
      peak.store(used, ordering: .relaxed)
      isGivingBack.store(false, ordering: .relaxed)
      // It takes some milliseconds.
      DispatchQueue.global(qos: .utility).async { Allocator.giveBack() }
    }
  }
}
