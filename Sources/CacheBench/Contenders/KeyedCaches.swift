// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import Synchronization

/// Our store as a cache of bodies under keys, in memory.
final class EngineCache: ReadableCache {
  private let store: CacheStore

  /// - Parameter capacity: in bytes.
  init(capacity: Int, eviction: EvictionPolicy, shards: Int? = nil) throws {
    var configuration = CacheStore.Configuration(memoryCapacity: capacity)
    configuration.eviction = eviction
    configuration.shardCount = shards
    store = try CacheStore(configuration)
  }

  @inline(__always)
  func bodyCount(of key: StoreKey) -> Int? { store.lookup(key).first?.bodyCount }

  func bodyByte(of key: StoreKey) -> UInt8? {
    var byte: UInt8?
    store.lookup(key).first?.withResidentBody {
      byte = $0.unsafeLoad(fromByteOffset: $0.byteCount / 2, as: UInt8.self)
    }
    return byte
  }

  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool {
    let entry = NewEntry(
      key: key, variant: VariantID(rawValue: 1), metadata: [], body: body, storedAt: 0, tiers: .memory)
    return store.insert(entry).id != nil
  }

  var entryCount: Int? { store.usage.memoryEntries }
  var accountedBytes: Int? { store.usage.memoryBytes }

  /// What an entry with such a key and body counts in a store's capacity, in bytes.
  static func cost(keyBytes: Int, bodyBytes: Int, eviction: EvictionPolicy) throws -> Int {
    let cache = try EngineCache(
      capacity: (1 << 20) + 16 * (keyBytes + bodyBytes), eviction: eviction, shards: 1)
    guard
      cache.put(
        StoreKey([UInt8](repeating: 1, count: keyBytes)), [UInt8](repeating: 1, count: bodyBytes)),
      let cost = cache.accountedBytes
    else { throw BenchError.unprepared("the store takes no entry of \(keyBytes + bodyBytes) bytes") }
    return cost
  }
}

/// The simplest cache: a Dictionary behind a Mutex, without recency, capacity or disk.
final class DictionaryCache: ReadableCache {
  private let bodies = Mutex<[StoreKey: [UInt8]]>([:])

  func bodyCount(of key: StoreKey) -> Int? { bodies.withLock { $0[key] }?.count }
  func bodyByte(of key: StoreKey) -> UInt8? { bodies.withLock { $0[key] }?.middleByte }

  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool {
    // What was there is freed after the lock.
    _ = bodies.withLock { $0.updateValue(body, forKey: key) }
    return true
  }

  var entryCount: Int? { bodies.withLock { $0.count } }
}

/// Foundation's NSCache. Keys have to be objects: one is made for each lookup.
final class ObjectCache: ReadableCache {
  private final class Key: NSObject {
    let key: StoreKey
    init(_ key: StoreKey) { self.key = key }
    override var hash: Int { key.hashValue }
    override func isEqual(_ other: Any?) -> Bool { (other as? Key)?.key == key }
  }

  private final class Body {
    let bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }
  }

  private struct SendableCache: @unchecked Sendable {
    // Unchecked: Foundation documents NSCache as safe to use from any thread.
    let value = NSCache<Key, Body>()
  }

  private let cache = SendableCache()

  /// - Parameter capacity: in entries.
  init(capacity: Int) {
    cache.value.countLimit = capacity
  }

  func bodyCount(of key: StoreKey) -> Int? { cache.value.object(forKey: Key(key))?.bytes.count }
  func bodyByte(of key: StoreKey) -> UInt8? { cache.value.object(forKey: Key(key))?.bytes.middleByte }

  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool {
    cache.value.setObject(Body(body), forKey: Key(key))
    return true
  }
}
