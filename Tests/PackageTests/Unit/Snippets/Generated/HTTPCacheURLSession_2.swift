// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func HTTPCacheURLSession_2() async throws {
  func show(_ url: URL, in session: URLSession) async throws {
    let (data, response) = try await session.data(for: URLRequest(url: url))
    let status = response.cacheStatus
    print(data.count, status?.description ?? "not cached")
  }
}
