// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheProxy
import HTTPCaching
import NIOCore
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Warming the cache", .timeLimit(.minutes(10)))
struct WarmingTests {
  /// What `GET /warm` says.
  private struct Report: Decodable, Equatable {
    struct Problem: Decodable, Equatable { var url: String, reason: String }
    var list: UInt32, waiting: Int, running: Int, stored: Int, fresh: Int, notStored: Int, failed: Int,
      dropped: Int
    var problems: [Problem]
  }

  /// Answers by the path: a status, or `private`, `late` until a gate opens, `vary` by `Accept-Encoding`, or a page.
  private static func answering(_ requests: Recorder<String>, _ gate: Gate) -> RawOrigin.Answering {
    { request, connection in
      requests.add(request)
      let path = request.split(separator: " ").dropFirst().first.map(String.init) ?? ""
      switch path {
      case "/private": try await connection.send(ok("mine", "Cache-Control: private\r\n"))
      case "/404", "/503":
        try await connection.send("HTTP/1.1 \(path.dropFirst()) X\r\nContent-Length: 0\r\n\r\n")
      case "/gone": return false
      case let path where path.hasPrefix("/late"):
        await gate.pass()
        try await connection.send(ok("late", "Cache-Control: max-age=600\r\n"))
      case "/vary":
        let coding = request.split(separator: "\r\n").first { $0.lowercased().hasPrefix("accept-encoding: ") }
        try await connection.send(
          ok("\(coding ?? "none")", "Cache-Control: max-age=600\r\nVary: Accept-Encoding, Cookie\r\n"))
      default:
        try await connection.send(ok("page \(path)", "Cache-Control: max-age=600\r\nCache-Groups: \"t\"\r\n"))
      }
      return true
    }
  }

  private static func withProxy(
    _ configure: @escaping (inout ProxyConfiguration) -> Void = { _ in },
    _ body: (ProxyFixture, Recorder<String>, Gate) async throws -> Void
  ) async throws {
    let (requests, gate) = (Recorder<String>(), Gate())
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
      configure(&$0)
    } origin: { request, connection in
      try await answering(requests, gate)(request, &connection)
    } _: { proxy in
      defer { gate.open() }
      try await body(proxy, requests, gate)
    }
  }

  private static func report(_ proxy: ProxyFixture) async throws -> Report {
    let answer = try await proxy.ask("GET /warm", "Accept: application/json\r\n")
    let content = answer.split(separator: "\r\n\r\n", maxSplits: 1).last ?? ""
    return try JSONDecoder().decode(Report.self, from: Data(content.utf8))
  }

  private static func untilOver(_ proxy: ProxyFixture) async throws -> Report {
    var last = try await report(proxy)
    try await eventually {
      last = try await report(proxy)
      return last.waiting == 0 && last.running == 0
    }
    return last
  }

  private static func post(_ proxy: ProxyFixture, _ target: String, _ content: String) async throws -> String
  {
    try await RawClient.connect(to: proxy.adminPort).exchange(
      "POST \(target) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(content.utf8.count)\r\nConnection: close\r\n\r\n\(content)"
    )
  }

  @Test("URLs are loaded as clients request them, and every result is counted")
  func loads() async throws {
    try await Self.withProxy { proxy, requests, _ in
      _ = try await proxy.get("/known")
      let paths = ["/a", "/b?c=d", "/known", "/private", "/404", "/503", "/gone", "/a"]
      let urls = paths.map { "http://a.example\($0)" }.joined(separator: "\r\n")
      let answer = try await Self.post(
        proxy, "/warm?rate=1000&header=Accept-Language:%20de&header=X-Test:a%3Ab", urls + "\n")
      expect(answer, startsWith: "HTTP/1.1 202 ")
      expect(answer, contains: "8 URLs: ")
      let report = try await Self.untilOver(proxy)
      #expect(report.stored == 2 && report.fresh == 2 && report.notStored == 1 && report.failed == 3)
      #expect(
        report.problems.map(\.url).sorted() == [4, 5, 6, 3].map { "http://a.example\(paths[$0])" }.sorted())
      for problem in report.problems {
        switch problem.url {
        case "http://a.example/404": #expect(problem.reason == "the status is 404")
        case "http://a.example/private": #expect(problem.reason.contains("private"))
        default: #expect(!problem.reason.isEmpty)
        }
      }
      // The origin gets what clients' requests have, too.
      let request = try #require(requests.all.first { $0.hasPrefix("GET /b?c=d ") })
      for line in [
        "Host: a.example", "X-Forwarded-Host: a.example", "X-Forwarded-For: 127.0.0.1", "Accept-Language: de",
        "X-Test: a:b",
      ] { #expect(request.contains("\r\n\(line)\r\n"), "\(request)") }

      let before = requests.all.count
      for path in ["/a", "/b?c=d"] { expect(try await proxy.get(path), contains: "test; hit") }
      #expect(requests.all.count == before)
      // Only clients' requests are counted as such.
      let metrics = try await proxy.ask("GET /metrics")
      expect(metrics, contains: "\nhttpcache_requests_total{outcome=\"hit\",status=\"2xx\"} 2\n")
      expect(metrics, contains: "\nhttpcache_requests_total{outcome=\"network\",status=\"2xx\"} 1\n")
      expect(metrics, contains: "\nhttpcache_warming_urls{state=\"stored\"} 2\n")
      expect(try await proxy.ask("GET /status"), contains: "2 stored, 2 fresh, 1 notStored, 3 failed")
      expect(try await proxy.ask("GET /status", "Accept: application/json\r\n"), contains: "\"failed\":3")
      expect(try await proxy.ask("GET /warm"), contains: "http://a.example/404: the status is 404\n")
      // Nothing of the requests is left.
      try await eventually {
        let metrics = try await proxy.ask("GET /metrics")
        return ["httpcache_transit_bytes 0", "httpcache_origin_waiting_requests 0"].allSatisfy {
          metrics.contains("\n\($0)\n")
        }
      }
    }
  }

  @Test(
    "What a purge removes is loaded again, in each variant that was stored and that no secret selects",
    arguments: [
      ("prefix=http://a.example/", 4, 1), ("glob=http://a.example/*", 4, 1),
      ("url=http://a.example/vary", 2, 1),
      ("all", 4, 1), ("host=a.example", 4, 1), ("tag=t", 2, 0), ("prefix=http://a.example/&soft", 4, 1),
      ("url=http://a.example/nothing", 0, 0), ("tag=nothing", 0, 0),
    ])
  func purged(query: String, count: Int, left: Int) async throws {
    try await Self.withProxy { proxy, requests, _ in
      for path in ["/a", "/b"] { _ = try await proxy.get(path) }
      for coding in ["gzip", "br"] { _ = try await proxy.get("/vary", "Accept-Encoding: \(coding)\r\n") }
      _ = try await proxy.get("/vary", "Cookie: a=1\r\n")
      let before = requests.all.count
      let answer = try await proxy.ask("POST /purge?\(query)&warm&rate=500", "Accept: application/json\r\n")
      expect(answer, startsWith: "HTTP/1.1 200 ")
      expect(answer, contains: "\"reloading\":{\"requests\":\(count),\"left\":\(left),\"isPart\":false}")
      let report = try await Self.untilOver(proxy)
      #expect(report.stored == count && report.problems.isEmpty)
      #expect(requests.all.count == before + count)
      #expect(!requests.all[before...].contains { $0.contains("\r\nCookie:") })
      guard count > 0, !query.hasPrefix("tag") else { return }
      for coding in ["gzip", "br"] {
        let answer = try await proxy.get("/vary", "Accept-Encoding: \(coding)\r\n")
        expect(answer, contains: "test; hit")
        expect(answer, endsWith: "ncoding: \(coding)")
      }
      #expect(requests.all.count == before + count)
    }
  }

  @Test(
    "A request that means nothing gets the reason, and loads nothing",
    arguments: [
      ("/warm", "", "expected at least one URL."),
      (
        "/warm?url=http://a.example/&url=https://a.example/", "",
        "the request target has a scheme that is not served here"
      ),
      ("/warm", "http://a.example/\nftp://b.example/\n", "unknown parameter 'ftp://b.example/'."),
      ("/warm?url=/a", "", "found '/a': it is not an absolute URL."),
      ("/warm?url=http://", "", "found 'http://': "),
      ("/warm?url=http://u:p@a.example/", "", "does not name a host"),
      ("/warm?url=http://a.example/%0d%0aX:%201", "", "it has a blank or a control character."),
      ("/warm?url=http://a.example/%20a", "", "found 'http://a.example/ a': "),
      ("/warm?url=http://a.example/&header=a", "", "header: expected NAME:VALUE, found 'a'."),
      ("/warm?url=http://a.example/&header=a%20b:c", "", "header: expected NAME:VALUE, found 'a b:c'."),
      (
        "/warm?url=http://a.example/&header=a:b%0d%0ac:d", "",
        "header: expected NAME:VALUE in UTF-8 and without control characters, found 'a:b"
      ),
      ("/warm?url=http://a.example/&header=Content-Length:5", "", "must have neither content nor Upgrade"),
      (
        "/warm?url=http://a.example/&header=Transfer-Encoding:chunked", "",
        "must have neither content nor Upgrade"
      ),
      ("/warm?url=http://a.example/&header=Host:b.example", "", "header: the request has more than one Host"),
      (
        "/warm?url=http://a.example/&rate=0", "",
        "rate: expected 0.1 to 1000 requests per second, found '0'."
      ),
      ("/warm?url=http://a.example/&rate=nan", "", "rate: expected"),
      ("/warm?all", "", "unknown parameter 'all'."),
      ("/purge?all&rate=5", "", "rate: add warm, or remove it."),
      ("/purge?warm", "", "expected url, prefix,"),
      ("/purge?all&warm=0", "", "warm: expected no value"),
    ])
  func invalid(target: String, content: String, reason: String) async throws {
    try await Self.withProxy { proxy, requests, _ in
      let answer = try await Self.post(proxy, target, content)
      expect(answer, startsWith: "HTTP/1.1 400 ")
      expect(answer, contains: reason)
      expect(try await proxy.ask("GET /warm"), endsWith: "No URLs have been loaded.\n")
      #expect(requests.all.isEmpty)
    }
  }

  @Test("A URL of no site is refused, and each other goes to the origin of its site")
  func sites() async throws {
    try await Self.withProxy {
      $0.sites = [
        .init(name: "shop", hosts: ["shop.example"], origin: $0.origin),
        .init(name: "blog", hosts: ["*.blog.example"], paths: ["/b"], origin: $0.origin),
      ]
    } _: { proxy, requests, _ in
      expect(
        try await proxy.ask("POST /warm?url=http://shop.example/&url=http://else.example/"),
        contains: "no site is configured for this host and path")
      _ = try await proxy.ask("POST /warm?url=http://SHOP.example:80/a%23b&url=http://x.blog.example/b/c")
      #expect(try await Self.untilOver(proxy).stored == 2)
      #expect(
        requests.all.map { String($0.prefix { $0 != "\r\n" }) }.sorted() == [
          "GET /a HTTP/1.1", "GET /b/c HTTP/1.1",
        ])
      let metrics = try await proxy.ask("GET /metrics")
      for site in ["shop", "blog"] {
        expect(metrics, contains: "\nhttpcache_origin_requests_total{site=\"\(site)\"} 1\n")
      }
    }
  }

  @Test("A URL whose site goes while it waits is not loaded")
  func siteGoes() async throws {
    try await Self.withProxy {
      $0.sites = [
        .init(name: "shop", hosts: ["shop.example"], origin: $0.origin),
        .init(name: "blog", hosts: ["blog.example"], origin: $0.origin),
      ]
    } _: { proxy, requests, gate in
      // As many as are sent at once wait for the origin, and the last one for them.
      let running = WarmingList.concurrency
      let urls = (1...running).map { "http://shop.example/late?\($0)" } + ["http://blog.example/"]
      _ = try await Self.post(proxy, "/warm?rate=1000", urls.joined(separator: "\n"))
      try await requests.reach(running)
      var configuration = proxy.proxy.configuration
      configuration.sites.removeLast()
      try proxy.proxy.update(configuration)
      gate.open()
      let report = try await Self.untilOver(proxy)
      #expect(report.stored == running && report.failed == 1 && requests.all.count == running)
      #expect(
        report.problems == [
          .init(
            url: "http://blog.example/",
            reason: "no site is configured for this host and path (RFC 9110 §15.5.20)")
        ])
    }
  }

  @Test("The rest is given up on request, and when the proxy stops")
  func ends() async throws {
    try await Self.withProxy { proxy, requests, gate in
      let urls = (0..<100).map { "http://a.example/\($0 == 0 ? "late" : "\($0)")" }.joined(separator: "\n")
      _ = try await Self.post(proxy, "/warm?rate=0.1", urls)
      try await requests.reach(1)
      // On a busy machine, the second request may have been sent.
      let answer = try await proxy.ask("DELETE /warm")
      let count = try #require(
        answer.firstMatch(of: /Gave up (\d+) URLs that waited/).flatMap { Int($0.output.1) })
      #expect((90...99).contains(count))
      gate.open()
      let report = try await Self.untilOver(proxy)
      #expect(report.stored == 100 - count && report.dropped == count && report.problems.isEmpty)
    }
  }

  @Test("A list that is over goes on under its number, and not under another one")
  func continues() async throws {
    try await Self.withProxy { proxy, _, _ in
      _ = try await proxy.ask("POST /warm?url=http://a.example/1&rate=1000")
      let first = try await Self.untilOver(proxy)
      for (list, status) in [(first.list, 202), (first.list ^ 1, 409)] {
        expect(
          try await proxy.ask("POST /warm?url=http://a.example/2&list=\(list)"),
          startsWith: "HTTP/1.1 \(status) ")
      }
      let second = try await Self.untilOver(proxy)
      #expect(second.stored == 2 && second.list == first.list)
      _ = try await proxy.ask("POST /warm?url=http://a.example/3")
      let third = try await Self.untilOver(proxy)
      #expect(third.stored == 1 && third.list != first.list)
    }
  }

  @Test(
    "What is stale is asked of the origin, and is not in the cache if that does not answer",
    arguments: [true, false], ["stale-while-revalidate=600", "stale-if-error=600", ""])
  func stale(answers: Bool, directive: String) async throws {
    let requests = Recorder<String>()
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
    } origin: { request, connection in
      let isFirst = requests.add(request) == 1
      guard isFirst || answers else { return false }
      let fields = "Cache-Control: max-age=600, \(directive)\r\nETag: \"1\"\r\n"
      try await connection.send(isFirst ? ok("page", fields) : "HTTP/1.1 304 Not Modified\r\n\(fields)\r\n")
      return true
    } _: { proxy in
      _ = try await proxy.get("/")
      _ = try await proxy.ask("POST /purge?all&soft&warm&rate=1000")
      let report = try await Self.untilOver(proxy)
      #expect(report.stored == (answers ? 1 : 0) && report.failed == (answers ? 0 : 1), "\(report)")
      #expect(report.fresh == 0 && requests.all.count > 1)
    }
  }

  @Test("What changes the cache needs the token, and does not come from a page of another site")
  func access() async throws {
    for token in [nil, "secret"] {
      try await Self.withProxy {
        $0.adminToken = token
      } _: { proxy, requests, _ in
        for line in ["POST /warm?url=http://a.example/", "DELETE /warm", "POST /purge?all&warm"] {
          let refused = token == nil ? "Origin: http://else.example\r\n" : "Authorization: Bearer wrong\r\n"
          expect(try await proxy.ask(line, refused), startsWith: "HTTP/1.1 \(token == nil ? 403 : 401) ")
        }
        #expect(requests.all.isEmpty)
        expect(try await proxy.ask("PUT /warm"), startsWith: "HTTP/1.1 405 ")
        let field = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        let urls = "url=http://a.example/&url=http://a.example/404"
        expect(try await proxy.ask("POST /warm?\(urls)", field), startsWith: "HTTP/1.1 202 ")
        let report = try await Self.untilOver(proxy)
        // Others do not see the URLs.
        #expect(report.stored == 1 && report.failed == 1 && report.problems.isEmpty == (token != nil))
        expect(try await proxy.ask("GET /warm", field), contains: "http://a.example/404")
      }
    }
  }
}
