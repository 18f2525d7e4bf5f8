// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCaching

private func HTTPCaching_1() async throws {
  func load(_ request: HTTPRequest, through cache: HTTPCache, using transport: @escaping Transport) async throws {
    let response = try await cache.respond(to: request, transport: transport)
    print(response.source, response.reason)
    for try await piece in response.body { print(piece.count) }
  }
}
