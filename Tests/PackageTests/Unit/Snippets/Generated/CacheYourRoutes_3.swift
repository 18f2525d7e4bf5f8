// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheHummingbird
import Hummingbird

private func CacheYourRoutes_3() async throws {
  func addPrices(to router: Router<BasicRequestContext>) {
    router.group("prices").caching(.seconds(60), groups: ["prices"], clients: .noStore)
      .get(":id") { _, _ in "a price" }
    router.get("stock") { _, _ in
      Response(status: .ok).caching(.public, maxAge: .seconds(10), clients: .noCache)
    }
  }
}
