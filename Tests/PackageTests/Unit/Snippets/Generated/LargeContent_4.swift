// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func LargeContent_4() async throws {
  func price(_ url: URL, with session: HTTPCacheSession) async throws -> Data {
    try await session.data(from: url, options: .init(lifetime: .seconds(300))).0
  }
}
