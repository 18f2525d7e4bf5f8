// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheHummingbird
import HTTPTypes
import Hummingbird
import NIOHTTP1
import TestSupport
import Testing

@Suite("Options and helpers", .timeLimit(.minutes(10)))
struct OptionTests {
  @Test("Partitions have nothing in common")
  func partition() async throws {
    let (setting, runs) = (
      try Setting().caching(partition: { request, _ in request.headers[.from] }), Runs()
    )
    setting.router.get("a") { _, _ in
      Response("\(runs.next())").caching(.public, maxAge: .seconds(60), groups: ["a"])
    }
    setting.router.post("change") { _, context in
      try context.cache.invalidate(group: "a")
      return Response("")
    }
    try await setting.run { server in
      for _ in 1...2 {
        let one = try await server.send(.get, "/a", [("from", "one")])
        #expect(one.text == "1")
        let two = try await server.send(.get, "/a", [("from", "two")])
        #expect(two.text == "2")
      }
      try await server.send(.post, "/change", [("from", "one")])
      let one = try await server.send(.get, "/a", [("from", "one")])
      #expect(one.text == "3")
      let two = try await server.send(.get, "/a", [("from", "two")])
      #expect(two.text == "2")
    }
  }

  @Test("A request that is not intercepted leaves no trace")
  func shouldIntercept() async throws {
    let setting = try Setting().caching(shouldIntercept: { request, _ in request.uri.path != "/a" })
    setting.router.get("a") { _, _ in Response("a").caching(.public, maxAge: .seconds(60)) }
    try await setting.run { server in
      for _ in 1...2 {
        let reply = try await server.send(.get, "/a")
        #expect(!reply.fields.contains(name: "cache-status"))
      }
    }
  }

  @Test(
    "With a public origin, all hosts share responses, and handlers see no other host")
  func publicOrigin() async throws {
    let (setting, runs) = (try Setting().caching(publicOrigin: "https://shop.example"), Runs())
    setting.router.get("a") { request, _ in
      Response("\(runs.next()) \(request.head.authority ?? "")")
        .caching(.public, maxAge: .seconds(60), groups: ["a"])
    }
    setting.router.post("change") { request, context in
      #expect(request.head.authority == "shop.example")
      let cache = try context.cache
      switch request.headers[.from] {
      case "group": cache.invalidate(group: "a")
      case "path": #expect(cache.invalidate("/a") == 1)
      case "url": #expect(cache.invalidate("https://shop.example/a") == 1)
      case "all": cache.invalidateAll()
      // The response names what has changed, as clients know it (RFC 9111 §4.4).
      default: return Response("", .created, [.location: "https://shop.example/a"])
      }
      return Response("")
    }
    try await setting.run { server in
      for (index, way) in ["group", "path", "url", "all", "location"].enumerated() {
        for host in ["a.example", "b.example", "127.0.0.1:8080"] {
          let reply = try await server.send(.get, "/a", [("host", host)])
          #expect(reply.text == "\(index + 1) shop.example", "\(way)")
        }
        try await server.send(.post, "/change", [("host", "b.example"), ("from", way)])
      }
    }
  }

  @Test(
    "A revalidation in the background has the key of the public origin, and the client's host until the cache"
  )
  func revalidatedForPublicOrigin() async throws {
    let (setting, runs) = (try Setting(), Runs())
    let hosts = Recorder<String?>()
    setting.router.add(middleware: HostMiddleware(hosts: hosts))
    setting.caching(publicOrigin: "https://shop.example")
    // One more of the same cache, which says nothing of the origin.
    setting.caching(validator: .none)
    setting.router.get("a") { _, _ in
      Response("\(runs.next())").caching(
        .public, maxAge: .seconds(1), staleWhileRevalidate: .seconds(60))
    }
    try await setting.run { server in
      try await server.send(.get, "/a", [("host", "a.example")])
      setting.clock.advance(seconds: 10)
      let stale = try await server.send(.get, "/a", [("host", "b.example")])
      #expect(stale.text == "1")
      try await runs.reached(2)
      #expect(hosts.all == ["a.example", "b.example", "b.example"])
      let url = try #require(TargetURI(absolute: "https://shop.example/a"))
      #expect(setting.cache.remove(.target(url)).count == 1)
    }
  }

  /// Records the hosts of all requests.
  private struct HostMiddleware: RouterMiddleware {
    let hosts: Recorder<String?>

    func handle(
      _ request: Request, context: BasicRequestContext,
      next: (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
      hosts.add(request.head.authority)
      return try await next(request, context)
    }
  }

  @Test("A request without Host has a key, too")
  func defaultAuthority() async throws {
    let (setting, runs) = (try Setting().caching(defaultAuthority: "a.example"), Runs())
    setting.router.get("a") { _, _ in Response("\(runs.next())").caching(.public, maxAge: .seconds(60)) }
    let responder = setting.router.buildResponder()
    let context = try await TestContext.make()
    for authority in [nil, "a.example", nil] {
      let head = HTTPRequest(method: .get, scheme: "http", authority: authority, path: "/a")
      _ = try await responder.respond(
        to: Request(head: head, body: .init(buffer: ByteBuffer())), context: context)
    }
    #expect(runs.count == 1)
  }

  @Test("A second middleware of the same cache only sets the validator")
  func nested() async throws {
    let (setting, runs) = (try Setting().caching(), Runs())
    setting.router.group("inner").add(middleware: CacheMiddleware(cache: setting.cache, validator: .none))
      .get("a") { _, _ in Response("\(runs.next())").caching(.public, maxAge: .seconds(60)) }
    setting.router.get("outer") { _, _ in Response("").caching(.public, maxAge: .seconds(60)) }
    try await setting.run { server in
      for _ in 1...2 {
        let reply = try await server.send(.get, "/inner/a")
        #expect(reply.text == "1")
        #expect(reply["etag"] == nil)
        #expect(reply.fields["cache-status"].count == 1)
      }
    }
  }

  @Test("Two caches, one behind the other, both store")
  func twoCaches() async throws {
    let (setting, second, runs) = (try Setting().caching(), try Setting(), Runs())
    setting.router.add(middleware: CacheMiddleware(cache: second.cache))
    setting.router.get("a") { _, _ in
      Response("\(runs.next())").caching(.public, maxAge: .seconds(60), staleWhileRevalidate: .seconds(60))
    }
    try await setting.run { server in
      for _ in 1...2 {
        let reply = try await server.send(.get, "/a")
        #expect(reply.text == "1")
      }
      setting.clock.advance(seconds: 90)
      second.clock.advance(seconds: 90)
      try await server.send(.get, "/a")
      try await setting.cache.fetches.emptied()
      try await second.cache.fetches.emptied()
      let reply = try await server.send(.get, "/a")
      #expect(reply.text == "2")
      setting.cache.remove(.all)
      let second = try await server.send(.get, "/a")
      #expect(second.text == "2")
      #expect(runs.count == 2)
    }
  }

  @Test("A context of another type works, and is revalidated in the background")
  func otherContext() async throws {
    struct Child: ChildRequestContext {
      var coreContext: CoreRequestContextStorage
      init(context: BasicRequestContext) { coreContext = .init(source: context) }
    }
    let (setting, runs) = (try Setting(), Runs())
    setting.router.group("child", context: Child.self).add(middleware: CacheMiddleware(cache: setting.cache))
      .get("a") { _, _ in
        Response("\(runs.next())").caching(
          .public, maxAge: .seconds(60), staleWhileRevalidate: .seconds(60))
      }
    try await setting.run { server in
      try await server.send(.get, "/child/a")
      setting.clock.advance(seconds: 90)
      let stale = try await server.send(.get, "/child/a")
      #expect(stale.text == "1")
      try await setting.cache.fetches.emptied()
      let fresh = try await server.send(.get, "/child/a")
      #expect(fresh.text == "2")
    }
  }

  @Test("A private cache is refused: it would give one user's responses to the next")
  func privateCache() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let cache = try HTTPCache(.init(kind: .private))
      _ = CacheMiddleware<BasicRequestContext>(cache: cache)
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("HTTPCache.Configuration(kind: .shared)"))
  }

  @Test("The helper writes the fields")
  func helper() throws {
    var response = Response("a", .ok, [.vary: "accept, Origin"])
    response.cache(
      .public, maxAge: .seconds(60), sharedMaxAge: .milliseconds(1999), staleWhileRevalidate: .seconds(600),
      staleIfError: .seconds(86_400), directives: [.immutable, .noTransform],
      vary: [.accept, .acceptLanguage],
      groups: ["a", "b \"c\" \\ ü"])
    #expect(
      response.headers[.cacheControl]
        == "public, max-age=60, s-maxage=2, stale-while-revalidate=600, stale-if-error=86400, immutable, no-transform"
    )
    #expect(response.headers[.vary] == "accept, Origin, Accept-Language")
    let name = try #require(HTTPField.Name("Cache-Groups"))
    #expect(response.headers[name] == #""a", "b \"c\" \\ %C3%BC""#)
    response.cache(.noStore, groups: ["d"])
    #expect(response.headers[.cacheControl] == "no-store")
    #expect(response.headers[name] == #""a", "b \"c\" \\ %C3%BC", "d""#)
    #expect(
      Response("").caching(.noCache, directives: [.noTransform]).headers[.cacheControl]
        == "no-cache, no-transform")
  }

  @Test(
    "Times are whole seconds, rounded up",
    arguments: [
      (.seconds(-1), 0), (.milliseconds(-500), 0), (.zero, 0), (.nanoseconds(1), 1), (.milliseconds(500), 1),
      (.seconds(1), 1), (.milliseconds(1001), 2),
    ] as [(Duration, Int)])
  func times(time: Duration, seconds: Int) {
    #expect(
      Response("").caching(.private, maxAge: time).headers[.cacheControl] == "private, max-age=\(seconds)")
  }
}
