// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func LargeContent_2() async throws {
  func countLines(_ url: URL, with session: HTTPCacheSession) async throws -> Int {
    let (bytes, _) = try await session.bytes(from: url)
    var count = 0
    for try await chunk in bytes.chunks { count += chunk.count { $0 == UInt8(ascii: "\n") } }
    return count
  }
}
