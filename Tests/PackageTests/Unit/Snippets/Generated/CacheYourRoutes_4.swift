// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheHummingbird
import Hummingbird

private func CacheYourRoutes_4() async throws {
  struct Article: ResponseCodable {
    var title: String
  }

  func addLatest(to router: Router<BasicRequestContext>) {
    router.get("latest") { request, context in
      try Article(title: "…").response(from: request, context: context)
        .caching(.public, maxAge: .seconds(30))
    }
  }
}
