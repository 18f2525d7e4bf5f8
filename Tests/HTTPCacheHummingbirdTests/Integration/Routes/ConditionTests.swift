// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheHummingbird
import HTTPTypes
import Hummingbird
import NIOCore
import TestSupport
import Testing

@Suite("Conditions in handlers", .timeLimit(.minutes(10)))
struct ConditionTests {
  private let setting: Setting
  private let runs = Runs()

  init() throws {
    setting = try Setting().caching()
  }

  private static let date = Date(timeIntervalSince1970: 1_600_000_000.5)
  private static let dateText = "Sun, 13 Sep 2020 12:26:40 GMT"

  @Test(
    "A handler skips the work for a client that has the response",
    arguments: [
      ("7", [], 200), ("7", [("if-none-match", "W/\"7\"")], 304), ("7", [("if-none-match", "\"7\"")], 304),
      ("7", [("if-none-match", "\"6\", \"7\"")], 304), ("7", [("if-none-match", "*")], 304),
      ("7", [("if-none-match", "W/\"6\"")], 200),
      ("\"7\"", [("if-none-match", "\"7\"")], 304), ("W/\"7\"", [("if-none-match", "\"7\"")], 304),
      ("ü \"%", [("if-none-match", "W/\"%C3%BC%20%22%25\"")], 304),
      (nil, [("if-modified-since", dateText)], 304),
      (nil, [("if-modified-since", "Sun, 13 Sep 2020 12:26:39 GMT")], 200),
      // The tag goes first.
      ("7", [("if-none-match", "W/\"6\""), ("if-modified-since", dateText)], 200),
      ("\"7\"", [("if-match", "\"7\"")], 200), ("\"7\"", [("if-match", "\"6\"")], 412),
      ("7", [("if-match", "W/\"7\"")], 412),
    ] as [(String?, [(String, String)], Int)])
  func conditions(etag: String?, fields: [(String, String)], status: Int) async throws {
    setting.router.get("a") { [runs] request, _ -> Response in
      if try request.isCurrent(etag: etag, lastModified: Self.date) { return .notModified }
      runs.next()
      return Response("a").caching(.public, maxAge: .seconds(60))
    }
    try await setting.run { server in
      let reply = try await server.send(.get, "/a", fields)
      #expect(reply.status == status)
      #expect(runs.count == (status == 200 ? 1 : 0))
      if status != 412 {
        #expect(reply["last-modified"] == Self.dateText)
        #expect((reply["etag"] != nil) == (etag != nil))
      }
    }
  }

  @Test("A change that requires another version is refused before it is made")
  func change() async throws {
    setting.router.put("a") { [runs] request, _ -> Response in
      let isCurrent = try request.isCurrent(etag: "\"7\"")
      #expect(!isCurrent)
      runs.next()
      return Response("")
    }
    try await setting.run { server in
      for (field, value, status) in [
        ("if-match", "\"6\"", 412), ("if-none-match", "*", 412), ("if-match", "\"7\"", 200),
        ("if-match", "*", 200),
      ] {
        let reply = try await server.send(.put, "/a", [(field, value)])
        #expect(reply.status == status)
        #expect(reply["etag"] == nil)
      }
      #expect(runs.count == 2)
    }
  }

  /// What a middleware of compression does to a response.
  private struct Coding: RouterMiddleware {
    func handle(
      _ request: Request, context: BasicRequestContext,
      next: (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
      var response = try await next(request, context)
      guard response.status == .ok else { return response }
      response.body = response.body.map { $0 }
      response.headers[.contentEncoding] = "gzip"
      return response
    }
  }

  @Test(
    "Content of any size gets the validators that the handler names, streamed and compressed, too",
    arguments: [nil, 1, 1 << 20], [("7", "W/\"7\"", "W/\"7\""), ("\"7\"", "\"7\"", "W/\"7\"")])
  func validators(length: Int?, tags: (named: String, plain: String, coded: String)) async throws {
    @Sendable func respond(_ request: Request) throws -> Response {
      if try request.isCurrent(etag: tags.named) { return .notModified }
      let body = ResponseBody(contentLength: length) { writer in
        try await writer.write(ByteBuffer(repeating: 0x61, count: length ?? 1))
        try await writer.finish(nil)
      }
      return Response(status: .ok, body: body).caching(.public, maxAge: .seconds(60))
    }
    setting.router.get("plain") { request, _ in try respond(request) }
    setting.router.group().add(middleware: Coding()).get("coded") { request, _ in try respond(request) }
    try await setting.run { server in
      for (path, tag) in [("/plain", tags.plain), ("/coded", tags.coded)] {
        let coding = ("accept-encoding", "gzip")
        let first = try await server.send(.get, path, [coding])
        #expect(first.status == 200 && first["etag"] == tag)
        let known = try await server.send(.get, path, [coding, ("if-none-match", tag)])
        #expect(known.status == 304 && known.isHit)
        setting.clock.advance(seconds: 90)
        let validated = try await server.send(.get, path, [coding])
        #expect(validated.status == 200 && validated.body == first.body)
        #expect(validated["etag"] == tag && validated.cacheStatus.contains("fwd-status=304"))
        let hit = try await server.send(.get, path, [coding])
        #expect(hit.isHit && hit.body == first.body)
      }
    }
  }

  @Test("The handler's own validator, and one it names without conditions, count")
  func named() async throws {
    setting.router.get("own") { request, _ -> Response in
      _ = try request.isCurrent(etag: "7")
      return Response("a", .ok, [.eTag: "\"own\""])
    }
    setting.router.get("named") { _, context in
      try context.cache.useValidator(.named(etag: "7", lastModified: Self.date))
      return Response("a")
    }
    setting.router.get("error") { request, _ -> Response in
      _ = try request.isCurrent(etag: "7")
      return Response("a", .notFound)
    }
    try await setting.run { server in
      let own = try await server.send(.get, "/own")
      #expect(own["etag"] == "\"own\"")
      let named = try await server.send(.get, "/named")
      #expect(named["etag"] == "W/\"7\"" && named["last-modified"] == Self.dateText)
      let error = try await server.send(.get, "/error")
      #expect(error["etag"] == nil)
    }
  }

  @Test("A stale response is revalidated in the background without the work")
  func background() async throws {
    setting.router.get("a") { [runs] request, _ -> Response in
      if try request.isCurrent(etag: "7") { return .notModified }
      runs.next()
      return Response("a").caching(.public, maxAge: .seconds(60), staleWhileRevalidate: .seconds(60))
    }
    try await setting.run { server in
      for _ in 1...3 {
        let reply = try await server.send(.get, "/a")
        #expect(reply.text == "a")
        try await setting.cache.fetches.emptied()
        let fresh = try await server.send(.get, "/a")
        #expect(fresh.isHit && fresh.cacheStatus.contains("ttl=60"))
        setting.clock.advance(seconds: 90)
      }
      #expect(runs.count == 1)
    }
  }
}
