// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheHummingbird
import Hummingbird

private func CacheYourRoutes_1() async throws {
  func addRoutes(to router: Router<BasicRequestContext>) {
    router.get("articles/:id") { _, _ in
      var response = Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: "…")))
      response.cache(
        .public, maxAge: .seconds(60), staleWhileRevalidate: .seconds(600), staleIfError: .seconds(86_400),
        vary: [.acceptLanguage], groups: ["articles"])
      return response
    }
  }
}
