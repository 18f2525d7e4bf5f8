// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func LargeContent_1() async throws {
  func load(_ url: URL, with cache: HTTPCache) async throws {
    let session = HTTPCacheSession(cache: cache)
    let (data, answer) = try await session.data(from: url)
    print(data.count, answer.source, answer.reason, answer.age ?? "new")
  }
}
