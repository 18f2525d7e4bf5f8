// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func CacheYourAPIClient_1() async throws {
  struct APIClient {
    let cache: HTTPCache
    let session: URLSession

    init(directory: URL) throws {
      cache = try HTTPCache(.init(diskCapacity: 256 << 20, directory: directory))
      session = URLSession(configuration: .caching(with: cache))
    }

    func get(_ url: URL) async throws -> Data {
      let (data, response) = try await session.data(for: URLRequest(url: url))
      if let status = response.cacheStatus { print(url.path, status) }
      return data
    }
  }
}
