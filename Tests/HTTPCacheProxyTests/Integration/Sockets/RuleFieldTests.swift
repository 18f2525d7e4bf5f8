// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import HTTPCaching
import Loopback
import TestSupport
import Testing

@Suite("Fields that rules set and remove, in each kind of response", .timeLimit(.minutes(10)))
struct RuleFieldTests {
  /// A rule that excludes users, and one that protects all responses.
  private static func rules() throws -> CacheRules {
    try CacheRules([
      CacheRule {
        $0.match.cookies = ["session"]
        $0.isBypassed = true
      },
      CacheRule {
        $0.removedCookies = .all
        $0.removedRequestFields = ["X-Original-URL", "Authorization", "If-None-Match"]
        $0.setResponseFields = [
          .init("X-Frame-Options", "DENY"), .init("Cache-Control", "max-age=60"),
          .init("Content-Type", "text/html"),
          .init("CDN-Cache-Control", "max-age=60"), .init("Cache-Groups", "\"a\""),
        ]
        $0.removedResponseFields = ["Proxy-Status", "Set-Cookie", "ETag"]
      },
      CacheRule(paths: ["/other/*"]) { $0.setResponseFields = [.init("X-Other", "1")] },
    ])
  }

  /// A request that the proxy answers itself.
  struct Case: Sendable, CustomTestStringConvertible {
    var line: String
    var fields = ""
    var status: Int
    /// Whether it can be read, so that rules match it.
    var isReadable = true

    var testDescription: String { "\(status) \(line)" }
  }

  private static let cases = [
    Case(line: "GET /fail", status: 502), Case(line: "HEAD /fail", status: 502),
    Case(line: "GET /fail", fields: "Cookie: session=1\r\n", status: 502),
    Case(line: "GET /new", fields: "Cache-Control: only-if-cached\r\n", status: 504),
    Case(line: "PURGE /a", status: 403), Case(line: "OPTIONS /", fields: "Max-Forwards: 0\r\n", status: 204),
    Case(line: "TRACE /", fields: "Max-Forwards: 0\r\n", status: 200),
    Case(line: "POST /a", fields: "Content-Length: 99999999\r\n", status: 413),
    Case(line: "CONNECT a:1", status: 501, isReadable: false),
    Case(line: "GET /#a", status: 400, isReadable: false),
  ]

  private static func run(_ body: (ProxyFixture) async throws -> Void) async throws {
    try await ProxyFixture.run {
      $0.limits.requestBytes = 1000
      $0.http2 = .always
    } cache: {
      $0.cacheRules = (try? rules()) ?? CacheRules()
    } origin: { request, connection in
      if request.contains(" /fail ") { return false }
      try await connection.send(
        ok("text", "ETag: \"a\"\r\nSet-Cookie: session=2\r\nServer: b\r\nCache-Control: private\r\n"))
      return true
    } _: {
      try await body($0)
    }
  }

  /// Checks a response of the proxy to a case, by its fields in lowercase.
  private func check(_ head: String, _ expected: Case) {
    let head = head.lowercased()
    #expect(head.contains("\r\nx-frame-options: deny\r\n") == expected.isReadable, "\(head)")
    // Only its own type says how its text is read, and an error stays out of all caches.
    #expect(
      !head.contains("text/html") && !head.contains("max-age=60") && !head.contains("cache-groups"), "\(head)"
    )
    #expect(head.contains("\r\ncache-control: no-store\r\n") == (expected.status >= 400), "\(head)")
    #expect(!head.contains("x-other"), "\(head)")
  }

  @Test("What the proxy makes has them, but for those about caching and its own type", arguments: cases)
  func generated(expected: Case) async throws {
    try await Self.run { (proxy: ProxyFixture) async throws in
      let answer = try await proxy.exchange(
        "\(expected.line) HTTP/1.1\r\nHost: a.example\r\n\(expected.fields)Connection: close\r\n\r\n")
      expect(answer, startsWith: "HTTP/1.1 \(expected.status) ")
      check(answer, expected)
    }
  }

  @Test(
    "The same over HTTP/2", arguments: cases.filter { $0.isReadable && !$0.fields.contains("Content-Length") }
  )
  func generatedHTTP2(expected: Case) async throws {
    try await Self.run { (proxy: ProxyFixture) async throws in
      let client = try await HTTP2Client.connect(port: proxy.port)
      let words = expected.line.split(separator: " ")
      let fields = expected.fields.split(separator: "\r\n").map { line in
        let parts = line.split(separator: ":", maxSplits: 1)
        return (parts[0].lowercased(), String(parts[1].dropFirst()))
      }
      let answer = try await client.send(
        HTTP2Client.request(String(words[1]), method: String(words[0]), fields))
      #expect(answer.status == expected.status)
      check(
        "\r\n" + (answer.fields?.map { "\($0.name): \($0.value)\r\n" }.joined() ?? ""), expected)
      await client.close()
    }
  }

  @Test("A rule by status and type sets fields on an error of the proxy that matches")
  func byStatus() async throws {
    try await Self.run { (proxy: ProxyFixture) async throws in
      proxy.proxy.cache.cacheRules = try CacheRules([
        CacheRule {
          $0.match.statuses = [500...599]
          $0.match.mediaTypes = ["text/plain"]
          $0.setResponseFields = [.init("X-Error", "1")]
        }
      ])
      for (fields, isError) in [
        ("", true), ("Cache-Control: only-if-cached\r\n", true), ("Max-Forwards: 0\r\n", false),
      ] {
        let answer = try await proxy.exchange(
          "\(isError ? "GET" : "TRACE") /fail HTTP/1.1\r\nHost: a\r\n\(fields)Connection: close\r\n\r\n")
        #expect(answer.contains("\r\nX-Error: 1\r\n") == isError, "\(answer)")
      }
    }
  }

  @Test(
    "A bypassed request loses the fields of a client that rules remove, and keeps its credentials",
    arguments: ["GET /a", "POST /a", "GET /upgrade"])
  func bypassed(line: String) async throws {
    try await Self.run { (proxy: ProxyFixture) async throws in
      let upgrade =
        line.hasSuffix("/upgrade") ? "Upgrade: x\r\nConnection: Upgrade\r\n" : "Connection: close\r\n"
      let answer = try await proxy.exchange(
        "\(line) HTTP/1.1\r\nHost: a.example\r\nCookie: session=1\r\nAuthorization: b\r\nX-Original-URL: /admin\r\n"
          + "If-None-Match: \"b\"\r\nContent-Length: 0\r\n\(upgrade)\r\n")
      expect(answer, startsWith: "HTTP/1.1 200 ")
      for line in ["Set-Cookie: session=2", "ETag: \"a\"", "X-Frame-Options: DENY", "Cache-Control: private"]
      {
        #expect(answer.contains("\r\n\(line)\r\n"), "\(answer)")
      }
      #expect(!answer.contains("max-age=60") && !answer.contains("Cache-Groups"), "\(answer)")
      let request = try #require(proxy.origin.requests.last)
      #expect(!request.contains("X-Original-URL"), "\(request)")
      for line in ["Cookie: session=1", "Authorization: b", "If-None-Match: \"b\""] {
        #expect(request.contains("\r\n\(line)\r\n"), "\(request)")
      }
    }
  }
}
