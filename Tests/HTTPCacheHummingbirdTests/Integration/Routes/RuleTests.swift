// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheHummingbird
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@Suite("Rules of a shared cache", .timeLimit(.minutes(10)))
struct RuleTests {
  private let setting: Setting
  private let runs = Runs()

  init() throws {
    setting = try Setting().caching()
  }

  /// Sends two requests; returns whether the second is a hit.
  private func isReused(
    _ server: Server, _ path: String, _ first: [(String, String)] = [], then second: [(String, String)] = []
  ) async throws -> Bool {
    _ = try await server.send(.get, path, first)
    return try await server.send(.get, path, second).isHit
  }

  @Test(
    "A response to an authorised request is shared if its directives allow it",
    arguments: [
      ("max-age=60", false), ("public, max-age=60", true), ("s-maxage=60", true),
      ("max-age=60, must-revalidate", true), ("private, max-age=60", false),
    ])
  func authorization(cacheControl: String, isShared: Bool) async throws {
    setting.router.get("a") { _, _ in Response("a", .ok, [.cacheControl: cacheControl]) }
    try await setting.run { server in
      let isReused = try await isReused(server, "/a", [("authorization", "Basic YTpi")])
      #expect(isReused == isShared)
    }
  }

  @Test(
    "A response with cookies is shared if it says so",
    arguments: [("public, max-age=60", true), ("no-cache", false)])
  func cookies(cacheControl: String, isShared: Bool) async throws {
    setting.router.get("a") { _, _ in
      Response("a", .ok, [.cacheControl: cacheControl, .setCookie: "id=1"])
    }
    try await setting.run { server in
      let isReused = try await isReused(server, "/a")
      #expect(isReused == isShared)
    }
  }

  @Test(
    "A request whose target or host servers read differently is neither stored nor answered from the store",
    arguments: [
      ("/products/77#x", []), ("/products/77#", []), ("/products/77?#", []),
      ("/products/77", [("host", "a.example"), ("host", "b.example")]),
      ("/products/77", [("host", "a.example"), ("host", "a.example")]),
      ("/products/77", [("host", "user@a.example")]),
    ] as [(String, [(String, String)])])
  func ambiguousTargets(path: String, hosts: [(String, String)]) async throws {
    setting.router.get("products/:id") { [runs] _, context in
      guard context.parameters.get("id") == "77" else {
        return Response("none \(runs.next())", .notFound, [.cacheControl: "max-age=5"])
      }
      return Response("\(runs.next())").caching(.public, maxAge: .seconds(60))
    }
    try await setting.run { server in
      _ = try await server.send(.get, path, hosts)
      let first = try await server.send(.get, "/products/77")
      #expect(first.status == 200 && first.text == "2" && !first.isHit)
      let odd = try await server.send(.get, path, hosts)
      #expect(!odd.isHit && odd.cacheStatus.contains("fwd=bypass"))
      let second = try await server.send(.get, "/products/77")
      #expect(second.text == "2" && second.isHit)
    }
  }

  @Test("Vary selects the variant")
  func vary() async throws {
    setting.router.get("a") { [runs] request, _ in
      Response("\(request.headers[.acceptLanguage] ?? "") \(runs.next())")
        .caching(.public, maxAge: .seconds(60), vary: [.acceptLanguage])
    }
    try await setting.run { server in
      for _ in 1...2 {
        let (english, german) = (
          try await server.send(.get, "/a", [("accept-language", "en")]),
          try await server.send(.get, "/a", [("accept-language", "de")])
        )
        #expect(english.text == "en 1")
        #expect(german.text == "de 2")
        #expect(english["vary"] == "Accept-Language")
      }
    }
  }

  @Test(
    "Statuses are stored if they may be",
    arguments: [
      (200, true), (204, true), (301, true), (404, true), (410, true), (500, true), (429, false),
    ])
  func statuses(status: Int, isStored: Bool) async throws {
    setting.router.get("a") { _, _ in
      Response(status: .init(code: status), headers: [.cacheControl: "public, max-age=60", .location: "/b"])
    }
    try await setting.run { server in
      let first = try await server.send(.get, "/a")
      #expect(first.status == status)
      let second = try await server.send(.get, "/a")
      #expect(second.status == status)
      #expect(second.isHit == isStored)
    }
  }

  @Test(
    "A handler's 304 to a request without a condition becomes 502, and its 304 to a condition reaches the client"
  )
  func notModified() async throws {
    setting.router.get("a") { _, _ in Response(status: .notModified, headers: [.eTag: "\"b\""]) }
    try await setting.run { server in
      let plain = try await server.send(.get, "/a")
      #expect(plain.status == 502 && plain.cacheStatus.contains("detail=unsolicitedNotModified"))
      let conditional = try await server.send(.get, "/a", [("if-none-match", "\"b\"")])
      #expect(conditional.status == 304)
    }
  }

  @Test("A strong validator is made from small content of known length")
  func madeValidator() async throws {
    let large = ByteBuffer(repeating: 0x61, count: 1 << 20)
    setting.router.get("small") { _, _ in Response("small").caching(.public, maxAge: .seconds(60)) }
    setting.router.get("undeclared") { _, _ in Response("small") }
    setting.router.get("own") { _, _ in Response("own", .ok, [.eTag: "W/\"1\""]) }
    setting.router.get("large") { _, _ in
      Response(status: .ok, body: .init(byteBuffer: large)).caching(.public, maxAge: .seconds(60))
    }
    setting.router.get("none") { _, context in
      try context.cache.useValidator(.none)
      return Response("none").caching(.public, maxAge: .seconds(60))
    }
    setting.router.get("error") { _, _ in Response("error", .notFound) }
    try await setting.run { server in
      let small = try await server.send(.get, "/small")
      let tag = try #require(small["etag"])
      #expect(tag.utf8.count == 34)
      let undeclared = try await server.send(.get, "/undeclared")
      #expect(undeclared["etag"] == tag)
      let head = try await server.send(.head, "/undeclared")
      #expect(head["etag"] == tag)
      #expect(head["content-length"] == "5")
      let own = try await server.send(.get, "/own")
      #expect(own["etag"] == "W/\"1\"")
      for path in ["/large", "/none", "/error"] {
        let reply = try await server.send(.get, path)
        #expect(reply["etag"] == nil)
      }
      let large = try await server.send(.get, "/large")
      #expect(large.isHit)
      #expect(large.body.readableBytes == 1 << 20)
    }
  }

  @Test(
    "The first request for a response gets 304 or 206 as the next ones do",
    arguments: ["public, max-age=60", "no-store"])
  func firstRequest(cacheControl: String) async throws {
    setting.router.get("a/:number") { _, _ in Response("0123456789", .ok, [.cacheControl: cacheControl]) }
    let isStored = cacheControl != "no-store"
    try await setting.run { server in
      let tag = try #require(try await server.send(.get, "/a/0")["etag"])
      let notModified = try await server.send(.get, "/a/1", [("if-none-match", "\"x\", \(tag)")])
      #expect(notModified.status == 304)
      #expect(notModified["etag"] == tag)
      #expect(notModified["cache-control"] == cacheControl)
      #expect(notModified.cacheStatus.contains("stored") == isStored)
      let other = try await server.send(.get, "/a/2", [("if-none-match", "\"x\"")])
      #expect(other.status == 200)
      let part = try await server.send(.get, "/a/3", [("range", "bytes=-3")])
      #expect(part.status == 206)
      #expect(part.text == "789")
      #expect(part["content-range"] == "bytes 7-9/10")
      let parts = try await server.send(.get, "/a/4", [("range", "bytes=0-1,4-5")])
      #expect(parts.status == 206)
      #expect(parts.text.contains("Content-Range: bytes 4-5/10"), "\(parts.text)")
      let outside = try await server.send(.get, "/a/5", [("range", "bytes=10-")])
      #expect(outside.status == 416)
      #expect(outside.fields.contains(name: "cache-status"))
      let condition = try await server.send(.get, "/a/6", [("range", "bytes=0-1"), ("if-range", tag)])
      #expect(condition.status == 206)
      let outdated = try await server.send(.get, "/a/7", [("range", "bytes=0-1"), ("if-range", "\"x\"")])
      #expect(outdated.status == 200)
      for number in 1...7 where isStored {
        let reply = try await server.send(.get, "/a/\(number)")
        #expect(reply.isHit)
        #expect(reply.text == "0123456789")
      }
    }
  }

  @Test("A streamed response is stored, although its first client gets 304")
  func streamedNotModified() async throws {
    setting.router.get("a") { [runs] _, _ in
      runs.next()
      return Response(
        status: .ok, headers: [.cacheControl: "max-age=60", .eTag: "\"a\""],
        body: .init { writer in
          for _ in 0..<100 { try await writer.write(ByteBuffer(repeating: 0x61, count: 10_000)) }
          try await writer.finish(nil)
        })
    }
    try await setting.run { server in
      let first = try await server.send(.get, "/a", [("if-none-match", "\"a\"")])
      #expect(first.status == 304)
      let second = try await server.send(.get, "/a")
      #expect(second.body.readableBytes == 1_000_000)
      #expect(runs.count == 1)
    }
  }

  @Test("A stale response is replaced, or confirmed by a handler that answers 304")
  func revalidation() async throws {
    setting.router.get("a") { [runs] request, _ in
      runs.next()
      if request.headers[.ifNoneMatch] == "\"1\"" {
        return Response(status: .notModified, headers: [.eTag: "\"1\"", .cacheControl: "max-age=60"])
      }
      return Response("a", .ok, [.eTag: "\"1\"", .cacheControl: "max-age=60"])
    }
    try await setting.run { server in
      try await server.send(.get, "/a")
      setting.clock.advance(seconds: 90)
      let validated = try await server.send(.get, "/a")
      #expect(validated.status == 200)
      #expect(validated.text == "a")
      let hit = try await server.send(.get, "/a")
      #expect(hit.isHit)
      #expect(runs.count == 2)
    }
  }

  @Test("A GET with content neither is stored nor gets a stored response")
  func contentOfGET() async throws {
    setting.router.get("a") { request, _ in
      var text = "content: "
      for try await chunk in request.body { text += String(buffer: chunk) }
      return Response(text).caching(.public, maxAge: .seconds(60))
    }
    try await setting.run { server in
      for _ in 1...2 {
        let filled = try await server.send(.get, "/a", body: "evil")
        #expect(filled.text == "content: evil")
        let chunked = try await server.send(.get, "/a", [("transfer-encoding", "chunked")])
        #expect(chunked.text == "content: ")
        #expect(!chunked.isHit)
        let plain = try await server.send(.get, "/a")
        #expect(plain.text == "content: ")
      }
    }
  }

  @Test("QUERY is stored by its content")
  func query() async throws {
    let method = try #require(HTTPRequest.Method("QUERY"))
    setting.router.on("a", method: method) { [runs] request, _ in
      var text = "\(runs.next()) "
      for try await chunk in request.body { text += String(buffer: chunk) }
      return Response(text).caching(.public, maxAge: .seconds(60))
    }
    try await setting.run { server in
      for _ in 1...2 {
        let one = try await server.send(method, "/a", [("content-type", "text/plain")], body: "one")
        #expect(one.text == "1 one")
        let two = try await server.send(method, "/a", [("content-type", "text/plain")], body: "two")
        #expect(two.text == "2 two")
      }
    }
  }

  @Test("HEAD is answered from a stored GET")
  func head() async throws {
    setting.router.get("a") { [runs] _, _ in
      Response("a \(runs.next())").caching(.public, maxAge: .seconds(60))
    }
    try await setting.run { server in
      try await server.send(.get, "/a")
      let head = try await server.send(.head, "/a")
      #expect(head.isHit)
      #expect(head["content-length"] == "3")
      #expect(runs.count == 1)
    }
  }

  @Test("only-if-cached is honoured, and a reload does not run the handler")
  func requestDirectives() async throws {
    setting.router.get("a") { [runs] _, _ in
      Response("\(runs.next())").caching(.public, maxAge: .seconds(60))
    }
    try await setting.run { server in
      let missing = try await server.send(.get, "/a", [("cache-control", "only-if-cached")])
      #expect(missing.status == 504)
      try await server.send(.get, "/a")
      let reload = try await server.send(.get, "/a", [("cache-control", "no-cache")])
      // Nothing newer lies behind the handler.
      #expect(reload.text == "1" && reload.isHit)
    }
  }
}
