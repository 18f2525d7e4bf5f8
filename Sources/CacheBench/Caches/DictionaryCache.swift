import HTTPCacheStore
import Synchronization

/// What one would write at first: a Dictionary behind a Mutex, without recency, capacity or disk.
final class DictionaryCache: KeyedCache {
  private let bodies = Mutex<[StoreKey: [UInt8]]>([:])

  func bodyCount(of key: StoreKey) -> Int? { bodies.withLock { $0[key] }?.count }

  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool {
    // What was there is freed after the lock.
    _ = bodies.withLock { $0.updateValue(body, forKey: key) }
    return true
  }

  var entryCount: Int? { bodies.withLock { $0.count } }
}
