// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheTesting
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func RecordedResponses_1() async throws {
  func fill(_ cache: HTTPCache, _ stubs: HTTPStubs) async throws {
    try await cache.store(ResponseFolder("Fixtures").responses())
    try await cache.store(HARFile(path: "session.har").responses, freshFor: .seconds(86_400))
    stubs.replay(try ResponseFolder("Fixtures").responses())
  }

  func recordingSession(with cache: HTTPCache) -> URLSession {
    var options = CachingOptions()
    options.middleware = { ResponseFolder("Fixtures").recording($0) }
    return URLSession(configuration: .caching(with: cache, options: options))
  }
}
