// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheHummingbird
import Hummingbird
import Logging

private func CacheYourRoutes_5() async throws {
  func addMiddlewares(to router: Router<BasicRequestContext>, cache: HTTPCache) {
    router.add(middleware: LogRequestsMiddleware(.info))
    router.add(middleware: MetricsMiddleware())
    router.add(middleware: CORSMiddleware(allowOrigin: .originBased))
    router.add(middleware: CacheMiddleware(cache: cache))
    router.add(middleware: FileMiddleware(cacheControl: .init([(.init(type: .image), [.public, .maxAge(3600)])])))
  }
}
