// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Dispatch

/// Calls the observer with the disk's events, in order.
///
/// A serial queue calls the observer, without any lock of the store, so the observer may use the store. Events occur
/// under several locks, and a removal takes some of those as well.
///
/// **State**: none but the queue. **Lock**: none.
final class DiskEvents: Sendable {
  private let queue = DispatchQueue(label: "HTTPCacheStore.events", qos: .utility)
  private let observer: (@Sendable (DiskEvent) -> Void)?
  private let counters: DiskCounters

  init(observer: (@Sendable (DiskEvent) -> Void)?, counters: DiskCounters) {
    self.observer = observer
    self.counters = counters
  }

  /// Counts events, and schedules the calls of the observer. Call it under the log's lock, so that the observer sees
  /// the events in their order.
  func add(_ events: [DiskEvent]) {
    for event in events {
      if event.kind == .failing { counters.failures.increment() }
      if let observer { queue.async { observer(event) } }
    }
  }

  /// Returns when the observer has been called for all events added before.
  func drain() { queue.sync {} }
}
