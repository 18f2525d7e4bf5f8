import HTTPCacheStore

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
