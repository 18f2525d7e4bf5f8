// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Dispatch

/// Tells the observer what happened to the disk, in order.
///
/// A serial queue calls the observer. No lock of the store is held then, so the observer may use the store: what happens to the
/// disk is found out under several locks, some of which a removal takes as well.
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

  /// Counts events, and has the observer told. To be called under the log's lock, so that they are told in the order in which
  /// they happened.
  func add(_ events: [DiskEvent]) {
    for event in events {
      if event.kind == .failing { counters.failures.increment() }
      if let observer { queue.async { observer(event) } }
    }
  }

  /// Returns when the observer has been told what was added before.
  func drain() { queue.sync {} }
}
