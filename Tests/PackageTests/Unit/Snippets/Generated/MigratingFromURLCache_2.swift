// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func MigratingFromURLCache_2() async throws {
  func load(_ url: URL, in session: URLSession) async throws -> Data {
    let (data, response) = try await session.data(from: url)
    if let status = response.cacheStatus { print(status.source, status) }
    return data
  }
}
