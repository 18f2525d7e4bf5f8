// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// Tells the observer what happened to the disk, in order.
///
/// **State**: the events that are not told yet. **Lock**: `untold` guards them, and is taken under the log's lock. `telling` is held while
/// the observer runs, without the log's lock.
final class DiskEvents: Sendable {
  private let untold = Mutex<[DiskEvent]>([])
  private let telling = Mutex(())
  private let observer: (@Sendable (DiskEvent) -> Void)?
  private let counters: DiskCounters

  init(observer: (@Sendable (DiskEvent) -> Void)?, counters: DiskCounters) {
    self.observer = observer
    self.counters = counters
  }

  func add(_ events: [DiskEvent]) {
    untold.withLock { $0 += events }
  }

  /// When it returns, what was added before has been told, by this thread or another.
  func tell() {
    telling.withLock { _ in
      let events = untold.withLock { untold in
        defer { untold = [] }
        return untold
      }
      for event in events {
        if event.kind == .failing { counters.failures.increment() }
        observer?(event)
      }
    }
  }
}
