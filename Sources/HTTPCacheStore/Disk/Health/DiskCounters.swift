// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// Counts events of the disk tier.
final class DiskCounters: Sendable {
  let evictions = Atomic<Int>(0)
  let carries = Atomic<Int>(0)
  let corruptRecords = Atomic<Int>(0)
  let ioErrors = Atomic<Int>(0)
  let failures = Atomic<Int>(0)
  let bytesWritten = Atomic<Int>(0)
  let bytesStored = Atomic<Int>(0)
}

extension Atomic<Int> {
  func increment(by count: Int = 1) {
    add(count, ordering: .relaxed)
  }

  var value: Int { load(ordering: .relaxed) }
}
