// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheHummingbird
import Hummingbird

private func CacheYourRoutes_4() async throws {
  func addPage(to router: Router<BasicRequestContext>, version: @escaping @Sendable () async throws -> Int) {
    router.get("page") { request, _ -> Response in
      if try request.isCurrent(etag: "\(await version())") { return .notModified }
      return Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: "…")))
        .caching(.public, maxAge: .seconds(60), groups: ["pages"])
    }
  }
}
