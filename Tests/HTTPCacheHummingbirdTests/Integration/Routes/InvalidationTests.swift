// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheHummingbird
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@Suite("Invalidation by handlers", .timeLimit(.minutes(10)))
struct InvalidationTests {
  private let setting: Setting
  private let runs = Runs()

  init() throws {
    setting = try Setting().caching()
    setting.router.get("news/:id") { [runs] _, context in
      Response("\(context.parameters.get("id") ?? "") \(runs.next())")
        .caching(.public, maxAge: .seconds(60), groups: ["news", "with \"quotes\""])
    }
    setting.router.get("other") { [runs] _, _ in
      Response("\(runs.next())").caching(.public, maxAge: .seconds(60))
    }
  }

  /// Whether the response of each path is a hit now.
  private func hits(_ server: Server, _ paths: [String]) async throws -> [Bool] {
    var hits: [Bool] = []
    for path in paths { hits.append(try await server.send(.get, path).isHit) }
    return hits
  }

  private static let paths = ["/news/1", "/news/2", "/other"]

  private func expect(
    _ expected: [Bool], after method: HTTPRequest.Method = .post, _ path: String = "/change",
    status: Int = 200
  ) async throws {
    try await setting.run { server in
      _ = try await hits(server, Self.paths)
      let before = try await hits(server, Self.paths)
      #expect(before == [true, true, true])
      let reply = try await server.send(method, path)
      #expect(reply.status == status)
      let after = try await hits(server, Self.paths)
      #expect(after == expected)
    }
  }

  @Test("A group")
  func group() async throws {
    setting.router.post("change") { _, context in
      try context.cache.invalidate(group: "news")
      return Response("")
    }
    try await expect([false, false, true])
  }

  @Test("A group whose name needs quotation")
  func quotedGroup() async throws {
    setting.router.post("change") { _, context in
      try context.cache.invalidate(group: "with \"quotes\"")
      return Response("")
    }
    try await expect([false, false, true])
  }

  @Test("A group with any name, and no other group")
  func anyGroup() async throws {
    let names = [
      "", "a", "A", "日本", "größe", "gre", "gr%C3%B6%C3%9Fe", "e\u{301}", "é", "%", "%C3", "%25C3", "a\r\nb",
      "ab",
    ]
    setting.router.get("named/:index") { [runs] _, context in
      let name = names[context.parameters.get("index", as: Int.self) ?? 0]
      return Response("\(runs.next())").caching(.public, maxAge: .seconds(60), groups: [name])
    }
    setting.router.post("change/:index") { _, context in
      try context.cache.invalidate(group: names[context.parameters.get("index", as: Int.self) ?? 0])
      return Response("")
    }
    try await setting.run { server in
      let paths = names.indices.map { "/named/\($0)" }
      _ = try await hits(server, paths)
      for index in names.indices {
        try await server.send(.post, "/change/\(index)")
        let found = try await hits(server, paths)
        #expect(found == names.indices.map { $0 != index }, "\(names[index])")
      }
    }
  }

  @Test("A path, and an absolute URL")
  func url() async throws {
    setting.router.post("change") { _, context in
      let cache = try context.cache
      #expect(cache.invalidate("/news/1") == 1)
      #expect(cache.invalidate("http://a.example/other") == 1)
      #expect(cache.invalidate("http://b.example/other") == 0)
      return Response("")
    }
    try await expect([false, true, false])
  }

  @Test(
    "All URLs that begin with a text",
    arguments: [("/news/", 2), ("/news/1", 1), ("http://a.example/", 3), ("http://b.example/", 0), ("/n", 2)])
  func prefix(prefix: String, count: Int) async throws {
    setting.router.post("change") { _, context in
      let cache = try context.cache
      #expect(cache.invalidate(prefix: prefix) == count)
      return Response("")
    }
    try await expect([count < 1, count < 2, count < 3])
  }

  @Test("Removals say how many responses they concern, if they are to be counted")
  func counts() async throws {
    setting.router.post("change") { _, context in
      let cache = try context.cache
      #expect(cache.invalidate(group: "none", counting: true).count == 0)
      #expect(cache.invalidate(group: "none").count == nil)
      #expect(cache.invalidate(group: "news", counting: true).count == 2)
      #expect(cache.invalidateAll(counting: true).count == 1)
      #expect(cache.invalidateAll().count == nil)
      // There is no other node.
      #expect(await cache.confirm() == .everywhere)
      return Response("")
    }
    try await expect([false, false, false])
  }

  @Test("A group of all hosts and partitions, or of the request's", arguments: [true, false])
  func everywhere(isEverywhere: Bool) async throws {
    let setting = try Setting().caching(partition: { request, _ in request.headers[.from] })
    setting.router.get("a") { _, _ in Response("").caching(.public, maxAge: .seconds(60), groups: ["a"]) }
    setting.router.post("change") { _, context in
      let count = try context.cache.invalidate(group: "a", everywhere: isEverywhere, counting: true).count
      return Response("\(count ?? -1)")
    }
    let places = [("a.example", ""), ("b.example", ""), ("a.example", "one"), ("b.example", "one")].map {
      [("host", $0)] + ($1.isEmpty ? [] : [("from", $1)])
    }
    try await setting.run { server in
      for fields in places { try await server.send(.get, "/a", fields) }
      let change = try await server.send(.post, "/change", places[0])
      #expect(change.text == (isEverywhere ? "4" : "1"))
      for (index, fields) in places.enumerated() {
        let reply = try await server.send(.get, "/a", fields)
        #expect(reply.isHit == (index > 0 && !isEverywhere))
      }
    }
  }

  @Test("Expired responses are revalidated")
  func expire() async throws {
    setting.router.post("change") { _, context in
      let cache = try context.cache
      #expect(cache.expire("/other") == 1)
      return Response("")
    }
    try await expect([true, true, false])
  }

  @Test("Everything of the origin")
  func all() async throws {
    setting.router.post("change") { _, context in
      try context.cache.invalidateAll()
      return Response("")
    }
    try await expect([false, false, false])
  }

  @Test(
    "A successful unsafe request invalidates its target, and the groups of that",
    arguments: [HTTPRequest.Method.post, .put, .delete, .patch])
  func unsafeMethod(method: HTTPRequest.Method) async throws {
    setting.router.on("news/:id", method: method) { _, _ in Response("") }
    // RFC 9875 §2.2.1: it takes those with it that share a group.
    try await expect([false, false, true], after: method, "/news/2")
  }

  @Test("A failed one does not")
  func failedUnsafeMethod() async throws {
    setting.router.post("news/:id") { _, _ -> Response in throw HTTPError(.unprocessableContent) }
    try await expect([true, true, true], after: .post, "/news/2", status: 422)
  }

  @Test("A response that was in flight at the invalidation is not stored")
  func inFlight() async throws {
    let gate = Gate()
    setting.router.get("slow") { [runs] _, _ in
      let run = runs.next()
      await gate.wait()
      return Response("\(run)").caching(.public, maxAge: .seconds(60), groups: ["slow"])
    }
    setting.router.post("change") { _, context in
      try context.cache.invalidate(group: "slow")
      return Response("")
    }
    try await setting.run { server in
      async let slow = server.send(.get, "/slow")
      await gate.arrived(1)
      try await server.send(.post, "/change")
      gate.open()
      _ = try await slow
      let next = try await server.send(.get, "/slow")
      #expect(!next.isHit)
    }
  }

  @Test("Without a middleware, the access is an error and not a silent omission")
  func withoutMiddleware() async throws {
    let router = Router()
    router.post("change") { _, context -> Response in
      #expect(throws: RouteCacheError.self) { try context.cache }
      return Response("")
    }
    try await Server.run(router.buildResponder()) { server in
      let reply = try await server.send(.post, "/change")
      #expect(reply.status == 200)
    }
  }

  @Test(
    "A handler's cache is there while its content is written, in any way",
    arguments: ["public, max-age=60", "no-store"], [nil, 2, 1 << 20])
  func inContent(cacheControl: String, length: Int?) async throws {
    setting.router.get("change") { _, context in
      let body = ResponseBody(contentLength: length) { writer in
        try context.cache.invalidate(group: "news")
        try await writer.write(ByteBuffer(repeating: 0x61, count: length ?? 2))
        try await writer.finish(nil)
      }
      return Response(status: .ok, headers: [.cacheControl: cacheControl], body: body)
    }
    try await expect([false, false, true], after: .get)
  }

  @Test("A request that the cache takes no part in says so")
  func excluded() async throws {
    let setting = try Setting().caching(shouldIntercept: { _, _ in false })
    setting.router.get("a") { _, context -> Response in
      let error = try #require(throws: RouteCacheError.self) { try context.cache }
      #expect("\(error)".contains("shouldIntercept"))
      return Response("")
    }
    try await setting.run { server in
      let reply = try await server.send(.get, "/a")
      #expect(reply.status == 200)
    }
  }

  @Test("A handler's cache works in its tasks")
  func inTask() async throws {
    setting.router.post("change") { _, context in
      let cache = try context.cache
      await Task.detached {
        #expect(throws: RouteCacheError.self) { try context.cache }
        cache.invalidate(group: "news")
      }.value
      return Response("")
    }
    try await expect([false, false, true])
  }
}
