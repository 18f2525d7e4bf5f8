// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheHummingbird
import Hummingbird

private func CacheYourRoutes_6() async throws {
  func addShops(to router: Router<BasicRequestContext>, cache: HTTPCache) {
    let caching = CacheMiddleware<BasicRequestContext>(
      cache: cache, validator: .none,
      partition: { request, _ in request.uri.queryParameters["shop"].map { String($0) } },
      shouldIntercept: { request, _ in !request.uri.path.hasPrefix("/shops/admin") })
    router.group("shops").add(middleware: caching)
      .get("prices") { _, _ in
        Response(status: .ok).caching(.public, maxAge: .seconds(10))
      }
  }
}
