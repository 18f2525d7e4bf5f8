// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import SystemPackage

/// Our store as a cache of bodies under keys.
final class EngineCache: KeyedCache {
  let store: CacheStore
  private let head: [UInt8]
  private let tiers: StoreTiers
  private let storedAt: Int64

  /// - Parameters:
  ///   - capacity: the capacity of the memory tier, in bytes; with 0 every lookup reads from disk.
  ///   - directory: the directory of the disk tier, if there is one.
  ///   - head: the head of each entry, in addition to key and body.
  init(
    capacity: Int, eviction: EvictionPolicy = .lru, shards: Int? = nil, disk: Int = 0,
    directory: String? = nil, head: [UInt8] = [], storedAt: Int64 = 0
  ) throws {
    var configuration = CacheStore.Configuration(
      memoryCapacity: capacity, diskCapacity: disk, directory: directory.map { FilePath($0) })
    configuration.eviction = eviction
    configuration.shardCount = shards
    store = try CacheStore(configuration)
    (self.head, self.storedAt) = (head, storedAt)
    tiers = capacity > 0 ? .memory : .disk
  }

  /// Uses the head of a data set, and the disk tier only if there is no memory.
  convenience init(_ data: Dataset, memory: Int = 0, disk: Int, directory: String?) throws {
    try self.init(
      capacity: memory, disk: disk, directory: directory, head: data.head, storedAt: data.now.milliseconds)
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

  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool { put(key, body, VariantID(rawValue: 1), head) }

  @inline(__always)
  func put(_ key: StoreKey, _ body: [UInt8], _ variant: VariantID, _ head: [UInt8]) -> Bool {
    let entry = NewEntry(
      key: key, variant: variant, metadata: head, body: body, storedAt: storedAt, tiers: tiers)
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

/// Our store and the cache over it, with the numbers of keys.
final class StoreCache: DiskCache {
  let data: Dataset
  private let keyed: KeyedBench<EngineCache>
  private let cache: HTTPCache
  private let engine = CacheEngine(.init(kind: .private))

  private var store: CacheStore { keyed.cache.store }

  init(_ data: Dataset, memory: Int, disk: Int = 0, directory: String? = nil) throws {
    self.data = data
    keyed = KeyedBench(
      data: data, cache: try EngineCache(data, memory: memory, disk: disk, directory: directory))
    cache = HTTPCache(store: keyed.cache.store, configuration: .init(kind: .private))
  }

  func close() { store.close() }
  /// Writes the buffered records to the files.
  func flush() { store.flush() }

  func put(_ number: Int) -> Bool { keyed.cache.put(data.key(number), data.body(number)) }

  func get(_ number: Int) -> Int? {
    guard let entry = store.lookup(data.key(number)).first, entry.tier == .disk else { return nil }
    return (try? entry.body.readAll())?.count
  }

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
    default: return keyed.operation(action) ?? diskOperation(action)
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
