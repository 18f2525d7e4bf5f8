// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheStore

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
