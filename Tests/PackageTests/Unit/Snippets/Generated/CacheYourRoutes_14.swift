// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheHummingbird
import HTTPCaching
import Hummingbird

private func CacheYourRoutes_14() async throws {
  func serve(_ app: some ApplicationProtocol, cache: HTTPCache) async throws {
    defer { cache.close() }
    try await app.runService()  // until SIGTERM, and the open requests have ended
  }
}
