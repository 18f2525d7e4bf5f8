import Foundation
import HTTPCacheStore

/// Foundation's NSCache. Keys have to be objects: one is made for each lookup.
final class ObjectCache: KeyedCache {
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

  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool {
    cache.value.setObject(Body(body), forKey: Key(key))
    return true
  }
}
