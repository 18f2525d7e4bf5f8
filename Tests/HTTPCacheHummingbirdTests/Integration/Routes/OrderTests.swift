// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheHummingbird
import HTTPTypes
import Hummingbird
import NIOHTTP1
import TestSupport
import Testing

@Suite("Order of middlewares", .timeLimit(.minutes(10)))
struct OrderTests {
  private typealias Context = BasicRequestContext
  private typealias Next = (Request, Context) async throws -> Response

  /// A middleware of one closure.
  private struct Step: RouterMiddleware {
    typealias Context = BasicRequestContext
    let work: @Sendable (Request, Context, OrderTests.Next) async throws -> Response

    func handle(
      _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
      try await work(request, context, next)
    }
  }

  private func counting(_ count: Runs) -> Step {
    Step { request, context, next in
      count.next()
      return try await next(request, context)
    }
  }

  /// Stands for a middleware that compresses: it reverses the content for clients that accept `x-reversed`.
  private var reversing: Step {
    Step { request, context, next in
      var response = try await next(request, context)
      response.headers.append(HTTPField(name: .vary, value: "Accept-Encoding"))
      guard request.headers[.acceptEncoding] == "x-reversed" else { return response }
      response.headers[.contentEncoding] = "x-reversed"
      response.headers[.eTag] = nil
      response.body = response.body.map { ByteBuffer(bytes: $0.readableBytesView.reversed()) }
      return response
    }
  }

  @Test("Metrics before the cache count requests, and behind it runs of the handler")
  func metrics() async throws {
    let (setting, before, behind) = (try Setting(), Runs(), Runs())
    setting.router.add(middleware: counting(before))
    setting.caching()
    setting.router.add(middleware: counting(behind))
    setting.router.get("a") { _, _ in Response("a").caching(.public, maxAge: .seconds(60)) }
    try await setting.run { server in
      for _ in 1...3 { try await server.send(.get, "/a") }
      #expect(before.count == 3)
      #expect(behind.count == 1)
    }
  }

  @Test("CORS before the cache gives each origin its own fields")
  func cors() async throws {
    let (setting, runs) = (try Setting(), Runs())
    setting.router.add(middleware: CORSMiddleware(allowOrigin: .originBased))
    setting.caching()
    setting.router.get("a") { _, _ in Response("\(runs.next())").caching(.public, maxAge: .seconds(60)) }
    try await setting.run { server in
      for origin in [nil, "http://b.example", "http://c.example", nil] {
        let reply = try await server.send(.get, "/a", origin.map { [("origin", $0)] } ?? [])
        #expect(reply["access-control-allow-origin"] == origin)
        #expect(reply.text == "1")
      }
      let preflight = try await server.send(.options, "/a", [("origin", "http://b.example")])
      #expect(preflight["access-control-allow-methods"] != nil)
    }
  }

  @Test("A session before the cache keeps its cookies to itself")
  func session() async throws {
    let (setting, runs) = (try Setting(), Runs())
    setting.router.add(
      middleware: Step { request, context, next in
        var response = try await next(request, context)
        response.headers[.setCookie] = "session=\(request.headers[.cookie] ?? "new")"
        return response
      })
    setting.caching()
    setting.router.get("a") { _, _ in Response("\(runs.next())").caching(.public, maxAge: .seconds(60)) }
    try await setting.run { server in
      for user in ["one", "two"] {
        let reply = try await server.send(.get, "/a", [("cookie", user)])
        #expect(reply["set-cookie"] == "session=\(user)")
        #expect(reply.text == "1")
      }
    }
  }

  @Test("An access check before the cache protects the hits")
  func access() async throws {
    let setting = try Setting()
    setting.router.add(
      middleware: Step { request, context, next in
        guard request.headers[.authorization] == "Bearer x" else { throw HTTPError(.unauthorized) }
        return try await next(request, context)
      })
    setting.caching()
    setting.router.get("a") { _, _ in Response("secret").caching(.public, maxAge: .seconds(60)) }
    try await setting.run { server in
      for _ in 1...2 {
        let allowed = try await server.send(.get, "/a", [("authorization", "Bearer x")])
        #expect(allowed.text == "secret")
        let refused = try await server.send(.get, "/a")
        #expect(refused.status == 401)
      }
    }
  }

  @Test("Compression behind the cache runs once for each coding", arguments: [true, false])
  func compression(isBehind: Bool) async throws {
    let (setting, runs) = (try Setting(), Runs())
    if !isBehind { setting.router.add(middleware: reversing) }
    setting.caching()
    if isBehind { setting.router.add(middleware: reversing) }
    setting.router.get("a") { _, _ in
      runs.next()
      return Response("abc").caching(.public, maxAge: .seconds(60))
    }
    try await setting.run { server in
      for _ in 1...2 {
        let plain = try await server.send(.get, "/a")
        #expect(plain.text == "abc")
        let coded = try await server.send(.get, "/a", [("accept-encoding", "x-reversed")])
        #expect(coded.text == "cba")
        #expect(coded["content-encoding"] == "x-reversed")
      }
      #expect(runs.count == (isBehind ? 2 : 1))
    }
  }

  @Test("Files behind the cache are stored, and those before it are found", arguments: [true, false])
  func files(isBehind: Bool) async throws {
    try await withTemporaryFolder { folder in
      try Data("0123456789".utf8).write(to: folder.appendingPathComponent("a.txt"))
      let files = FileMiddleware<BasicRequestContext, LocalFileSystem>(
        folder.path, cacheControl: CacheControl([(.init(type: .text), [.public, .maxAge(60)])]))
      let setting = try Setting()
      if !isBehind { setting.router.add(middleware: files) }
      setting.caching()
      if isBehind { setting.router.add(middleware: files) }
      try await setting.run { server in
        let first = try await server.send(.get, "/a.txt")
        #expect(first.text == "0123456789")
        #expect(first["cache-control"] == "public, max-age=60")
        let second = try await server.send(.get, "/a.txt")
        #expect(second.text == "0123456789")
        #expect(second.isHit == isBehind)
        let part = try await server.send(.get, "/a.txt", [("range", "bytes=2-4")])
        #expect(part.status == 206)
        #expect(part.text == "234")
        let notModified = try await server.send(.get, "/a.txt", [("if-none-match", first["etag"] ?? "")])
        #expect(notModified.status == 304)
        let missing = try await server.send(.get, "/b.txt")
        #expect(missing.status == 404)
      }
    }
  }

  @Test("A file that is first requested in part is served in part")
  func fileRange() async throws {
    try await withTemporaryFolder { folder in
      try Data("0123456789".utf8).write(to: folder.appendingPathComponent("a.txt"))
      let setting = try Setting().caching()
      setting.router.add(
        middleware: FileMiddleware(
          folder.path, cacheControl: .init([(.init(type: .text), [.public, .maxAge(60)])])))
      try await setting.run { server in
        for range in ["bytes=2-4", "bytes=2-4", "bytes=0-"] {
          let part = try await server.send(.get, "/a.txt", [("range", range)])
          #expect(part.status == 206)
          #expect(part.text == (range == "bytes=0-" ? "0123456789" : "234"))
        }
        let whole = try await server.send(.get, "/a.txt")
        #expect(whole.text == "0123456789")
      }
    }
  }
}
