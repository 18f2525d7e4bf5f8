// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

private func Options_4() async throws {
  func showStorage(of cache: HTTPCache) async {
    print(cache.usage.diskBytes, "bytes on disk,", cache.usage.memoryBytes, "in memory")
    for await response in cache.storedResponses() where response.diskBytes > 1_000_000 {
      print(response.targetURL?.path ?? response.url, response.diskBytes, response.storedDate)
    }
    if let site = TargetURI(absolute: "https://example.com/") {
      cache.remove(.origin(of: site))  // O(1); the list has nothing of it from now on
    }
  }
}
