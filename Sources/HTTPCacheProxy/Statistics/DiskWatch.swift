// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheObserving
import HTTPCacheStore
import Logging

/// Logs failed reads of the store's disk. Clients see them as misses, so they would otherwise go unnoticed.
final class DiskWatch: Sendable {
  private let store: CacheStore
  private let failures: FailureLog
  private let seen: Mutex<(corruptRecords: Int, ioErrors: Int)>

  init(_ store: CacheStore, _ logger: Logger) {
    self.store = store
    failures = FailureLog(logger, recovery: "the disk works again")
    seen = Mutex((0, 0))
  }

  /// Reads the store's counters.
  func look() {
    let now = store.statistics
    let (corrupt, errors) = seen.withLock { seen in
      defer { seen = (now.corruptRecords, now.ioErrors) }
      return (now.corruptRecords - seen.corruptRecords, now.ioErrors - seen.ioErrors)
    }
    if corrupt > 0 {
      failures.failed(
        "damage", "records on disk are damaged: they are removed, and their requests go to the origin",
        count: corrupt)
    }
    if errors > 0 { failures.failed("io", "operations on the cache directory fail", count: errors) }
  }
}
