// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Loopback
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import HTTPCacheAsyncHTTPClient

@Suite("Redirects through a cache with AsyncHTTPClient", .timeLimit(.minutes(10)))
struct RedirectTests {
  private static func redirect(
    _ status: Int = 301, to location: String, _ cacheControl: String = "max-age=60"
  ) -> LoopbackOrigin.Response {
    .init(status: status, fields: [.location: location, .cacheControl: cacheControl], body: "moved")
  }

  @Test("Each hop is answered by the cache, and the history lists all of them")
  func hops() async throws {
    try await Fixture.with { request in
      switch request.target {
      case "/1": Self.redirect(to: "/2")
      case "/2": Self.redirect(302, to: "3", "max-age=10")
      default: .fresh("end", [.eTag: "\"1\""])
      }
    } test: { (fixture: Fixture) async throws in
      #expect(try await fixture.get("/1") == .init(source: .network, body: "end"))
      #expect(try await fixture.get("/1") == .init(source: .hit, body: "end"))
      #expect(fixture.origin.requestCount == 3)
      fixture.clock.advance(seconds: 11)
      let response = try await fixture.client.execute(fixture.request("/1"), timeout: .minutes(4))
      #expect(response.url?.path == "/3")
      #expect(response.history.map(\.responseHead.status.code) == [301, 302, 200])
      #expect(fixture.origin.requests.map(\.target) == ["/1", "/2", "/3", "/2"])
      _ = try await response.body.collect(upTo: 10)
    }
  }

  @Test("Without redirects, a redirect is the answer, and is stored")
  func disallowed() async throws {
    try await Fixture.with(redirects: nil) { _ in
      Self.redirect(to: "/2")
    } test: { (fixture: Fixture) async throws in
      #expect(try await fixture.get("/1") == .init(source: .network, status: 301, body: "moved"))
      #expect(try await fixture.get("/1") == .init(source: .hit, status: 301, body: "moved"))
    }
  }

  @Test("The rules for redirects decide, and not the configuration", arguments: [false, true])
  func configuration(isFollowed: Bool) async throws {
    try await Fixture.with(
      redirects: isFollowed ? .follow(max: 5) : nil,
      configure: {
        $0.redirectConfiguration = isFollowed ? .disallow : .follow(max: 5, allowCycles: false)
      }
    ) { request in
      request.target == "/1" ? Self.redirect(to: "/2") : .fresh("end")
    } test: { (fixture: Fixture) async throws in
      #expect(try await fixture.get("/1").status == (isFollowed ? 200 : 301))
    }
  }

  @Test("Redirects of a request that bypasses the cache are followed without it")
  func bypassed() async throws {
    var options = CachingHTTPClient.Options()
    options.shouldIntercept = { !$0.url.hasSuffix("/1") }
    try await Fixture.with(options: options) { request in
      request.target == "/1" ? Self.redirect(to: "/2") : .fresh("end")
    } test: { (fixture: Fixture) async throws in
      for _ in 0..<2 { #expect(try await fixture.get("/1") == .init(source: nil, body: "end")) }
      #expect(fixture.origin.requestCount == 4)
    }
  }

  @Test("The limit and the rule for cycles hold, for stored redirects too")
  func limits() async throws {
    try await Fixture.with(redirects: .follow(max: 3)) { request in
      switch request.target {
      case "/cycle": return Self.redirect(to: "/back")
      case "/back": return Self.redirect(to: "/cycle")
      default:
        let number = Int(request.target.dropFirst()) ?? 0
        return number == 0 ? .fresh("end") : Self.redirect(to: "/\(number - 1)")
      }
    } test: { (fixture: Fixture) async throws in
      for _ in 0..<2 {
        #expect(try await fixture.get("/3").body == "end")
        await #expect(throws: HTTPClientError.redirectLimitReached) { try await fixture.get("/4") }
        await #expect(throws: HTTPClientError.redirectCycleDetected) { try await fixture.get("/cycle") }
      }
    }
  }

  @Test(
    "Method and content of the next request follow the status",
    arguments: [
      (301, HTTPMethod.POST, "GET 0"), (302, .POST, "GET 0"), (303, .POST, "GET 0"), (307, .POST, "POST 3"),
      (308, .POST, "POST 3"), (302, .PUT, "PUT 3"), (303, .HEAD, "HEAD 0"),
    ])
  func methods(status: Int, method: HTTPMethod, expected: String) async throws {
    try await Fixture.with(options: Self.resending) { request in
      request.target == "/1" ? Self.redirect(status, to: "/2", "no-store") : .init(body: "a")
    } test: { (fixture: Fixture) async throws in
      var request = fixture.request("/1", [("Content-Type", "text/plain"), ("Authorization", "Basic x")])
      request.method = method
      if method != .HEAD { request.body = .bytes(ByteBuffer(string: "abc")) }
      _ = try await fixture.answer(to: request)
      let last = try #require(fixture.origin.requests.last)
      #expect("\(last.method) \(last.body.count)" == expected)
      #expect(last.fields[.authorization] == "Basic x")
      #expect((last.fields[.contentType] == nil) == (expected == "GET 0"))
    }
  }

  private static var resending: CachingHTTPClient.Options {
    var options = CachingHTTPClient.Options()
    options.canResendContent = { _ in true }
    return options
  }

  @Test(
    "A redirect that would need content again is the answer, unless the content is in memory",
    arguments: [
      (false, .bytes(ByteBuffer(string: "abcdef")), 307, 1),
      (true, .bytes(ByteBuffer(string: "abcdef")), 200, 2), (true, .bytes(Array("abcdef".utf8)), 200, 2),
      (true, .stream(AsyncBuffers(buffers: [ByteBuffer(string: "abcdef")]), length: .unknown), 200, 2),
      (false, stream, 307, 1), (true, stream, 307, 1),
    ] as [(Bool, HTTPClientRequest.Body, UInt, Int)])
  func content(canResend: Bool, body: HTTPClientRequest.Body, status: UInt, count: Int) async throws {
    try await Fixture.with(options: canResend ? Self.resending : .init()) { request in
      request.target == "/1" ? Self.redirect(307, to: "/2", "no-store") : .init(body: "a")
    } test: { (fixture: Fixture) async throws in
      var request = fixture.request("/1")
      request.method = .POST
      request.body = body
      #expect(try await fixture.answer(to: request).status == status)
      #expect(fixture.origin.requests.map(\.body) == Array(repeating: Array("abcdef".utf8), count: count))
    }
  }

  private static var stream: HTTPClientRequest.Body {
    .stream(
      AsyncBuffers(buffers: ["abc", "def"].map { ByteBuffer(string: $0) }), length: .known(6 as Int64))
  }

  @Test("Credentials do not follow a redirect to another origin")
  func credentials() async throws {
    let other = try await LoopbackOrigin.start { request in
      .init(body: (request.fields[.authorization] ?? "none") + (request.fields[.cookie] ?? "none"))
    }
    let url = other.url("/")
    try await Fixture.with { _ in
      Self.redirect(to: url)
    } test: { (fixture: Fixture) async throws in
      let answer = try await fixture.get("/", [("Authorization", "Basic x"), ("Cookie", "a=b")])
      #expect(answer.body == "nonenone")
    }
    await other.stop()
  }

  @Test(
    "A redirect to another scheme, or without a location, is the answer",
    arguments: ["ftp://a.example/", nil])
  func elsewhere(location: String?) async throws {
    try await Fixture.with { _ in
      var fields: HTTPFields = [:]
      fields[.location] = location
      return .init(status: 302, fields: fields)
    } test: { (fixture: Fixture) async throws in
      #expect(try await fixture.get("/").status == 302)
    }
  }
}
