// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheHummingbird
import Hummingbird

private func CacheYourRoutes_11() async throws {
  func application(of router: Router<BasicRequestContext>) -> some ApplicationProtocol {
    Application(responder: router.buildCachingResponder())
  }
}
