// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import Synchronization

/// A clock that stands until a test moves it.
package final class ManualClock: CacheClock {
  private let time: Mutex<Timestamp>

  package init(_ start: Timestamp) {
    time = Mutex(start)
  }

  package var now: Timestamp { time.withLock { $0 } }

  package func advance(seconds: Int64) {
    time.withLock { $0 = $0.advanced(bySeconds: seconds) }
  }
}
