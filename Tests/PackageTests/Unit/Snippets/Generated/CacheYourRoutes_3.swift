// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheHummingbird

private func CacheYourRoutes_3() async throws {
  func cache() throws -> HTTPCache {
    var configuration = HTTPCache.Configuration(kind: .shared)
    configuration.cacheRules = try CacheRules([
      CacheRule(paths: ["/products/*"]) {
        $0.defaultLifetime = .seconds(60)
        $0.ignoredParameters = .allBut(["page", "order"])
      },
      CacheRule(paths: ["/admin/*"]) { $0.isBypassed = true },
    ])
    return try HTTPCache(configuration)
  }
}
