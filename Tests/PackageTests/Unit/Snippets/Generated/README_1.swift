// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func README_1() async throws {
  let cache = HTTPURLCache(memoryCapacity: 64 << 20, diskCapacity: 1 << 30)
  let session = URLSession(configuration: .caching(with: cache))
  _ = cache
  _ = session
}
