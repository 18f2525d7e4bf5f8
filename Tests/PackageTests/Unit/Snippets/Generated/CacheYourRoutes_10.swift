// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheHummingbird
import Hummingbird

private func CacheYourRoutes_10() async throws {
  func addCache(_ cache: HTTPCache, to router: Router<BasicRequestContext>) {
    router.add(middleware: CacheMiddleware(cache: cache, publicOrigin: "https://shop.example"))
  }
}
