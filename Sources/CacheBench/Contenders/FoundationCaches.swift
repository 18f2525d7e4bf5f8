// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Foundation
import HTTPCacheStore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Foundation's URLCache. Its capacity is never reached: on Linux it ends the process when it evicts an entry that was
/// stored twice.
final class FoundationCache: BenchCache {
  /// Every store adds up the costs of all entries, so that the time to fill grows with the square of their number.
  static let mostKeys = 50_000
  /// On disk every store reads the whole directory.
  static let mostKeysOnDisk = 500

  private let cache: RequestCache
  private let data: Dataset
  private let isOnDisk: Bool

  init(_ data: Dataset, directory: String, isOnDisk: Bool) {
    (self.data, self.isOnDisk) = (data, isOnDisk)
    cache = RequestCache(directory: directory, isOnDisk: isOnDisk)
  }

  func warm(_ key: Int) { data.touchFoundation(key) }

  func operation(_ action: Action) -> Operation? {
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

/// URLCache as a cache of bodies under keys: requests and responses are made when they are needed.
///
/// It is for measuring the memory. For measuring the time, see ``FoundationCache``.
final class RequestCache: KeyedCache, @unchecked Sendable {
  // Unchecked: Foundation documents URLCache as safe to use from any thread.
  let value: URLCache

  init(directory: String? = nil, isOnDisk: Bool = false) {
    let (memory, disk) = isOnDisk ? (0, 1 << 40) : (1 << 40, 0)
    #if canImport(FoundationNetworking)
      value = URLCache(memoryCapacity: memory, diskCapacity: disk, diskPath: directory)
    #else
      value = URLCache(
        memoryCapacity: memory, diskCapacity: disk, directory: directory.map { URL(fileURLWithPath: $0) })
    #endif
  }

  func bodyCount(of key: StoreKey) -> Int? { body(of: key)?.count }
  func bodyByte(of key: StoreKey) -> UInt8? { body(of: key)?.middleByte }

  private func body(of key: StoreKey) -> Data? {
    Self.request(key).flatMap { value.cachedResponse(for: $0)?.data }
  }

  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool {
    guard let request = Self.request(key),
      let response = try? SendableCachedResponse(request, fields: [:], body)
    else { return false }
    value.storeCachedResponse(response.value, for: request)
    return true
  }

  private static func request(_ key: StoreKey) -> URLRequest? {
    URL(string: key.description).map { URLRequest(url: $0) }
  }
}
