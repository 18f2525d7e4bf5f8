// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// Locks that keys share by hash: what is done under the lock of a key happens to it one after the other.
final class KeyLocks: Sendable {
  private final class Lock: Sendable {
    let mutex = Mutex(())
  }

  private let locks = (0..<64).map { _ in Lock() }

  // Neither the shard's bits (the top) nor the table's (the bottom), as for `StripedCounters`.
  func withLock<Result: Sendable>(_ hash: UInt64, _ work: () -> Result) -> Result {
    locks[Int(hash >> 24 & 63)].mutex.withLock { _ in work() }
  }
}
