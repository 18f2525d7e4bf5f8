// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheHummingbird
import HTTPCaching
import Hummingbird
import HummingbirdTesting
import Testing

private func CacheYourRoutes_8() async throws {
  func pricesAreStored(_ router: Router<BasicRequestContext>, cache: HTTPCache) async throws {
    let app = Application(responder: router.buildCachingResponder())
    try await app.test(.router) { client in
      for _ in 1...2 {
        try await client.execute(uri: "/prices/1", method: .get) { response in
          #expect(response.status == .ok)
        }
      }
    }
    #expect(cache.counts[.hit] == 1)
  }
}
