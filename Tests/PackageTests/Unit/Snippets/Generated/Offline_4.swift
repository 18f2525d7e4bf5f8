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
  func load(_ articles: [URL], with session: HTTPCacheSession) async {
    var count = 0
    let requests = articles.map { URLRequest(url: $0) }
    for await one in session.prefetch(requests, byteLimit: 50 << 20) {
      count += 1
      print(count, "of", articles.count, (try? one.result.get().storage?.sentence) ?? "failed")
    }
  }
}
