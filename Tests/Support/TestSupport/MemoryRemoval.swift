// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
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

/// The resident memory of this process, in bytes; `nil` on systems that do not report it.
package enum ResidentMemory {
  package static var now: Int? {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
    let words = text.split(separator: " ")
    guard words.count > 1, let pages = Int(words[1]) else { return nil }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }
}
