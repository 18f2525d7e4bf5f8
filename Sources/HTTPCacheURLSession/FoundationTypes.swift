// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import HTTPCaching
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPCache.Configuration {
  /// Makes the configuration of a cache with a directory given as a Foundation URL.
  ///
  /// - Parameters:
  ///   - kind: whether the cache is for one user or shared (default: `private`).
  ///   - memoryCapacity: maximum bytes that stored responses occupy in memory (default: 64 MiB).
  ///   - diskCapacity: maximum bytes that they occupy on disk, at least 1 MiB (default: 256 MiB).
  ///   - directory: a `file` URL. See the property `directory` for what the directory may hold.
  /// - Precondition: `directory` is a `file` URL.
  public init(
    kind: CacheEngine.Configuration.Kind = .private, memoryCapacity: Int = 64 << 20,
    diskCapacity: Int = 256 << 20, directory: URL
  ) {
    precondition(directory.isFileURL, "expected a file URL for the directory, found \(directory)")
    self.init(
      kind: kind, memoryCapacity: memoryCapacity, diskCapacity: diskCapacity,
      directory: FilePath(directory.path))
  }
}

extension HTTPCache.Selection {
  /// All responses for a URL, its variants, and those to QUERY; see `target(_:partition:)`. Nothing if the URL is not one of
  /// `http` or `https`.
  public static func url(_ url: URL, partition: String? = nil) -> Self {
    target(of: URLRequest(url: url), partition: partition)
  }

  /// All responses for the URL of a request; its method and fields do not matter.
  ///
  /// ```swift
  /// cache.remove(.target(of: request))
  /// ```
  public static func target(of request: URLRequest, partition: String? = nil) -> Self {
    var request = request
    request.allHTTPHeaderFields = nil
    return HTTPRequest(plain: request).map { target(of: $0, partition: partition) } ?? .patterns([])
  }
}

extension HTTPCache.ListedResponse {
  /// The target's URL as Foundation has it; `nil` if Foundation cannot read it.
  public var targetURL: URL? { URL(string: url) }

  /// The time when it was stored or last validated.
  public var storedDate: Date {
    Date(timeIntervalSince1970: Double(storedAt.millisecondsSince1970) / 1000)
  }
}

// Makes their texts the `localizedDescription`: the modules that define the errors do not import Foundation.

extension StoreError: LocalizedError {
  public var errorDescription: String? { description }
}

extension HTTPCacheError: LocalizedError {
  public var errorDescription: String? { description }
}
