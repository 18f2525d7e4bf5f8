// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheHummingbird
import HTTPCaching
import HTTPTypes
import Hummingbird
import NIOCore
import TestSupport
import Testing

@Suite("Requests that the cache makes to routes", .timeLimit(.minutes(10)))
struct CacheRequestTests {
  private let runs = Runs()

  /// Counts the requests of clients, and those of the cache.
  private struct Counting: RouterMiddleware {
    let clients = Runs()
    let cache = Runs()

    func handle(
      _ request: Request, context: BasicRequestContext,
      next: (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
      _ = context.isRequestOfCache ? cache.next() : clients.next()
      return try await next(request, context)
    }
  }

  @Test("Middlewares recognise a background revalidation, and its handler does")
  func mark() async throws {
    let (setting, counting) = (try Setting(), Counting())
    setting.router.add(middleware: counting)
    setting.caching()
    setting.router.get("a") { [runs] _, context in
      Response("\(runs.next()) \(context.isRequestOfCache)")
        .caching(.public, maxAge: .seconds(60), staleWhileRevalidate: .seconds(60))
    }
    try await setting.run { server in
      let first = try await server.send(.get, "/a")
      #expect(first.text == "1 false")
      setting.clock.advance(seconds: 90)
      try await server.send(.get, "/a")
      try await setting.cache.fetches.emptied()
      let fresh = try await server.send(.get, "/a")
      #expect(fresh.text == "2 true" && fresh.isHit)
      #expect(counting.clients.count == 3 && counting.cache.count == 1)
    }
  }

  // MARK: - HEAD

  @Test(
    "HEAD without a route of its own answers like GET, before and after that is stored",
    arguments: ["public, max-age=60", "no-store"], [nil, 4, 1 << 20] as [Int?])
  func head(cacheControl: String, length: Int?) async throws {
    let setting = try Setting(options: []).caching()
    setting.router.get("a/:id") { [runs] _, _ in
      runs.next()
      let body = ResponseBody(contentLength: length) { writer in
        try await writer.write(ByteBuffer(repeating: 0x61, count: length ?? 4))
        try await writer.finish(nil)
      }
      return Response(
        status: .ok, headers: [.cacheControl: cacheControl, .contentType: "text/plain", .eTag: "\"1\""],
        body: body)
    }
    try await setting.run { server in
      let before = try await server.send(.head, "/a/1")
      let get = try await server.send(.get, "/a/1")
      let after = try await server.send(.head, "/a/1")
      #expect(get.status == 200 && get.body.readableBytes == length ?? 4)
      for head in [before, after] {
        #expect(head.status == 200 && head.body.readableBytes == 0)
        for name in ["content-type", "etag", "cache-control"] { #expect(head[name] == get[name]) }
      }
      // Hummingbird has no other answer while the length is unknown.
      #expect(before["content-length"] == "\(length ?? 0)")
      #expect(after.isHit == (cacheControl != "no-store"))
      try await Client.connect(to: server.port).talk { client in
        try await client.send(.head, "/a/3")
        let head = try await client.reply()
        try await client.send(.get, "/a/4")
        let next = try await client.reply()
        #expect(head.status == 200 && next.status == 200)
      }
      let known = try await server.send(.head, "/a/2", [("if-none-match", "\"1\"")])
      #expect(known.status == 304)
      let part = try await server.send(.head, "/a/2", [("range", "bytes=0-1")])
      #expect(part.status == 200)
    }
  }

  @Test("Errors of HEAD are those of GET, and a route of its own counts")
  func headErrors() async throws {
    let setting = try Setting(options: []).caching()
    setting.router.get("gone") { _, _ -> Response in throw HTTPError(.gone) }
    setting.router.get("own") { _, _ in Response("GET") }
    setting.router.head("own") { _, _ in Response("", .accepted) }
    setting.router.head("missing") { _, _ -> Response in throw HTTPError(.notFound) }
    setting.router.get("missing") { _, _ in Response("GET") }
    try await setting.run { server in
      for (path, status) in [("/gone", 410), ("/own", 202), ("/none", 404), ("/missing", 404)] {
        let reply = try await server.send(.head, path)
        #expect(reply.status == status, "\(path)")
      }
    }
  }

  // MARK: - Tracing

  /// Notes in which step a task runs.
  private final class Steps: CacheTracer {
    @TaskLocal static var step: String?

    func trace<Result>(
      _ step: TracedStep, of request: HTTPRequest, _ work: (any TracedSpan) async throws -> Result
    ) async rethrows -> Result {
      try await Self.$step.withValue("\(step)") { try await work(Span()) }
    }

    var context: (any Sendable)? { Self.step }

    func run<Result>(in context: any Sendable, _ work: () async throws -> Result) async rethrows -> Result {
      try await Self.$step.withValue(context as? String) { try await work() }
    }

    func traceHit(_ response: CachedResponse, to request: HTTPRequest) {}

    struct Span: TracedSpan {
      var context: any Sendable { 0 }
      func link(to context: any Sendable) {}
      func record(_ response: CachedResponse) {}
      func record(_ status: HTTPResponse.Status) {}
    }
  }

  @Test("A handler runs within the fetch of its cache, or within the revalidation")
  func spans() async throws {
    let setting = try Setting { $0.tracer = Steps() }.caching()
    setting.router.get("a") { _, _ in
      Response(Steps.step ?? "").caching(
        .public, maxAge: .seconds(60), staleWhileRevalidate: .seconds(60))
    }
    try await setting.run { server in
      let first = try await server.send(.get, "/a")
      #expect(first.text == "fetch")
      setting.clock.advance(seconds: 90)
      try await server.send(.get, "/a")
      try await setting.cache.fetches.emptied()
      let second = try await server.send(.get, "/a")
      #expect(second.text == "revalidation")
    }
  }
}
