// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func feed_1() async throws {
  guard let url = URL(string: "http://127.0.0.1:8000/feed.json") else { fatalError("not a URL") }
  let (data, _) = try await URLSession.shared.data(for: URLRequest(url: url))
  print(data.count, "bytes")

}
