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
  func download(_ url: URL, to file: URL, with session: HTTPCacheSession) async throws {
    let answer = try await session.download(from: url, to: file) { count, length in
      print(count, "of", length ?? 0)
    }
    guard answer.response.statusCode == 200 else { throw URLError(.badServerResponse) }
  }
}
