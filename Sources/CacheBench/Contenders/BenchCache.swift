// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheStore

/// A cache of bodies under keys: the interface of every contender in memory.
protocol KeyedCache: Sendable {
  /// Returns the bytes of a key's body, which counts as used; `nil` if it is missing.
  func bodyCount(of key: StoreKey) -> Int?
  /// Returns a byte from the middle of a key's body, which counts as used; `nil` if it is missing.
  func bodyByte(of key: StoreKey) -> UInt8?
  /// Stores a body, and replaces the present one. Returns whether it is stored.
  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool
  /// Number of entries, if the cache reports it.
  var entryCount: Int? { get }
  /// Bytes that the cache occupies by its own account.
  var accountedBytes: Int? { get }
}

extension KeyedCache {
  var entryCount: Int? { nil }
  var accountedBytes: Int? { nil }
}

extension Collection<UInt8> where Index == Int {
  var middleByte: UInt8? { isEmpty ? nil : self[count / 2] }
}

/// A keyed cache for the measurements of `throughput` and `latency`.
struct KeyedBench<Cache: KeyedCache>: BenchCache {
  let data: Dataset
  let cache: Cache

  func warm(_ key: Int) { data.touch(key) }

  func operation(_ action: Action) -> Operation? {
    let (data, cache) = (data, cache)
    switch action {
    case .get: return { cache.bodyCount(of: StoreKey(data.requests[$0])) == data.valueSize }
    case .getByKey: return { cache.bodyCount(of: data.keys[$0]) == data.valueSize }
    case .miss:
      return {
        cache.bodyCount(of: StoreKey(data.absentRequests[$0 % data.absentRequests.count])) != nil
      }
    case .store, .storeAgain: return { cache.put(StoreKey(data.requests[$0]), data.bodies[$0]) }
    default: return nil
    }
  }
}
