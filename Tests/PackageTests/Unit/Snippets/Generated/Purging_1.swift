// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCaching

private func Purging_1() async throws {
  func publish(_ article: TargetURI, in cache: HTTPCache) {
    cache.expire(.group("articles", of: article))
    cache.remove(.patterns([.prefix("https://example.com/articles/")]))
  }
}
