import HTTPCacheEngine
import HTTPCacheStore
import Synchronization

/// What one would write at first: a Dictionary behind a Mutex, without recency, capacity or disk.
final class DictionaryCache: BenchCache {
  private let data: Dataset
  private let bodies = Mutex<[StoreKey: [UInt8]]>([:])

  init(_ data: Dataset) {
    self.data = data
  }

  func warm(_ key: Int) { data.touch(key) }

  func operation(_ action: Action) -> (@Sendable (Int) -> Bool)? {
    let data = data
    switch action {
    case .get:
      return { self.body(StoreKey(CacheKey(data.requests[$0])?.bytes ?? []))?.count == data.valueSize }
    case .getByKey: return { self.body(data.storeKeys[$0])?.count == data.valueSize }
    case .miss:
      return {
        self.body(StoreKey(CacheKey(data.absentRequests[$0 % data.absentRequests.count])?.bytes ?? [])) != nil
      }
    case .store, .storeAgain:
      return { number in
        let key = StoreKey(CacheKey(data.requests[number])?.bytes ?? [])
        self.bodies.withLock { $0[key] = data.bodies[number] }
        return true
      }
    default: return nil
    }
  }

  private func body(_ key: StoreKey) -> [UInt8]? { bodies.withLock { $0[key] } }
}
