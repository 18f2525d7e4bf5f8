// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheHummingbird
import Hummingbird

private func CacheYourRoutes_7() async throws {
  func addChanges(to router: Router<BasicRequestContext>) {
    router.put("articles/:id") { _, context in
      let cache = try context.cache
      cache.invalidate(group: "articles")
      cache.invalidate("/front-page")
      cache.invalidate(prefix: "/archive/")
      // With a shared tier: all nodes have applied it, if there was time.
      guard await cache.confirm() == .everywhere else { return HTTPResponse.Status.accepted }
      return HTTPResponse.Status.noContent
    }
  }
}
