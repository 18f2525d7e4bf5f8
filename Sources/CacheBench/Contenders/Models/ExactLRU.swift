// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// LRU over all entries, without shards and without approximation.
final class ExactLRU: ReplayedCache {
  private let list: NodeList<Int, Void>

  init(capacity: Int) { list = NodeList(capacity: capacity) }

  func access(_ key: Int, bytes: Int) -> Bool {
    if list.value(of: key) != nil { return true }
    _ = list.put(key, (), cost: bytes)
    return false
  }
}
