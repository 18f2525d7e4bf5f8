// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheHummingbird
import HTTPTypes
import Hummingbird
import NIOCore
import TestSupport
import Testing

@Suite("Declared outside of handlers", .timeLimit(.minutes(10)))
struct DeclarationTests {
  private let setting: Setting
  private let runs = Runs()

  init() throws {
    setting = try Setting().caching()
  }

  @Test(
    "A group's declaration counts for successful responses that say nothing",
    arguments: [
      (200, [:], "max-age=60", true),
      (301, [.location: "/b"], "max-age=60", true),
      (200, [.cacheControl: "no-store"], "no-store", false),
      (200, [.cacheControl: "public, max-age=5"], "public, max-age=5", true),
      (200, [.expires: "0"], nil, false),
      (200, [HTTPField.Name("CDN-Cache-Control") ?? .cacheControl: "max-age=5"], nil, false),
      // For one user.
      (200, [.setCookie: "id=1"], nil, false),
      // An error must not last as long as the content.
      (404, [:], nil, false), (500, [:], nil, false),
    ] as [(Int, HTTPFields, String?, Bool)])
  func defaults(status: Int, fields: HTTPFields, cacheControl: String?, isHit: Bool) async throws {
    setting.router.group("group").caching(.seconds(60), groups: ["group"])
      .get("a") { [runs] _, _ in
        Response("\(runs.next())", .init(code: status), fields)
      }
    try await setting.run { server in
      let first = try await server.send(.get, "/group/a")
      #expect(first.status == status && first["cache-control"] == cacheControl)
      #expect(first["cache-groups"] == (status < 400 ? #""group""# : nil))
      let second = try await server.send(.get, "/group/a")
      #expect(second.isHit == isHit)
      #expect(second["cache-control"] == cacheControl)
    }
  }

  @Test("It concerns neither unsafe methods nor routes outside of the group")
  func others() async throws {
    setting.router.group("group").caching(.seconds(60), groups: ["group"])
      .post("a") { _, _ in Response("a") }
    setting.router.get("b") { _, _ in Response("b") }
    try await setting.run { server in
      let post = try await server.send(.post, "/group/a")
      #expect(post["cache-control"] == nil && post["cache-groups"] == nil)
      let other = try await server.send(.get, "/b")
      #expect(other["cache-control"] == nil)
    }
  }

  @Test("Of nested groups, the innermost declares, and the response is in the groups of all")
  func nested() async throws {
    let outer = setting.router.group("outer").caching(
      .seconds(60), vary: [.acceptLanguage], groups: ["outer"])
    outer.group("inner").caching(.seconds(5), vary: [.accept], groups: ["inner"])
      .get("a") { [runs] _, _ in Response("\(runs.next())", .ok, [.vary: "Origin"]) }
    outer.post("change/:group") { _, context in
      try context.cache.invalidate(group: context.parameters.get("group") ?? "")
      return Response("")
    }
    try await setting.run { server in
      let first = try await server.send(.get, "/outer/inner/a")
      #expect(first["cache-control"] == "max-age=5")
      #expect(first["vary"] == "Origin, Accept, Accept-Language")
      #expect(first["cache-groups"] == #""inner", "outer""#)
      for (index, group) in ["inner", "outer"].enumerated() {
        try await server.send(.post, "/outer/change/\(group)")
        let next = try await server.send(.get, "/outer/inner/a")
        #expect(next.text == "\(index + 2)")
      }
    }
  }

  @Test(
    "A response to an authorised request is shared only if the declaration is public",
    arguments: [(CacheSharing.anonymous, nil, false), (.public, nil, true), (.public, .noStore, true)]
      as [(CacheSharing, CacheRestriction?, Bool)])
  func authorization(sharing: CacheSharing, clients: CacheRestriction?, isShared: Bool) async throws {
    setting.router.group().caching(.seconds(60), sharing: sharing, clients: clients)
      .get("a") { _, _ in Response("a") }
    try await setting.run { server in
      try await server.send(.get, "/a", [("authorization", "Basic YTpi")])
      let other = try await server.send(.get, "/a")
      #expect(other.isHit == isShared)
    }
  }

  @Test(
    "What permits to share a response to an authorised request does not, unless the declaration is public",
    arguments: [(Duration.seconds(60), []), (nil, [.mustRevalidate]), (nil, [.proxyRevalidate])]
      as [(Duration?, [CacheDirective])])
  func credentials(sharedMaxAge: Duration?, directives: [CacheDirective]) async throws {
    setting.router.group().caching(.seconds(60), sharedMaxAge: sharedMaxAge, directives: directives)
      .get("a") { _, _ in Response("a") }
    try await setting.run { server in
      try await server.send(.get, "/a", [("authorization", "Basic YTpi")])
      let other = try await server.send(.get, "/a")
      #expect(!other.isHit)
      let third = try await server.send(.get, "/a")
      #expect(third.isHit)
    }
  }

  @Test("A 304 of a handler keeps what the handler said before: the group adds nothing to it")
  func notModified() async throws {
    setting.router.group().caching(.seconds(60), vary: [.acceptEncoding], groups: ["group"])
      .get("a") { [runs] request, _ -> Response in
        runs.next()
        if try request.isCurrent(etag: "1") { return .notModified }
        return Response("a").caching(
          .public, maxAge: .seconds(5), vary: [.acceptLanguage], groups: ["own"])
      }
    try await setting.run { server in
      for run in 1...2 {
        let reply = try await server.send(.get, "/a", [("accept-language", "de")])
        #expect(runs.count == run && reply["cache-control"] == "public, max-age=5")
        #expect(reply["vary"]?.contains("Accept-Language") == true)
        #expect(reply["cache-groups"] == #""own", "group""#)
        setting.clock.advance(seconds: 6)
      }
      // Not for another language.
      let other = try await server.send(.get, "/a", [("accept-language", "en")])
      #expect(!other.isHit && runs.count == 3)
    }
  }

  @Test("Redirects that may depend on the user are not declared", arguments: [302, 303, 307])
  func redirects(status: Int) async throws {
    setting.router.group().caching(.seconds(60)).get("a") { _, _ in
      Response("", .init(code: status), [.location: "/login"])
    }
    try await setting.run { server in
      let reply = try await server.send(.get, "/a")
      #expect(reply.status == status && reply["cache-control"] == nil)
    }
  }

  private struct Session: RouterMiddleware {
    typealias Context = BasicRequestContext

    let fields: HTTPFields

    func handle(
      _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
      var response = try await next(request, context)
      for field in fields { response.headers[field.name] = field.value }
      return response
    }
  }

  @Test(
    "What a middleware in front of the group adds counts: cookies, or another restriction",
    arguments: [[.setCookie: "id=1"], [.cacheControl: "private"]] as [HTTPFields],
    [(CacheSharing.anonymous, nil), (.public, nil), (.anonymous, .noStore), (.public, .noCache)]
      as [(CacheSharing, CacheRestriction?)])
  func middlewares(fields: HTTPFields, declaration: (CacheSharing, CacheRestriction?)) async throws {
    setting.router.add(middleware: Session(fields: fields))
    setting.router.group()
      .caching(.seconds(60), sharing: declaration.0, sharedMaxAge: .seconds(60), clients: declaration.1)
      .get("a") { _, _ in Response("a") }
    try await setting.run { server in
      for _ in 0..<2 {
        let reply = try await server.send(.get, "/a")
        #expect(!reply.isHit && reply[Self.ownField] == nil)
        for field in fields { #expect(reply[field.name.canonicalName] == field.value) }
      }
    }
  }

  @Test("Without a cache, a declaration is for clients")
  func withoutCache() async throws {
    let router = Router()
    router.group().caching(.seconds(60), clients: .noCache).get("a") { _, _ in Response("a") }
    try await Server.run(router.buildResponder()) { server in
      let reply = try await server.send(.get, "/a")
      #expect(reply["cache-control"] == "no-cache")
      #expect(reply[Self.ownField] == nil)
    }
  }

  // MARK: - For the server only

  private static let ownField = "HTTPCacheEngine-Cache-Control"

  @Test(
    "A response for the server only is stored, and clients are told not to",
    arguments: [nil, 4, 1 << 20] as [Int?])
  func serverOnly(length: Int?) async throws {
    setting.router.get("a") { [runs] _, _ in
      runs.next()
      let count = length ?? 4
      let body = ResponseBody(contentLength: length) { writer in
        try await writer.write(ByteBuffer(repeating: 0x61, count: count))
        try await writer.finish(nil)
      }
      return Response(status: .ok, headers: [.eTag: "\"1\""], body: body)
        .caching(.public, maxAge: .seconds(60), clients: .noStore)
    }
    try await setting.run { server in
      let requests: [(HTTPRequest.Method, [(String, String)], Int)] = [
        (.get, [], 200), (.get, [], 200), (.head, [], 200), (.get, [("if-none-match", "\"1\"")], 304),
        (.get, [("range", "bytes=0-1")], 206),
      ]
      for (index, (method, fields, status)) in requests.enumerated() {
        let reply = try await server.send(method, "/a", fields)
        #expect(reply.status == status && reply.isHit == (index > 0))
        if status != 206 || index > 0 { #expect(reply["cache-control"] == "no-store") }
        #expect(reply[Self.ownField] == nil)
      }
      #expect(runs.count == 1)
    }
  }

  @Test("What is not stored does not show it either", arguments: [nil, 4] as [Int?])
  func serverOnlyRefused(length: Int?) async throws {
    setting.router.get("a") { _, _ in
      let body = ResponseBody(contentLength: length) { writer in
        try await writer.write(ByteBuffer(string: "aaaa"))
        try await writer.finish(nil)
      }
      return Response(status: .ok, body: body).caching(.anonymous, maxAge: .seconds(60), clients: .noStore)
    }
    try await setting.run { server in
      let reply = try await server.send(.get, "/a", [("authorization", "Basic YTpi")])
      #expect(reply.text == "aaaa" && reply["cache-control"] == "no-store")
      #expect(reply[Self.ownField] == nil)
    }
  }

  @Test("Its times are those of the cache: stale while revalidated, and after errors")
  func serverOnlyStale() async throws {
    let fails = Runs()
    setting.router.get("a") { [runs] _, _ -> Response in
      if fails.count > 0 { throw HTTPError(.serviceUnavailable) }
      return Response("\(runs.next())").caching(
        .public, maxAge: .seconds(60), staleWhileRevalidate: .seconds(60), staleIfError: .seconds(600),
        clients: .noStore)
    }
    try await setting.run { server in
      try await server.send(.get, "/a")
      setting.clock.advance(seconds: 90)
      let stale = try await server.send(.get, "/a")
      #expect(stale.text == "1" && stale["cache-control"] == "no-store")
      try await setting.cache.fetches.emptied()
      let fresh = try await server.send(.get, "/a")
      #expect(fresh.text == "2" && fresh.isHit)
      _ = fails.next()
      setting.clock.advance(seconds: 300)
      let instead = try await server.send(.get, "/a")
      #expect(instead.status == 200 && instead.text == "2")
    }
  }

  @Test("A 304 that repeats nothing keeps the response for the server only")
  func serverOnlyNotModified() async throws {
    setting.router.get("a") { [runs] request, _ -> Response in
      runs.next()
      if try request.isCurrent(etag: "1") { return .notModified }
      return Response("a").caching(.public, maxAge: .seconds(60), clients: .noStore)
    }
    try await setting.run { server in
      for run in 1...3 {
        let first = try await server.send(.get, "/a")
        #expect(first.status == 200 && first.text == "a" && first["cache-control"] == "no-store")
        #expect(first[Self.ownField] == nil)
        #expect(runs.count == run)
        let second = try await server.send(.get, "/a")
        #expect(second.isHit && runs.count == run)
        setting.clock.advance(seconds: 90)
      }
    }
  }

  @Test("Cookies keep a response from the store", arguments: [CacheSharing.anonymous, .public])
  func serverOnlyCookies(sharing: CacheSharing) async throws {
    setting.router.get("a") { _, _ in
      Response("a", .ok, [.setCookie: "id=1"]).caching(sharing, maxAge: .seconds(60), clients: .noStore)
    }
    try await setting.run { server in
      for _ in 0..<2 {
        let reply = try await server.send(.get, "/a")
        #expect(!reply.isHit)
      }
    }
  }

  @Test(
    "A 304 with another restriction, or with cookies, counts",
    arguments: [[.cacheControl: "no-store"], [.cacheControl: "private"], [.setCookie: "id=1"]] as [HTTPFields]
  )
  func serverOnlyRestricted(fields: HTTPFields) async throws {
    setting.router.get("a") { request, _ -> Response in
      if try request.isCurrent(etag: "1") { return Response(status: .notModified, headers: fields) }
      return Response("a").caching(.public, maxAge: .seconds(60), clients: .noStore)
    }
    try await setting.run { server in
      try await server.send(.get, "/a")
      setting.clock.advance(seconds: 90)
      for _ in 0..<2 {
        let reply = try await server.send(.get, "/a")
        #expect(!reply.isHit && reply.text == "a")
        #expect(reply[Self.ownField] == nil)
      }
    }
  }

  // MARK: - Rules of the cache

  @Test("Rules of the cache by path count for routes, and what a handler says goes first")
  func rules() async throws {
    let rules = try CacheRules([
      CacheRule(paths: ["/products/*"]) { $0.defaultLifetime = .seconds(60) },
      CacheRule(paths: ["/private/*"]) { $0.isBypassed = true },
    ])
    let setting = try Setting { $0.cacheRules = rules }.caching()
    setting.router.get("products/:id") { _, context in
      context.parameters.get("id") == "1"
        ? Response("a") : Response("b").caching(.public, maxAge: .seconds(5), clients: .noStore)
    }
    setting.router.get("private/1") { _, _ in Response("c").caching(.public, maxAge: .seconds(60)) }
    try await setting.run { server in
      for (path, isHit, isHitLater) in [
        ("/products/1", true, true), ("/products/2", true, false), ("/private/1", false, false),
      ] {
        try await server.send(.get, path)
        let second = try await server.send(.get, path)
        #expect(second.isHit == isHit)
        setting.clock.advance(seconds: 10)
        let third = try await server.send(.get, path)
        #expect(third.isHit == isHitLater)
      }
    }
  }
}
