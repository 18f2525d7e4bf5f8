// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCaching

private func Privacy_1() async throws {
  func load(_ request: HTTPRequest, for account: String, from cache: HTTPCache, transport: @escaping Transport) async throws {
    let response = try await cache.respond(to: request, partition: account, transport: transport)
    print(response.source)
  }

  func signOut(_ account: String, from cache: HTTPCache) {
    cache.remove(.partition(account))
  }
}
