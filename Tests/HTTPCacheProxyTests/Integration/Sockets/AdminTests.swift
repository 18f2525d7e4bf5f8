// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheProxy
import Logging
import NIOCore
import TestSupport
import Testing

@Suite("The admin port", .timeLimit(.minutes(10)))
struct AdminTests {
  private static let answering: RawOrigin.Answering = { _, connection in
    try await connection.send(
      ok(
        "hello",
        """
        Cache-Control: max-age=3600\r
        Cache-Groups: "g", "gr%C3%B6%C3%9Fe", "two words", "a+b", "100%25"\r
        Cache-Tag: t 1, %FF\r

        """))
    return true
  }

  @Test("The admin port reports metrics, status and health")
  func tells() async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
    } origin: { request, connection in
      try await Self.answering(request, &connection)
    } _: { proxy in
      for _ in 1...3 { _ = try await proxy.get("/") }
      let metrics = try await proxy.ask("GET /metrics")
      #expect(metrics.contains("\nhttpcache_requests_total{outcome=\"hit\",status=\"2xx\"} 2\n"))
      #expect(metrics.contains("\nhttpcache_origin_requests_total 1\n"))
      #expect(metrics.contains("\nhttpcache_stored_total 1\n"))
      #expect(metrics.contains("\nhttpcache_stored_bytes_total 5\n"))
      #expect(metrics.contains("\nhttpcache_latency_seconds_count 3\n"))
      for kind in ["fetch", "transfer", "reader", "writer", "client_connection", "origin_connection"] {
        #expect(metrics.contains("\nhttpcache_live_objects{kind=\"\(kind)\"} "))
      }
      #expect(metrics.contains("\nhttpcache_transit_bytes 0\n"))
      let page = try await proxy.ask("GET /status")
      #expect(page.contains("66.6%"))
      #expect(!page.contains("<script"))
      expect(try await proxy.ask("GET /health"), endsWith: "ok\n")
      expect(try await proxy.ask("GET /else"), startsWith: "HTTP/1.1 404 ")
      expect(try await proxy.ask("GET /purge?all"), startsWith: "HTTP/1.1 405 ")
    }
  }

  @Test(
    "The status is JSON for programs; with a token, only its holders see the configuration",
    arguments: [nil, "secret"])
  func statusReport(token: String?) async throws {
    struct Report: Decodable {
      struct Server: Decodable { var name: String, isAvailable: Bool, connectionLimit: Int, requests: Int }
      struct Figures: Decodable {
        var requests: [String: Int], hitRatio: Double?, latency: [String: Double?], originRequests: Int
        var stored: Int, notStored: [String: Int]
      }
      struct Site: Decodable { var name: String, servers: [Server], last: Figures, total: Figures }
      struct Setting: Decodable, Equatable { var site: String?, name: String, value: String, place: String? }
      var version: String, isStopping: Bool, sites: [Site], notStored: [String: Int],
        configuration: [Setting]?
    }
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
      $0.adminToken = token
    } origin: { request, connection in
      if request.contains("/stored") { return try await Self.answering(request, &connection) }
      try await connection.send(ok("x", "Cache-Control: no-store\r\n"))
      return true
    } _: { proxy in
      proxy.proxy.show([
        .init(name: "name", value: "a \"b\" \\ \u{1}<ü>"),
        .init(site: "s", name: "origin", value: "http://a", place: "p.yaml:3"),
      ])
      for path in ["/stored", "/stored", "/"] { _ = try await proxy.get(path) }
      func report(_ fields: String) async throws -> Report {
        let answer = try await proxy.ask("GET /status", "Accept: application/json\r\n" + fields)
        expect(answer, contains: "\r\nContent-Type: application/json\r\n")
        let text = answer[(answer.firstRange(of: "\r\n\r\n")?.upperBound ?? answer.endIndex)...]
        return try JSONDecoder().decode(Report.self, from: Data(text.utf8))
      }
      let open = try await report("")
      #expect(!open.isStopping && open.notStored == ["responseNoStore": 1] && open.sites.count == 1)
      #expect(open.sites[0].total.notStored == open.notStored && open.sites[0].total.stored == 1)
      #expect(open.sites[0].total.requests["hit"] == 1 && open.sites[0].total.requests["network"] == 2)
      #expect(
        open.sites[0].total.hitRatio.map { Int($0 * 100) } == 33 && open.sites[0].total.originRequests == 2)
      #expect(open.sites[0].servers.map(\.requests) == [2] && open.sites[0].servers[0].isAvailable)
      #expect((open.configuration == nil) == (token != nil))
      let page = try await proxy.ask("GET /status?configuration")
      expect(page, startsWith: token == nil ? "HTTP/1.1 200 " : "HTTP/1.1 404 ")
      let authorization = "Authorization: Bearer secret\r\n"
      let own = try await report(token == nil ? "" : authorization)
      #expect(
        own.configuration == [
          .init(site: nil, name: "name", value: "a \"b\" \\ \u{1}<ü>", place: nil),
          .init(site: "s", name: "origin", value: "http://a", place: "p.yaml:3"),
        ])
      let table = try await proxy.ask("GET /status?configuration", authorization)
      expect(table, contains: "<td>s: origin</td><td>http://a</td><td>p.yaml:3</td>")
      expect(table, contains: "\u{1}&lt;ü></td><td>default</td>")
      #expect(!table.contains("http-equiv"))
      expect(
        try await proxy.ask("GET /status"),
        contains: "<tr><td>not stored: responseNoStore</td><td>1</td><td>1</td></tr>")
    }
  }

  @Test(
    "A purged response is refetched",
    arguments: [
      "url=http://a.example/", "url=http%3A%2F%2Fa.example%2F", "group=g&url=http://a.example/", "all",
    ])
  func purges(what: String) async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
    } origin: { request, connection in
      try await Self.answering(request, &connection)
    } _: { proxy in
      _ = try await proxy.get("/")
      #expect(try await proxy.get("/").contains("test; hit"))
      expect(try await proxy.ask("POST /purge?\(what)"), startsWith: "HTTP/1.1 200 ")
      let again = try await proxy.get("/")
      #expect(!again.contains("test; hit"))
    }
  }

  /// A purge with some content, and the last line of its answer.
  private func purge(
    _ proxy: ProxyFixture, _ query: String, content: String = "", _ fields: String = ""
  ) async throws -> String {
    let answer = try await RawClient.connect(to: proxy.adminPort).exchange(
      """
      POST /purge\(query) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(content.utf8.count)\r\n\
      Connection: close\r\n\(fields)\r\n\(content)
      """)
    return answer.split(separator: "\r\n\r\n", maxSplits: 1).last.map { String($0) } ?? ""
  }

  @Test("A purge reports the number of responses it removed, and removes no others")
  func purgeCounts() async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
    } rules: {
      $0.tagFields = ["Cache-Tag"]
    } origin: { request, connection in
      try await Self.answering(request, &connection)
    } _: { proxy in
      let paths = ["/1", "/2", "/i/1.css", "/i/2.css", "/i/3.png"]
      let url = "http://a.example"
      for (query, content, purged) in [
        ("?url=\(url)/1&url=\(url)/2&url=\(url)/none", "", ["/1", "/2"]),
        ("", "\(url)/1\r\n\(url)/i/1.css\n\n", ["/1", "/i/1.css"]),
        ("?glob=*.png", "\(url)/2", ["/2", "/i/3.png"]),
        ("", "url=\(url)/1&prefix=\(url)/i/", ["/1", "/i/1.css", "/i/2.css", "/i/3.png"]),
        ("?glob=\(url)/i/%2A.css", "", ["/i/1.css", "/i/2.css"]),
        ("?prefix=HTTP://A.Example:80/i/2", "", ["/i/2.css"]),
        ("?group=g&url=\(url)/", "", paths), ("?group=gr%C3%B6%C3%9Fe&url=\(url)/", "", paths),
        ("?group=two+words&url=\(url)/", "", paths), ("", "group=two%20words&url=\(url)/", paths),
        ("?group=a%2Bb&url=\(url)/", "", paths), ("?group=a+b&url=\(url)/", "", []),
        ("?group=100%2525&url=\(url)/", "", paths), ("?group=100%25&url=\(url)/", "", []),
        ("?group=none&url=\(url)/", "", []), ("?tag=none&tag=g", "", paths),
        ("?tag=t+1&host=a.example", "", paths),
        ("?tag=t%201&origin=\(url)/x", "", paths), ("?tag=t+1&host=b.example", "", []),
        ("?host=a.example", "", paths),
        ("", "tag=t+1\ntag=other", paths), ("?tag=%25FF", "", paths), ("?tag=t%2B1", "", []),
        ("?group=g&origin=http://b.example/", "", []),
        ("?group=g&url=http://b.example/", "", []), ("?all", "", paths), ("?all=1", "", paths),
        ("?group=g", "", paths), ("?origin=\(url)/none", "", paths), ("?origin=http://b.example/", "", []),
        ("?since=0", "", paths), ("?since=99999999999", "", []),
        ("", "origin=http://b.example/\norigin=\(url)/\n", paths),
        ("", "url=\(url)/1\r\n\(url)/2\r\n", ["/1", "/2"]),
      ] as [(String, String, [String])] {
        for path in paths { _ = try await proxy.get(path) }
        let isCounted =
          query == "?group=g" || !(query + content).contains(/group|origin|host/)
        let responses =
          isCounted ? purged.count == 1 ? "1 response" : "\(purged.count) responses" : "the responses"
        #expect(try await purge(proxy, query, content: content) == "Removed \(responses).\n", "\(query)")
        for path in paths {
          let isHit = try await proxy.get(path).contains("test; hit")
          #expect(isHit == !purged.contains(path), "\(query) \(path)")
        }
      }
      #expect(
        try await purge(proxy, "?group=g&url=\(url)/", "Accept: application/json\r\n")
          == "{\"purged\":null,\"soft\":false}\n")
      for path in paths { _ = try await proxy.get(path) }
      #expect(
        try await purge(proxy, "?all", "Accept: application/json\r\n") == "{\"purged\":5,\"soft\":false}\n")
    }
  }

  @Test("A softly purged response is revalidated, or served stale in the meantime")
  func softPurge() async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
    } origin: { request, connection in
      let isValidation = request.contains("If-None-Match: \"1\"")
      let stale = request.contains("GET /swr") ? ", stale-while-revalidate=3600" : ""
      let fields = "Cache-Control: max-age=3600\(stale)\r\nETag: \"1\"\r\nCache-Groups: \"g\"\r\n"
      try await connection.send(
        isValidation ? "HTTP/1.1 304 Not Modified\r\n\(fields)\r\n" : ok("hello", fields))
      return true
    } _: { proxy in
      for query in [
        "?all&soft", "?soft=1&url=http://a.example/1&url=http://a.example/swr", "?glob=*&soft=true",
        "?soft&prefix=http://a.example/", "?group=g&url=http://a.example/&soft", "?group=g&soft",
        "?origin=http://a.example/&soft", "?since=0&soft",
      ] {
        for path in ["/1", "/swr"] {
          _ = try await proxy.get(path)
          #expect(try await proxy.get(path).contains("test; hit"))
        }
        #expect(try await purge(proxy, query) == "Marked 2 responses stale.\n")
        let count = proxy.origin.requests.count
        #expect(try await proxy.get("/1").contains("fwd=stale"))
        #expect(proxy.origin.requests.count == count + 1)
        let stale = try await proxy.get("/swr")
        #expect(stale.contains("test; hit") && stale.hasSuffix("hello"))
        // The revalidation in the background.
        await proxy.origin.arrived(count + 2)
      }
    }
  }

  private static func tags(_ count: Int) -> String {
    (0..<count).map { "tag=\($0)" }.joined(separator: "&")
  }

  @Test(
    "An invalid purge reports the error and purges nothing",
    arguments: [
      ("?all=0", ""), ("?all=false", ""), ("?all&url=http://a.example/", ""), ("?soft=0&all", ""), ("", ""),
      ("?soft", ""), ("?url=ftp://a.example/", ""), ("?url=a.example/", ""), ("?url=http:///", ""),
      ("?url=", ""), ("?url=http://a:b@a.example/", ""), ("?url=http://a@a.example/", ""),
      ("?url=http://@a.example/", ""), ("?url=http://a:b@%CC%81a.example/", ""),
      ("?prefix=http://a:b@a.example/", ""), ("", "http://a:b@a.example/\n"),
      ("?group=g&url=http://a:b@a.example/", ""), ("?url=http://a.example/&url=ftp://a.example/", ""),
      ("?glob=", ""), ("?prefix=", ""),
      ("?group=g&all", ""), ("?origin=a.example", ""), ("?origin=", ""), ("?since=", ""), ("?since=-1", ""),
      ("?since=yesterday", ""), ("?since=0&all", ""), ("?since=%2B5", ""),
      ("?since=0&url=http://a.example/", ""), ("?since=0", "http://a.example/"),
      ("?host=", ""), ("?host=http://a.example", ""), ("?tag=", ""), ("?tag=a&prefix=http://a.example/", ""),
      ("?host=a@a.example", ""), ("?\(tags(1001))", ""),
      ("?soft&host=a.example&\(tags(101))", ""),
      ("?host=a.example&host=b.example&\(tags(501))", ""),
      ("", "group=g\ngarbage"), ("", "origin=http://a.example/\n%zz"), ("?group=&url=http://a.example/", ""),
      ("?group=g&url=http://a.example/&glob=*", ""),
      ("?group=50%&url=http://a.example/", ""), ("?group=50%2&url=http://a.example/", ""),
      ("?group=%+1&url=http://a.example/", ""), ("?url=http://a.example/%zz", ""), ("?%=", ""),
      ("?url=http://a.example/a%20b", ""), ("", "all=1&\u{301}soft=2"),
      ("", "group=%C3%&url=http://a.example/"),
      ("?All", ""), ("", "http://a.example/\nftp://a.example/\n"), ("", "nonsense"), ("?all", "glob=*"),
      ("?glob=" + String(repeating: "a", count: 2001), ""),
      ("", (0...1000).map { "http://a.example/\($0)\n" }.joined()),
      ("?" + (0...100).map { "glob=*\($0)" }.joined(separator: "&"), ""),
    ] as [(String, String)])
  func wrongPurges(query: String, content: String) async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
    } origin: { request, connection in
      try await Self.answering(request, &connection)
    } _: { proxy in
      _ = try await proxy.get("/")
      let answer = try await RawClient.connect(to: proxy.adminPort).exchange(
        """
        POST /purge\(query) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(content.utf8.count)\r\n\
        Connection: close\r\n\r\n\(content)
        """)
      expect(answer, startsWith: "HTTP/1.1 400 ")
      #expect(answer.contains("POST /purge?url="))
      #expect(try await proxy.get("/").contains("test; hit"))
    }
  }

  @Test("Purging requires the configured token, and requests from web pages are refused")
  func token() async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
      $0.adminToken = "secret"
    } origin: { request, connection in
      try await Self.answering(request, &connection)
    } _: { proxy in
      expect(try await proxy.ask("POST /purge?all"), startsWith: "HTTP/1.1 401 ")
      for (authorization, status) in [
        ("Bearer secret", 200), ("bearer secret", 200), ("BEARER   secret", 200), ("Bearer secre", 401),
        ("Bearer secrets", 401), ("Bearer Secret", 401), ("Bearer", 401), ("Bearersecret", 401),
        ("secret", 401), ("Basic secret", 401), ("Bearer\tsecret", 401), ("Bearer secret secret", 401),
        ("Bearer secret\u{300}", 401), ("", 401),
      ] {
        expect(
          try await proxy.ask("POST /purge?all", "Authorization: \(authorization)\r\n"),
          startsWith: "HTTP/1.1 \(status) ")
      }
    }
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
    } origin: { request, connection in
      try await Self.answering(request, &connection)
    } _: { proxy in
      expect(
        try await proxy.ask("POST /purge?all", "Origin: http://evil.example\r\n"),
        startsWith: "HTTP/1.1 403 ")
      expect(try await proxy.ask("POST /purge?nothing"), startsWith: "HTTP/1.1 400 ")
    }
  }

  private static let health = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"

  /// What 64 clients have sent that keep their connections.
  @Test(
    "The admin port limits request content, and serves a probe however many connections are idle",
    arguments: [
      "", "GET /health HT", "POST /purge?all HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
      health,
    ])
  func limits(request: String) async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
    } origin: { request, connection in
      try await Self.answering(request, &connection)
    } _: { proxy in
      let count = (1 << 20) + 1
      let content = String(repeating: "a", count: count)
      let large =
        "POST /purge?all HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(count)\r\n\r\n\(content)"
      let answer = try await RawClient.connect(to: proxy.adminPort).exchange(large)
      #expect(answer.hasPrefix("HTTP/1.1 413 "))
      let port = proxy.adminPort
      try await withThrowingTaskGroup(of: Void.self) { group in
        let done = Gate()
        for _ in 1...64 {
          let isServed = Gate()
          group.addTask {
            try await RawClient.connect(to: port).talk { conversation in
              try await conversation.send(request)
              if request == Self.health { await conversation.read(until: "ok\n") }
              isServed.open()
              await done.pass()
            }
          }
          await isServed.pass()
        }
        for _ in 1...3 {
          let probe = try await RawClient.connect(to: port).exchange(
            Self.health.replacing("\r\n\r\n", with: "\r\nConnection: close\r\n\r\n"))
          expect(probe, endsWith: "ok\n")
        }
        done.open()
        try await group.waitForAll()
      }
    }
  }
}
