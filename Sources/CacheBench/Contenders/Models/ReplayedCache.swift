// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheStore

/// A cache in a replay: the store, or the model of a policy.
///
/// A model follows the publication of its policy exactly, and keeps keys and sizes only. It shows how many hits the policy
/// can have, so that the store can be compared with it.
protocol ReplayedCache: AnyObject {
  /// Requests a key, and stores its entry after a miss. An entry keeps the size that it was stored with.
  ///
  /// - Returns: whether the request was a hit.
  func access(_ key: Int, bytes: Int) -> Bool
}

/// Our store in a replay.
final class ReplayedStore: ReplayedCache {
  private let cache: EngineCache

  init(capacity: Int, eviction: EvictionPolicy, shards: Int?) throws {
    cache = try EngineCache(capacity: capacity, eviction: eviction, shards: shards)
  }

  func access(_ key: Int, bytes: Int) -> Bool {
    // Keys are numbers, so that all entries count the same in a replay by units.
    let key = StoreKey(withUnsafeBytes(of: UInt64(key).littleEndian) { Array($0) })
    if cache.bodyCount(of: key) != nil { return true }
    _ = cache.put(key, [UInt8](repeating: 0, count: bytes))
    return false
  }
}

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
