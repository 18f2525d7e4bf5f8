// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheHummingbird
import Hummingbird
import NIOHTTP1
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Stale responses", .timeLimit(.minutes(10)))
struct StaleTests {
  /// A route that is fresh for a minute, and usable for another while it is revalidated.
  private func setting(_ runs: Runs, _ gate: Gate? = nil) throws -> Setting {
    let setting = try Setting().caching()
    setting.router.get("a") { _, _ in
      let run = runs.next()
      if run > 1 { await gate?.wait() }
      return Response("\(run)").caching(
        .public, maxAge: .seconds(60), staleWhileRevalidate: .seconds(60))
    }
    return setting
  }

  @Test("With a caching responder, a stale response is served at once and revalidated in the background")
  func background() async throws {
    let (runs, gate) = (Runs(), Gate())
    let setting = try setting(runs, gate)
    try await setting.run { server in
      try await server.send(.get, "/a")
      setting.clock.advance(seconds: 90)
      let stale = try await server.send(.get, "/a")
      #expect(stale.text == "1")
      #expect(stale.isHit)
      await gate.arrived(1)
      #expect(try await server.send(.get, "/a").text == "1")
      gate.open()
      try await setting.cache.fetches.emptied()
      #expect(try await server.send(.get, "/a").text == "2")
      #expect(runs.count == 2)
    }
  }

  @Test("Without a caching responder, the request waits for the revalidation")
  func foreground() async throws {
    let runs = Runs()
    let setting = try setting(runs)
    try await setting.run(revalidates: false) { server in
      try await server.send(.get, "/a")
      setting.clock.advance(seconds: 90)
      let reply = try await server.send(.get, "/a")
      #expect(reply.text == "2")
      #expect(!reply.isHit)
    }
  }

  /// Sets a field in each response of the routes behind it, and counts these responses.
  private struct Outer: RouterMiddleware {
    typealias Context = BasicRequestContext
    let seen: Runs
    let answersRevalidations: Bool

    func handle(
      _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
      if answersRevalidations, request.headers.contains(.ifNoneMatch) { return Response("no", .forbidden) }
      var response = try await next(request, context)
      response.headers[.server] = "outer \(seen.next())"
      return response
    }
  }

  /// A cached route whose responses are their numbers, behind a middleware.
  private func setting(behind outer: Outer, _ runs: Runs) throws -> Setting {
    let setting = try Setting()
    setting.router.add(middleware: outer)
    setting.caching()
    setting.router.get("a") { _, _ in
      Response("\(runs.next())").caching(.public, maxAge: .seconds(60), staleWhileRevalidate: .seconds(60))
    }
    return setting
  }

  @Test("A revalidation passes through the middlewares before the cache, whose changes are not stored")
  func middlewares() async throws {
    let (runs, seen) = (Runs(), Runs())
    let setting = try setting(behind: Outer(seen: seen, answersRevalidations: false), runs)
    try await setting.run { server in
      try await server.send(.get, "/a")
      setting.clock.advance(seconds: 90)
      try await server.send(.get, "/a")
      try await setting.cache.fetches.emptied()
      let reply = try await server.send(.get, "/a")
      #expect(reply.text == "2")
      #expect(reply.fields["server"].count == 1)
      #expect(seen.count == 4)
    }
  }

  @Test("If a middleware answers the revalidation, the stored response stays")
  func intercepted() async throws {
    let (runs, seen) = (Runs(), Runs())
    let setting = try setting(behind: Outer(seen: seen, answersRevalidations: true), runs)
    try await setting.run { server in
      try await server.send(.get, "/a")
      setting.clock.advance(seconds: 90)
      #expect(try await server.send(.get, "/a").text == "1")
      try await setting.cache.fetches.emptied()
      #expect(try await server.send(.get, "/a").text == "1")
      try await setting.cache.fetches.emptied()
      #expect(runs.count == 1)
    }
  }

  private struct Broken: Error {}

  @Test(
    "A stale response replaces an error within stale-if-error, however the handler reports it",
    arguments: [0, 1, 2])
  func staleIfError(kind: Int) async throws {
    let (setting, runs) = (try Setting().caching(), Runs())
    setting.router.get("a") { _, _ in
      guard runs.next() > 1 else {
        return Response("1").caching(.public, maxAge: .seconds(60), staleIfError: .seconds(60))
      }
      switch kind {
      case 0: throw Broken()
      case 1: throw HTTPError(.serviceUnavailable)
      default: return Response("2", .badGateway)
      }
    }
    try await setting.run { server in
      try await server.send(.get, "/a")
      setting.clock.advance(seconds: 90)
      #expect(try await server.send(.get, "/a").text == "1")
      setting.clock.advance(seconds: 90)
      #expect(try await server.send(.get, "/a").status == [500, 503, 502][kind])
    }
  }

  @Test("A handler that no longer finds its page displaces the stored page", arguments: [true, false])
  func deleted(revalidates: Bool) async throws {
    let (setting, runs) = (try Setting().caching(), Runs())
    setting.router.get("a") { _, _ in
      switch runs.next() {
      case 1:
        return Response("1").caching(
          .public, maxAge: .seconds(60), staleWhileRevalidate: .seconds(600), staleIfError: .seconds(600))
      case 2, 3: throw HTTPError(.notFound)
      default: throw Broken()
      }
    }
    try await setting.run(revalidates: revalidates) { server in
      try await server.send(.get, "/a")
      setting.clock.advance(seconds: 90)
      #expect(try await server.send(.get, "/a").status == (revalidates ? 200 : 404))
      try await setting.cache.fetches.emptied()
      #expect(try await server.send(.get, "/a").status == 404)
      #expect(try await server.send(.get, "/a").status == 500)
    }
  }

  @Test("An error of the handler reaches the middlewares before the cache unchanged")
  func errors() async throws {
    struct Catching: RouterMiddleware {
      typealias Context = BasicRequestContext
      func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
      ) async throws -> Response {
        do {
          return try await next(request, context)
        } catch is Broken {
          return Response("broken", .badRequest)
        } catch let error as HTTPError {
          return Response("\(error.body ?? "")", error.status)
        }
      }
    }
    let setting = try Setting()
    setting.router.add(middleware: Catching())
    setting.caching()
    setting.router.get("broken") { _, _ -> Response in throw Broken() }
    setting.router.get("gone") { _, _ -> Response in throw HTTPError(.gone, message: "gone") }
    try await setting.run { server in
      let broken = try await server.send(.get, "/broken")
      #expect(broken.text == "broken")
      #expect(try await server.send(.get, "/gone").text == "gone")
      #expect(try await server.send(.get, "/nowhere").status == 404)
    }
  }

  @Test("An HTTP error with Cache-Control is stored")
  func storedError() async throws {
    let (setting, runs) = (try Setting().caching(), Runs())
    setting.router.get("a") { _, _ -> Response in
      runs.next()
      throw HTTPError(.notFound, headers: [.cacheControl: "max-age=60"], message: "none")
    }
    try await setting.run { server in
      for _ in 1...3 {
        let reply = try await server.send(.get, "/a")
        #expect(reply.status == 404)
        #expect(reply.text.contains("none"))
      }
      #expect(runs.count == 1)
    }
  }
}
