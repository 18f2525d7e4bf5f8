// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheTracing
import HTTPCaching
import Tracing

private func HTTPCacheTracing_1() async throws {
  func makeCache(tracer: any Tracer) throws -> HTTPCache {
    InstrumentationSystem.bootstrap(tracer)
    var configuration = HTTPCache.Configuration(kind: .shared)
    configuration.trace()
    return try HTTPCache(configuration)
  }
}
