// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheTesting
import HTTPCacheURLSession
import HTTPTypes
import Loopback
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Archives and recordings behind a URLSession", .timeLimit(.minutes(10)))
struct ArchiveSessionTests {
  @Test(
    "A session runs on a HAR file alone, including redirects, after the directory is reopened")
  func archive() async throws {
    try await withTemporaryFolder { folder async throws in
      let har = #"""
        {"log": {"entries": [
          {"request": {"method": "GET", "url": "https://a.test/", "headers": []},
           "response": {"status": 302, "headers": [], "redirectURL": "/home", "content": {"size": 0}}},
          {"request": {"method": "GET", "url": "https://a.test/home", "headers": []},
           "response": {"status": 200, "headers": [{"name": "Cache-Control", "value": "private, no-store"}],
             "content": {"mimeType": "text/plain", "text": "aG9tZQ==", "encoding": "base64"}}}]}}
        """#
      var cache = try HTTPCache(.init(directory: FilePath(folder.path)))
      try await cache.store(HARFile(Array(har.utf8)).responses, freshFor: .seconds(60))
      cache.close()
      cache = try HTTPCache(.init(directory: FilePath(folder.path)))
      let session = URLSession(configuration: .caching(with: cache, base: .ephemeral.patient))
      let request = URLRequest(
        url: try #require(URL(string: "https://a.test/")), cachePolicy: .returnCacheDataDontLoad)
      let (data, response) = try await session.data(for: request)
      #expect(String(decoding: data, as: UTF8.self) == "home")
      #expect(response.url?.path == "/home")
      session.finishTasksAndInvalidate()
      cache.close()
    }
  }

  private func withOrigin(
    _ body: (LoopbackOrigin, String, URLSession, HTTPCache) async throws -> Void
  ) async throws {
    try await withTemporaryFolder { folder async throws in
      let origin = try await LoopbackOrigin.start { request in
        switch request.target {
        case "/old": .init(status: 301, fields: [.location: "/feed"])
        case "/broken": .init(body: "cut short", ending: .cut(afterBytes: 3))
        case "/feed":
          request.fields[.ifNoneMatch] != nil
            ? .init(status: 304, fields: [.eTag: "\"a\""])
            : .init(
              fields: [
                .contentType: "application/xml", .cacheControl: "max-age=3600", .eTag: "\"a\"",
                .setCookie: "s=1",
              ], body: "<feed/>")
        default: .init(status: 404, body: "none")
        }
      }
      let cache = try makeCache(clock: SystemCacheClock.shared)
      let recorded = ResponseFolder(folder.path + "/recorded")
      var options = CachingOptions()
      options.middleware = { recorded.recording($0) }
      let session = URLSession(
        configuration: .caching(with: cache, options: options, base: .ephemeral.patient))
      try await body(origin, folder.path + "/recorded", session, cache)
      session.finishTasksAndInvalidate()
      await origin.stop()
    }
  }

  @Test("A session's traffic is recorded in a folder, which then replaces the server")
  func recording() async throws {
    try await withOrigin { origin, path, session, _ async throws in
      func load(
        _ session: URLSession, _ path: String, _ policy: URLRequest.CachePolicy = .useProtocolCachePolicy
      ) async throws -> String {
        let request = URLRequest(url: try #require(URL(string: origin.url(path))), cachePolicy: policy)
        return String(decoding: try await session.data(for: request).0, as: UTF8.self)
      }
      for _ in 0..<2 { #expect(try await load(session, "/old") == "<feed/>") }
      #expect(try await load(session, "/none") == "none")
      _ = try? await load(session, "/broken")
      let responses = try ResponseFolder(path).responses()
      #expect(Set(responses.map(\.url)) == Set(["/old", "/feed", "/none"].map { origin.url($0) }))
      #expect(responses.allSatisfy { $0.head.headerFields[.setCookie] == nil })
      await origin.stop()
      let cache = try makeCache()
      try await cache.store(responses)
      let offline = URLSession(configuration: .caching(with: cache, base: .ephemeral.patient))
      #expect(try await load(offline, "/old", .returnCacheDataDontLoad) == "<feed/>")
      offline.finishTasksAndInvalidate()
    }
  }
}
