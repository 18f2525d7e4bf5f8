import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Foundation's URLCache. Its capacity is never reached: on Linux it ends the process when it evicts what was stored
/// twice.
final class FoundationCache: BenchCache {
  /// Every store adds up the costs of all entries, so that filling takes time by the square of their number.
  static let mostKeys = 50_000
  /// On disk every store reads the whole directory.
  static let mostKeysOnDisk = 500

  private let cache: SendableURLCache
  private let data: Dataset
  private let isOnDisk: Bool

  init(_ data: Dataset, directory: String, isOnDisk: Bool) {
    self.data = data
    self.isOnDisk = isOnDisk
    let (memory, disk) = isOnDisk ? (0, 1 << 40) : (1 << 40, 0)
    #if canImport(FoundationNetworking)
      let made = URLCache(memoryCapacity: memory, diskCapacity: disk, diskPath: directory)
    #else
      let made = URLCache(
        memoryCapacity: memory, diskCapacity: disk, directory: URL(fileURLWithPath: directory))
    #endif
    cache = SendableURLCache(value: made)
  }

  func warm(_ key: Int) { data.touchFoundation(key) }

  func operation(_ action: Action) -> (@Sendable (Int) -> Bool)? {
    let (data, cache) = (data, cache)
    switch action {
    case .get where !isOnDisk, .diskGet where isOnDisk:
      return { cache.value.cachedResponse(for: data.urlRequests[$0])?.data.count == data.valueSize }
    case .miss:
      return {
        cache.value.cachedResponse(for: data.absentURLRequests[$0 % data.absentURLRequests.count]) != nil
      }
    case .store where !isOnDisk, .storeAgain where !isOnDisk, .diskStore where isOnDisk:
      return {
        cache.value.storeCachedResponse(data.cachedResponses[$0].value, for: data.urlRequests[$0])
        return true
      }
    default: return nil
    }
  }
}

struct SendableURLCache: @unchecked Sendable {
  // Unchecked: Foundation documents URLCache as safe to use from any thread.
  let value: URLCache
}

struct SendableCachedResponse: @unchecked Sendable {
  // Unchecked: the object never changes after it was made.
  let value: CachedURLResponse
}
