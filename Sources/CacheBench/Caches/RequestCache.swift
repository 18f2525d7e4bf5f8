import Foundation
import HTTPCacheStore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Foundation's URLCache as a cache of bodies under keys: requests and responses are made as they are needed.
///
/// For what it occupies, and not for how long it takes; for that see ``FoundationCache``.
final class RequestCache: KeyedCache {
  private let cache: SendableURLCache

  init() {
    #if canImport(FoundationNetworking)
      cache = SendableURLCache(value: URLCache(memoryCapacity: 1 << 40, diskCapacity: 0, diskPath: nil))
    #else
      cache = SendableURLCache(value: URLCache(memoryCapacity: 1 << 40, diskCapacity: 0, directory: nil))
    #endif
  }

  func bodyCount(of key: StoreKey) -> Int? {
    Self.request(key).flatMap { cache.value.cachedResponse(for: $0)?.data.count }
  }

  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool {
    guard let request = Self.request(key), let url = request.url,
      let head = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: [:])
    else { return false }
    cache.value.storeCachedResponse(
      CachedURLResponse(response: head, data: Data(body), userInfo: nil, storagePolicy: .allowed),
      for: request)
    return true
  }

  private static func request(_ key: StoreKey) -> URLRequest? {
    URL(string: key.description).map { URLRequest(url: $0) }
  }
}
