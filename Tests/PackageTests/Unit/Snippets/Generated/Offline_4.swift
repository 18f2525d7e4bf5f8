// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func Offline_4() async throws {
  func read(_ article: URL, with session: HTTPCacheSession) async throws {
    try await session.keep(article)
    for kept in session.kept { print(kept.url, kept.byteCount, "bytes") }
    let (text, _) = try await session.data(for: URLRequest(url: article, cachePolicy: .returnCacheDataDontLoad))
    print(text.count, "bytes, without a network")
    try await session.release(article)
  }
}
