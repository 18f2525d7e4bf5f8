// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Dispatch

/// A cache over a store, which learns of changes in the state of the disk.
package protocol DiskObserver: AnyObject, Sendable {
  /// Called on the queue of the store, without any lock.
  func diskChanged(_ event: DiskEvent)
}

/// Calls the observers with the disk's events, in order.
///
/// A serial queue calls the observers, without any lock of the store, so they may use the store. Events occur
/// under several locks, and a removal takes some of those as well.
///
/// **State**: the caches that observe, and the last event. **Lock**: a lock of its own, held for no call.
final class DiskEvents: Sendable {
  private struct State {
    var caches: [Weak] = []
    var last: DiskEvent?
  }

  private struct Weak {
    weak var cache: (any DiskObserver)?
  }

  private let queue = DispatchQueue(label: "HTTPCacheStore.events", qos: .utility)
  private let observer: (@Sendable (DiskEvent) -> Void)?
  private let counters: DiskCounters
  private let state = Mutex(State())

  init(observer: (@Sendable (DiskEvent) -> Void)?, counters: DiskCounters) {
    self.observer = observer
    self.counters = counters
  }

  /// Counts events, and schedules the calls of the observers. Call it under the log's lock, so that the observers see
  /// the events in their order.
  func add(_ events: [DiskEvent]) {
    for event in events {
      if event.kind == .failing { counters.failures.increment() }
      queue.async { [self] in
        observer?(event)
        let caches = state.withLock { state in
          state.last = event
          state.caches.removeAll { $0.cache == nil }
          return state.caches
        }
        for weak in caches { weak.cache?.diskChanged(event) }
      }
    }
  }

  /// Adds a cache, as long as that exists. If the disk has failed already, and not recovered, the cache learns it.
  func add(_ cache: any DiskObserver) {
    queue.async { [self, weak cache] in
      let last = state.withLock { state in
        state.caches.append(Weak(cache: cache))
        return state.last
      }
      if let last, last.kind != .recovered { cache?.diskChanged(last) }
    }
  }

  /// Returns when the observers have been called for all events added before.
  func drain() { queue.sync {} }
}
