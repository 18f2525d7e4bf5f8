// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheRedis
import HTTPCaching

private func SharingATier_1() async throws {
  func makeCache() throws -> HTTPCache {
    var configuration = HTTPCache.Configuration(kind: .shared)
    configuration.sharedTier = try .redis("redis://cache.internal/0")
    return try HTTPCache(configuration)
  }
}
