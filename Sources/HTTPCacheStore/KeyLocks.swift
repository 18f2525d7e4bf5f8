// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// Locks that keys share by hash: operations on one key run one after the other.
final class KeyLocks: Sendable {
  private final class Lock: Sendable {
    let mutex = Mutex(())
  }

  private let locks = (0..<64).map { _ in Lock() }

  // Like `StripedCounters`, uses neither the bits of the shard (the top) nor those of the table (the bottom).
  func withLock<Result: Sendable>(_ hash: UInt64, _ work: () -> Result) -> Result {
    locks[Int(hash >> 24 & 63)].mutex.withLock { _ in work() }
  }
}
