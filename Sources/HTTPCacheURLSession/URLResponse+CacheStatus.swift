// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCaching

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLResponse {
  /// How the cache handled the request of this response (RFC 9211); `nil` if the response did not come through a cache
  /// of this package.
  ///
  /// ```swift
  /// let (data, response) = try await session.data(for: request)
  /// print(response.cacheStatus?.source)    // hit
  /// ```
  public var cacheStatus: CacheStatus? {
    guard let response = self as? HTTPURLResponse,
      let field = response.value(forHTTPHeaderField: "Cache-Status"),
      var status = CacheStatus(parsing: field),
      status.reason != nil
    else { return nil }
    if status.source != .network {
      status.age = response.value(forHTTPHeaderField: "Age").flatMap { Int64($0) }.map { .seconds($0) }
    }
    return status
  }
}
