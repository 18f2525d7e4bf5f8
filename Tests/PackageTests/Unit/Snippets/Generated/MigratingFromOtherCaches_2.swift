// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func MigratingFromOtherCaches_2() async throws {
  func offlineConfiguration(
    in folder: URL, isConnected: @escaping @Sendable () -> Bool
  ) throws -> URLSessionConfiguration {
    var configuration = HTTPCache.Configuration(diskCapacity: 256 << 20, directory: folder)
    configuration.rules.whenDisconnected = .anyStored
    var options = CachingOptions()
    options.isReachable = { _ in isConnected() }
    options.lifetime = { _, response in response.statusCode < 400 ? .zero : nil }
    return .caching(with: try HTTPCache(configuration), options: options)
  }
}
