// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheHummingbird
import Hummingbird

private func CacheYourRoutes_2() async throws {
  func addProducts(to router: Router<BasicRequestContext>) {
    router.group("products").caching(.seconds(60), staleIfError: .seconds(600), groups: ["products"])
      .get(":id") { _, _ in "a product" }
      .get("new") { _, _ in Response(status: .ok).caching(.noStore) }
  }
}
