// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheObserving
import HTTPCaching
import Logging

private func HTTPCacheObserving_1() async throws {
  func observe(_ cache: HTTPCache, logger: Logger) -> CacheMetrics {
    cache.log(to: logger)
    let metrics = CacheMetrics("images")
    metrics.count(cache)
    return metrics
  }
}
