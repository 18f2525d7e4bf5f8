// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func HTTPCacheTesting_1() async throws {
  func stubbedSession() -> URLSession {
    let stubs = HTTPStubs()
    stubs.on(.get, "https://api.example/users/{id}") { call in try .json(["id": call.parameters["id"]]) }
    stubs.on(.get, "https://api.example/feed?page={page}", .file("Fixtures/feed.xml", contentType: "application/rss+xml"))
    stubs.on(.post, "https://api.example/users", .status(201))
    return URLSession(configuration: .stubbed(by: stubs))
  }
}
