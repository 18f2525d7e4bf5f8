// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore

/// The removals of many entries at once.
package enum MemoryRemoval: String, CaseIterable, Sendable {
  case everything, memoryOnly, since, sweep, capacity

  package func remove(from store: CacheStore) {
    switch self {
    case .everything: store.removeAll()
    case .memoryOnly: store.clearMemory()
    case .since: store.removeAll(since: 0)
    case .sweep: store.sweep({ key, _ in key != nil }) { _ in .remove }
    case .capacity: store.setCapacity(memory: 1 << 20)
    }
  }
}
