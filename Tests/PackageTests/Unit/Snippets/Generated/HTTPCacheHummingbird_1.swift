// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheHummingbird
import Hummingbird

private func HTTPCacheHummingbird_1() async throws {
  func serve() async throws {
    let cache = try HTTPCache(.init(kind: .shared, memoryCapacity: 64 << 20))
    let router = Router()
    router.add(middleware: CacheMiddleware(cache: cache))
    router.get("news") { _, _ in
      Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: "…")))
        .caching(.public, maxAge: .seconds(60), staleWhileRevalidate: .seconds(600), groups: ["news"])
    }
    router.post("news") { _, context in
      try context.cache.invalidate(group: "news")
      return HTTPResponse.Status.created
    }
    let app = Application(responder: router.buildCachingResponder())
    try await app.runService()
  }
}
