// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// Keeps a tier within its capacity: bytes are reserved here before they are added.
///
/// One word holds the difference between limit and usage. So a limit that one thread lowers applies to the reservations of
/// all threads from that moment on. A full tier refuses with a single load, because every insert into it asks.
final class ByteBudget: Sendable {
  /// Bytes below the limit; less than 0 after the limit was lowered.
  private let free: Atomic<Int>
  private let limit: Atomic<Int>

  init(limit: Int) {
    free = Atomic(limit)
    self.limit = Atomic(limit)
  }

  /// Bytes that are reserved. While another thread changes the limit, it may be too low, but never too high.
  var used: Int {
    while true {
      let limit = limit.load(ordering: .acquiring)
      let free = free.load(ordering: .acquiring)
      if self.limit.load(ordering: .relaxed) == limit { return max(0, limit - free) }
    }
  }

  /// The usage above the limit, after the limit was lowered.
  var excess: Int { max(0, -free.load(ordering: .relaxed)) }

  @inline(__always)
  func reserve(_ bytes: Int) -> Bool {
    var free = free.load(ordering: .relaxed)
    while bytes <= free {
      let (isDone, current) = self.free.weakCompareExchange(
        expected: free, desired: free - bytes, ordering: .relaxed)
      if isDone { return true }
      free = current
    }
    return false
  }

  @inline(__always)
  func release(_ bytes: Int) {
    guard bytes > 0 else { return }
    free.add(bytes, ordering: .relaxed)
  }

  /// Changes the limit. Not from two threads at once.
  func setLimit(_ bytes: Int) {
    let change = bytes - limit.load(ordering: .relaxed)
    if change > 0 { free.add(change, ordering: .releasing) }
    limit.store(bytes, ordering: .releasing)
    if change < 0 { free.add(change, ordering: .releasing) }
  }
}
