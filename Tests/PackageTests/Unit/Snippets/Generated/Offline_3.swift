// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func Offline_3() async throws {
  func follow(_ url: URL, with session: HTTPCacheSession, show: (Data) -> Void) async throws {
    let stored = URLRequest(url: url, cachePolicy: .returnCacheDataElseLoad)
    show(try await session.data(for: stored).0)
    let updates = session.updates(for: stored)
    let refresh = Task { try await session.data(for: URLRequest(url: url)) }
    defer { refresh.cancel() }
    for await _ in updates { show(try await session.data(for: stored).0) }
  }
}
