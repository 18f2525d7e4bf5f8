// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching

/// Our store in memory as a cache of bodies under keys.
final class EngineCache: KeyedCache {
  let store: CacheStore
  private let head: [UInt8]
  private let storedAt: Int64

  /// - Parameters:
  ///   - capacity: the capacity in bytes.
  ///   - head: the head of each entry, in addition to key and body.
  init(
    capacity: Int, eviction: EvictionPolicy = .lru, shards: Int? = nil, head: [UInt8] = [],
    storedAt: Int64 = 0
  ) throws {
    var configuration = CacheStore.Configuration(memoryCapacity: capacity, diskCapacity: 0)
    configuration.eviction = eviction
    configuration.shardCount = shards
    store = try CacheStore(configuration)
    (self.head, self.storedAt) = (head, storedAt)
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

  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool { put(key, body, Dataset.variant, head) }

  @inline(__always)
  func put(_ key: StoreKey, _ body: [UInt8], _ variant: VariantID, _ head: [UInt8]) -> Bool {
    let entry = NewEntry(
      key: key, variant: variant, metadata: head, body: body, storedAt: storedAt, tiers: .memory)
    return store.insert(entry).id != nil
  }

  var entryCount: Int? { store.usage.memoryEntries }
  var accountedBytes: Int? { store.usage.memoryBytes }

  /// Returns the cost of an entry with this key and body in a store's capacity, in bytes.
  static func cost(keyBytes: Int, bodyBytes: Int, eviction: EvictionPolicy) throws -> Int {
    let cache = try EngineCache(
      capacity: (1 << 20) + 16 * (keyBytes + bodyBytes), eviction: eviction, shards: 1)
    let (key, body) = ([UInt8](repeating: 1, count: keyBytes), [UInt8](repeating: 1, count: bodyBytes))
    guard cache.put(StoreKey(key), body), let cost = cache.accountedBytes else {
      throw BenchError.unprepared("the store refused an entry of \(keyBytes + bodyBytes) bytes")
    }
    return cost
  }
}

/// Our store in memory and the cache over it, with the numbers of keys.
final class StoreCache: BenchCache {
  private let data: Dataset
  private let keyed: KeyedBench<EngineCache>
  private let cache: HTTPCache
  private let engine = CacheEngine(.init(kind: .private))

  private var store: CacheStore { keyed.cache.store }

  init(_ data: Dataset, memory: Int) throws {
    self.data = data
    keyed = KeyedBench(
      data: data,
      cache: try EngineCache(capacity: memory, head: data.head, storedAt: data.now.milliseconds))
    cache = HTTPCache(store: keyed.cache.store, configuration: .init(kind: .private))
  }

  func close() { store.close() }
  func warm(_ key: Int) { keyed.warm(key) }

  func operation(_ action: Action) -> Operation? {
    let (data, cache, keyed) = (data, cache, keyed)
    switch action {
    case .decide:
      return { cache.storedResponse(for: data.requests[$0])?.body.length == data.valueSize }
    case .judgeAndStore: return { self.judgeAndPut($0) }
    case .mixed:
      return {
        let key = StoreKey(data.requests[$0])
        if keyed.cache.bodyCount(of: key) == data.valueSize { return true }
        _ = keyed.cache.put(key, data.bodies[$0])
        return false
      }
    default: return keyed.operation(action)
    }
  }

  var overhead: [Metric: Double] {
    let usage = store.usage
    guard usage.memoryEntries > 0 else { return [:] }
    let perEntry = Double(usage.memoryBytes) / Double(usage.memoryEntries)
    return [
      .bytesBeyondKeyAndBody: perEntry - Double(Keys.bytes + data.valueSize),
      .bytesOfHead: Double(data.head.count),
    ]
  }

  private func judgeAndPut(_ number: Int) -> Bool {
    let request = data.requests[number]
    guard let stored = Dataset.judge(request, data.response, engine, now: data.now) else { return false }
    return keyed.cache.put(
      StoreKey(request), data.bodies[number], store.fingerprint(of: stored.selecting.variantKey),
      stored.encoded())
  }
}
