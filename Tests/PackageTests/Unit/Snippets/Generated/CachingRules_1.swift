// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCaching

private func CachingRules_1() async throws {
  func makeCache() throws -> HTTPCache {
    var configuration = HTTPCache.Configuration(kind: .shared, memoryCapacity: 64 << 20)
    configuration.cacheRules = try CacheRules([
      CacheRule(name: "static", paths: ["/static/*"]) { $0.lifetime = .seconds(86_400) },
      CacheRule(name: "signed in") {
        $0.match.cookies = ["session"]
        $0.isBypassed = true
      },
      CacheRule {
        $0.defaultLifetime = .seconds(1)
        $0.grace = .seconds(600)
        $0.staleIfError = .seconds(86_400)
      },
    ])
    return try HTTPCache(configuration)
  }
}
