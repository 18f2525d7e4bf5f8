import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// A cache of bodies under keys: all that a yardstick has to be able to do.
protocol KeyedCache: Sendable {
  /// The bytes of a key's body, which counts as used; `nil` if it is not there.
  func bodyCount(of key: StoreKey) -> Int?
  /// Stores a body in place of the one that was there; whether it is stored.
  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool
  /// Entries that are there, where the cache can tell.
  var entryCount: Int? { get }
  /// Bytes that the cache says it occupies, where it says so.
  var accountedBytes: Int? { get }
}

extension KeyedCache {
  var entryCount: Int? { nil }
  var accountedBytes: Int? { nil }
}

/// One whose bodies are looked at, too.
protocol ReadableCache: KeyedCache {
  /// A byte from the middle of a key's body, which counts as used; `nil` if it is not there.
  func bodyByte(of key: StoreKey) -> UInt8?
}

/// Such a cache under the measurements of `throughput` and `latency`.
struct KeyedBench<Cache: KeyedCache>: BenchCache {
  let data: Dataset
  let cache: Cache

  init(_ data: Dataset, _ cache: Cache) {
    self.data = data
    self.cache = cache
  }

  func warm(_ key: Int) { data.touch(key) }

  func operation(_ action: Action) -> (@Sendable (Int) -> Bool)? {
    let (data, cache) = (data, cache)
    switch action {
    case .get: return { cache.bodyCount(of: Self.key(data.requests[$0])) == data.valueSize }
    case .getByKey: return { cache.bodyCount(of: data.storeKeys[$0]) == data.valueSize }
    case .miss:
      return { cache.bodyCount(of: Self.key(data.absentRequests[$0 % data.absentRequests.count])) != nil }
    case .store, .storeAgain: return { cache.put(Self.key(data.requests[$0]), data.bodies[$0]) }
    default: return nil
    }
  }

  private static func key(_ request: HTTPRequest) -> StoreKey { StoreKey(CacheKey(request)?.bytes ?? []) }
}
