// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import Loopback
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Keeping URLs for later", .timeLimit(.minutes(10)))
struct KeepingTests {
  /// Runs a test with an origin and a session, whose cache has a small disk.
  private func with(
    options: CachingOptions = CachingOptions(),
    _ configure: (inout HTTPCache.Configuration) -> Void = { _ in },
    test body: (LoopbackOrigin, HTTPCacheSession) async throws -> Void
  ) async throws {
    let folder = temporaryURL()
    defer { try? FileManager.default.removeItem(at: folder) }
    var configuration = HTTPCache.Configuration(
      memoryCapacity: 1 << 20, diskCapacity: 2 << 20, directory: folder)
    configure(&configuration)
    let cache = try HTTPCache(configuration)
    defer { cache.close() }
    let origin = try await LoopbackOrigin.start { request in
      switch request.target {
      case "/missing": .init(status: 404, body: "none")
      case "/secret": .init(fields: [.cacheControl: "no-store"], body: "secret")
      case "/moved": .init(status: 301, fields: [.location: "/article", .cacheControl: "max-age=86400"])
      case "/chain": .init(status: 308, fields: [.location: "/moved", .cacheControl: "max-age=86400"])
      case "/found": .init(status: 302, fields: [.location: "/moved"])
      case "/own": .init(fields: Self.varying("no-store", for: request), body: "own")
      case "/each": .init(fields: Self.varying("max-age=60", for: request), body: "each")
      case "/large":
        .init(fields: [.cacheControl: "max-age=86400"], body: String(repeating: "l", count: 400_000))
      case "/post": .init(fields: [:], body: "posted")
      default:
        .init(
          fields: [.cacheControl: "max-age=86400"],
          body: request.target
            + String(repeating: "x", count: request.target.hasPrefix("/other") ? 50_000 : 100))
      }
    }
    do {
      try await body(
        origin, HTTPCacheSession(cache: cache, options: options, configuration: .plain))
    } catch {
      await origin.stop()
      throw error
    }
    await origin.stop()
  }

  private static let token = HTTPField.Name("X-Token") ?? .accept

  /// The fields of a response that varies on the user's token; the rule is that for user B.
  private static func varying(_ rule: String, for request: LoopbackOrigin.Request) -> HTTPFields {
    [
      .cacheControl: request.fields[token] == "B" ? rule : "max-age=60", .vary: "X-Token",
    ]
  }

  private func url(_ path: String, _ origin: LoopbackOrigin) throws -> URL {
    try #require(URL(string: origin.url(path)))
  }

  private func stored(_ url: URL) -> URLRequest {
    URLRequest(url: url, cachePolicy: .returnCacheDataDontLoad)
  }

  @Test(
    "Kept responses are served without a network after much else was loaded",
    arguments: [DiskAdmission.everything, .secondTime])
  func kept(admission: DiskAdmission) async throws {
    try await with {
      $0.store.diskAdmission = admission
    } test: { origin, session async throws in
      let paths = ["/article", "/large", "/loaded"]
      _ = try await session.data(from: url("/loaded", origin))
      for path in paths {
        let answer = try await session.keep(url(path, origin))
        #expect(answer.source == (path == "/loaded" ? .hit : .network))
      }
      #expect(session.kept.map(\.url.path) == paths && session.kept.allSatisfy { $0.byteCount > 100 })
      for number in 0..<100 { _ = try await session.data(from: url("/other/\(number)", origin)) }
      #expect(session.cache.store.statistics.diskEvictions > 0 || admission == .secondTime)
      await origin.stop()
      for path in paths {
        let (data, answer) = try await session.data(for: stored(url(path, origin)))
        #expect(answer.source == .hit && data.count == (path == "/large" ? 400_000 : 100 + path.utf8.count))
      }
      #expect(try await session.release(url("/article", origin)))
      #expect(try await !session.release(url("/article", origin)))
      #expect(session.kept.count == 2)
    }
  }

  @Test("What cannot be stored is not kept, and the error says why", arguments: ["/missing", "/secret"])
  func refused(path: String) async throws {
    try await with { origin, session async throws in
      let error = await #expect(throws: URLError.self) { try await session.keep(url(path, origin)) }
      #expect(error?.code == (path == "/missing" ? .badServerResponse : .resourceUnavailable))
      #expect(session.kept.isEmpty)
      await origin.stop()
      await #expect(throws: URLError.self) { try await session.keep(url("/article", origin)) }
      #expect(session.kept.isEmpty)
    }
  }

  @Test("A response that is stored for another session's fields is not enough", arguments: ["/own", "/each"])
  func otherSession(path: String) async throws {
    try await with { origin, session async throws in
      let users = ["A", "B"].map { user in
        let configuration = URLSessionConfiguration.plain
        configuration.httpAdditionalHeaders = ["X-Token": user]
        return HTTPCacheSession(cache: session.cache, configuration: configuration)
      }
      let url = try url(path, origin)
      _ = try await users[0].data(from: url)
      if path == "/own" {
        let error = await #expect(throws: URLError.self) { try await users[1].keep(url) }
        #expect(error?.code == .resourceUnavailable && session.kept.isEmpty)
      } else {
        try await users[1].keep(url)
        await origin.stop()
        for user in users { #expect(try await user.data(for: stored(url)).0 == Data("each".utf8)) }
      }
    }
  }

  @Test(
    "Redirects are kept with their target, whatever was stored before",
    arguments: [[], ["/moved", "/chain"]])
  func redirects(loaded: [String]) async throws {
    try await with { origin, session async throws in
      for path in loaded { _ = try await session.data(from: url(path, origin)) }
      let answer = try await session.keep(url("/chain", origin))
      #expect(answer.response.url?.path == "/article")
      #expect(session.kept.map(\.url.path) == ["/chain", "/moved", "/article"])
      #expect(session.kept.allSatisfy { $0.byteCount > 0 })
      for number in 0..<100 { _ = try await session.data(from: url("/other/\(number)", origin)) }
      await origin.stop()
      #expect(try await session.data(for: stored(url("/chain", origin))).0.count == 108)
    }
  }

  @Test("If a redirect is not stored, nothing new is kept, and the error names it")
  func redirectNotStored() async throws {
    try await with { origin, session async throws in
      try await session.keep(url("/article", origin))
      let error = await #expect(throws: URLError.self) { try await session.keep(url("/found", origin)) }
      #expect(error?.code == .resourceUnavailable)
      #expect(error?.localizedDescription.contains("redirect of \(origin.url("/found"))") == true)
      #expect(session.kept.map(\.url.path) == ["/article"])
    }
  }

  @Test(
    "A redirect and its target are kept in the partition of the first request",
    arguments: ["/moved", "/article"])
  func partition(path: String) async throws {
    var options = CachingOptions()
    options.partition = { $0.url?.path == path ? "own" : nil }
    try await with(options: options) { origin, session async throws in
      try await session.keep(url("/moved", origin))
      #expect(session.kept.map(\.partition) == (path == "/moved" ? ["own", "own"] : ["", ""]))
      await origin.stop()
      #expect(try await session.data(for: stored(url("/moved", origin))).0.count == 108)
    }
  }

  @Test("Keeping more than the limit throws an error with the sizes")
  func limit() async throws {
    try await with {
      $0.store.pinnedShare = 0.1
    } test: { origin, session async throws in
      try await session.keep(url("/article", origin))
      let error = await #expect(throws: StoreError.self) { try await session.keep(url("/large", origin)) }
      #expect(error?.code == .pinLimit && error?.description.contains("209715") == true)
      #expect(session.kept.map(\.url.path) == ["/article"])
    }
  }

  @Test("Keeping needs a directory")
  func withoutDisk() async throws {
    try await with {
      $0.store.directory = nil
    } test: { origin, session async throws in
      let error = await #expect(throws: StoreError.self) { try await session.keep(url("/article", origin)) }
      #expect(error?.code == .noDisk && origin.requestCount == 0)
    }
  }
}
