// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheProxy
import HTTPCaching
import HTTPTypes
import Loopback
import NIOCore
import NIOHPACK
import TestSupport
import Testing

@Suite("Sites: several hosts and origins of a proxy", .timeLimit(.minutes(10)))
struct SiteSocketTests {
  typealias Site = ProxyConfiguration.Site

  /// An origin that says its name, the host and the path. Nothing below /unstored may be stored.
  private static func named(_ name: String) -> RawOrigin.Answering {
    { request, connection in
      let host = request.split(separator: "\r\n").first { $0.hasPrefix("Host: ") } ?? ""
      let path = request.split(separator: " ").dropFirst().first ?? ""
      let control = path.contains("/unstored") ? "no-store" : "max-age=600"
      try await connection.send(ok("\(name) \(host) \(path)", "Cache-Control: \(control)\r\n"))
      return true
    }
  }

  /// Runs a proxy with the sites `shop` (shop.example), `api` (its paths below /api) and `blog` (*.blog.example).
  private static func withSites(
    _ configure: @escaping (inout ProxyConfiguration) -> Void = { _ in },
    _ body: (ProxyFixture, RawOrigin) async throws -> Void
  ) async throws {
    let blog = try await RawOrigin.start(named("blog"))
    try await ProxyFixture.run(
      {
        $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
        let shop = $0.origin
        var other = shop
        other.servers = [.init(host: "127.0.0.1", port: blog.port)]
        $0.sites = [
          Site(name: "shop", hosts: ["shop.example", "www.shop.example"], origin: shop),
          Site(name: "api", hosts: ["shop.example"], paths: ["/api"], origin: shop),
          Site(name: "blog", hosts: ["*.blog.example"], origin: other),
        ]
        configure(&$0)
      }, origin: named("shop")
    ) { try await body($0, blog) }
    await blog.stop()
  }

  private static func get(
    _ proxy: ProxyFixture, _ host: String, _ path: String = "/", method: String = "GET",
    version: String = "1.1",
    fields: String = ""
  ) async throws -> String {
    try await proxy.exchange(
      "\(method) \(path) HTTP/\(version)\r\n\(host.isEmpty ? "" : "Host: \(host)\r\n")\(fields)Connection: close\r\n\r\n"
    )
  }

  @Test(
    "A request goes to the origin of its site, whatever its form",
    arguments: [
      ("shop.example", "/", "shop Host: shop.example /"),
      ("SHOP.example:80", "/", "shop Host: shop.example /"),
      ("www.shop.example", "/api/1", "shop Host: www.shop.example /api/1"),
      ("a.blog.example:8080", "/x", "blog Host: a.blog.example:8080 /x"),
      // The host of an absolute target counts (RFC 9112 §3.2.2).
      ("nowhere.example", "http://a.blog.example/y", "blog Host: a.blog.example /y"),
    ])
  func routing(host: String, target: String, content: String) async throws {
    try await Self.withSites { proxy, _ in
      for _ in 1...2 {
        let answer = try await Self.get(proxy, host, target)
        expect(answer, startsWith: "HTTP/1.1 200 ")
        expect(answer, endsWith: "\r\n\r\n" + content)
      }
    }
  }

  @Test(
    "A request of no site gets 421, on a connection that serves others; with a site for the rest it is answered"
  )
  func unknown() async throws {
    try await Self.withSites { proxy, _ in
      let client = try await RawClient.connect(to: proxy.port)
      let answers = try await client.exchange(
        """
        GET /1 HTTP/1.1\r\nHost: a.blog.example\r\n\r\nGET /2 HTTP/1.1\r\nHost: shop.example\r\n\r\nGET /3 HTTP/1.1\r
        Host: blog.example\r\nConnection: close\r\n\r\n
        """)
      expect(answers, contains: "blog Host: a.blog.example /1")
      expect(answers, contains: "shop Host: shop.example /2")
      expect(answers, contains: "HTTP/1.1 421 ")
      // Without a host (HTTP/1.0) there is no site either.
      expect(try await Self.get(proxy, "", version: "1.0"), startsWith: "HTTP/1.1 421 ")
      let metrics = try await proxy.ask("GET /metrics")
      expect(metrics, contains: "\nhttpcache_requests_total{outcome=\"refused\",status=\"4xx\"} 2\n")
      var configuration = proxy.proxy.configuration
      configuration.sites.append(Site(name: "rest", origin: configuration.sites[2].origin))
      try proxy.proxy.update(configuration)
      expect(try await Self.get(proxy, "blog.example", "/4"), endsWith: "blog Host: blog.example /4")
      // The host of its origin is that of another site, which does not matter.
      configuration.sites[0].hosts.append("127.0.0.1")
      try proxy.proxy.update(configuration)
      let port = configuration.sites[2].origin.servers[0].description
      expect(try await Self.get(proxy, "", "/5", version: "1.0"), endsWith: "blog Host: \(port) /5")
      // So does one with a part of all hosts.
      configuration.sites[3].paths = ["/part"]
      try proxy.proxy.update(configuration)
      expect(try await Self.get(proxy, "", "/part", version: "1.0"), endsWith: "blog Host: \(port) /part")
      expect(try await Self.get(proxy, "", "/6", version: "1.0"), startsWith: "HTTP/1.1 421 ")
    }
  }

  @Test(
    "A request of any form goes to its site; without one it gets 421, and no origin gets it",
    arguments: [
      "GET / HTTP/1.1\r\n\r\n", "HEAD / HTTP/1.1\r\n\r\n", "OPTIONS * HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nRange: bytes=0-0\r\nIf-Range: \"x\"\r\n\r\n",
      "DELETE / HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nwork",
      "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwork\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nwork",
    ])
  func forms(text: String) async throws {
    try await Self.withSites { proxy, blog in
      func ask(_ host: String) async throws -> String {
        let fields = "\r\nHost: \(host)\r\nConnection: close"
        let end = try #require(text.firstRange(of: "\r\n"))
        return try await proxy.exchange(text.replacingCharacters(in: end, with: fields + "\r\n"))
      }
      let refused = try await ask("else.example")
      expect(refused, startsWith: "HTTP/1.1 421 ")
      #expect(blog.requests.isEmpty && proxy.origin.requests.isEmpty)
      expect(try await ask("a.blog.example"), contains: "HTTP/1.1 200 ")
      #expect(blog.requests.count { $0.contains(" HTTP/1.1\r\n") } == 1 && proxy.origin.requests.isEmpty)
    }
  }

  @Test("A request for another protocol goes to its site, and without one no further")
  func upgrade() async throws {
    let switching = try await RawOrigin.start { _, connection in
      try await connection.send(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\nhello")
      return false
    }
    try await Self.withSites {
      $0.sites.append(
        Site(name: "chat", hosts: ["chat.example"], origin: .init(host: "127.0.0.1", port: switching.port)))
    } _: { proxy, _ in
      func ask(_ host: String) async throws -> String {
        try await proxy.exchange(
          "GET / HTTP/1.1\r\nHost: \(host)\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n")
      }
      expect(try await ask("else.example"), startsWith: "HTTP/1.1 421 ")
      #expect(switching.requests.isEmpty)
      let answer = try await ask("chat.example")
      expect(answer, startsWith: "HTTP/1.1 101 ")
      expect(answer, endsWith: "hello")
    }
    await switching.stop()
  }

  @Test("Requests on one connection of HTTP/2 go to the sites of their hosts")
  func http2() async throws {
    try await Self.withSites {
      $0.http2 = .always
    } _: { proxy, _ in
      let client = try await HTTP2Client.connect(port: proxy.port)
      for (host, content) in [
        ("shop.example", "shop Host: shop.example /"), ("a.blog.example", "blog Host: a.blog.example /"),
        ("blog.example", nil), ("www.shop.example", "shop Host: www.shop.example /"),
      ] as [(String, String?)] {
        var fields = HTTP2Client.request("/")
        fields.replaceOrAdd(name: ":authority", value: host)
        let answer = try await client.send(fields)
        #expect(answer.status == (content == nil ? 421 : 200))
        if let content { #expect(String(decoding: answer.body, as: UTF8.self) == content) }
      }
      await client.close()
    }
  }

  @Test("Metrics, the status page and the access log tell the sites apart")
  func figures() async throws {
    try await withTemporaryDirectory { directory in
      let file = directory.appending("access.log").string
      try await Self.withSites {
        $0.accessLog = ProxyConfiguration.AccessLogOptions(.file(file), format: .json)
      } _: { proxy, _ in
        for (host, target) in [
          ("shop.example", "/1"), ("shop.example", "/1"), ("shop.example", "/api"), ("a.blog.example", "/1"),
          ("else.example", "/1"),
        ] { _ = try await Self.get(proxy, host, target) }
        let metrics = try await proxy.ask("GET /metrics")
        for line in [
          "httpcache_requests_total{outcome=\"hit\",status=\"2xx\",site=\"shop\"} 1",
          "httpcache_requests_total{outcome=\"network\",status=\"2xx\",site=\"api\"} 1",
          "httpcache_requests_total{outcome=\"hit\",status=\"2xx\",site=\"blog\"} 0",
          "httpcache_requests_total{outcome=\"refused\",status=\"4xx\"} 1",
          "httpcache_origin_requests_total{site=\"shop\"} 1",
          "httpcache_latency_seconds_count{site=\"shop\"} 2",
          "httpcache_origin_latency_seconds_count{site=\"blog\"} 1",
          "httpcache_origin_available{site=\"api\"} 1",
          "httpcache_origin_refused_total{reason=\"limit\",site=\"blog\"} 0",
        ] { expect(metrics, contains: "\n\(line)\n") }
        let page = try await proxy.ask("GET /status")
        expect(page, contains: "<a href=\"?site=api\">api</a>")
        expect(page, contains: "<h1>httpcache in front of 3 sites</h1>")
        let shop = try await proxy.ask("GET /status?site=shop")
        expect(shop, contains: "<tr><td>hit</td><td>1</td><td>1</td></tr>")
        #expect(!shop.contains("?site="))
        expect(try await proxy.ask("GET /status?site=nothing"), startsWith: "HTTP/1.1 404 ")
      }
      // The proxy has ended, and so the log is written.
      let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
      #expect(lines.count == 5)
      for (line, site) in zip(lines, ["shop", "shop", "api", "blog"]) {
        #expect(line.contains("\"site\":\"\(site)\""), "\(line)")
      }
      #expect(lines.last?.contains("\"site\"") == false)
    }
  }

  @Test("What became of responses is counted for their site")
  func storage() async throws {
    try await Self.withSites { proxy, _ in
      for (host, path) in [
        ("shop.example", "/"), ("SHOP.example:80", "/2"), ("shop.example", "/%61pi/1"),
        ("a.blog.example", "/unstored"),
        ("nowhere.example", "http://b.blog.example/unstored"), ("else.example", "/"),
      ] { _ = try await Self.get(proxy, host, path) }
      _ = try await Self.get(proxy, "shop.example", "/2", method: "DELETE")
      let counts = [
        "stored_total{site=\"shop\"} 2", "stored_total{site=\"api\"} 1", "stored_total{site=\"blog\"} 0",
        "stored_total 0", "not_stored_total{reason=\"responseNoStore\",site=\"blog\"} 2",
        "invalidated_total{site=\"shop\"} 1", "invalidated_total{site=\"blog\"} 0", "invalidated_total 0",
        "stored_bytes_total{site=\"api\"} \("shop Host: shop.example /%61pi/1".utf8.count)",
      ]
      // A response may be stored a moment after its client has it.
      try await eventually {
        let lines = Set(try await proxy.ask("GET /metrics").split(separator: "\n"))
        return counts.allSatisfy { lines.contains("httpcache_\($0)") }
      }
      let row = "<tr><td>not stored: responseNoStore</td><td>2</td><td>2</td></tr>"
      for query in ["", "?site=blog"] { expect(try await proxy.ask("GET /status\(query)"), contains: row) }
      #expect(!(try await proxy.ask("GET /status?site=shop")).contains("responseNoStore"))
    }
  }

  @Test(
    "A purge of a site removes its responses only",
    arguments: [("shop", [0, 1]), ("api", [2]), ("blog", [3])])
  func purge(site: String, gone: [Int]) async throws {
    try await Self.withSites { proxy, _ in
      let requests = [
        ("shop.example", "/1"), ("www.shop.example", "/api"), ("shop.example", "/api"),
        ("a.blog.example", "/api"),
      ]
      for (host, path) in requests { _ = try await Self.get(proxy, host, path) }
      let count = gone.count == 1 ? "1 response" : "\(gone.count) responses"
      expect(try await proxy.ask("POST /purge?site=\(site)"), endsWith: "Removed \(count).\n")
      for (index, (host, path)) in requests.enumerated() {
        let answer = try await Self.get(proxy, host, path)
        #expect(answer.contains("Cache-Status: test; hit") == !gone.contains(index), "\(answer)")
      }
      for (query, text) in [
        ("site=else", "site: expected one of shop, api, blog, found 'else'."),
        ("site=", "site: expected one of shop, api, blog, found ''."),
        ("site=shop&tag=a", "site cannot be combined with other parameters than soft, warm and rate."),
        ("site=shop&site=api", "site cannot be combined with other parameters than soft, warm and rate."),
      ] { expect(try await proxy.ask("POST /purge?\(query)"), contains: text) }
    }
  }

  @Test("PURGE of a trusted client finds its site by the host, and needs none")
  func purgeMethod() async throws {
    try await Self.withSites {
      if let range = try? ProxyConfiguration.AddressRange(parsing: "127.0.0.1") { $0.trustedPeers = [range] }
    } _: { proxy, _ in
      _ = try await Self.get(proxy, "shop.example", "/1")
      expect(
        try await Self.get(proxy, "shop.example", "/1", method: "PURGE"), endsWith: "Removed 1 response.\n")
      _ = try await Self.get(proxy, "shop.example", "/1")
      let answer = try await Self.get(
        proxy, "127.0.0.1", "/1", method: "PURGE", fields: "X-Purge-Host: shop.example\r\n")
      expect(answer, endsWith: "Removed 1 response.\n")
    }
  }

  @Test("The proxy is ready while the origin of one site is, and says which are not")
  func readiness() async throws {
    try await Self.withSites { proxy, blog in
      await blog.stop()
      // The first site that is ready answers for all; what others say is known later.
      _ = try await Self.get(proxy, "a.blog.example", "/")
      let answer = try await proxy.ask("GET /ready")
      expect(answer, startsWith: "HTTP/1.1 200 ")
      expect(answer, endsWith: "ready; the origin of blog does not answer: connection_refused\n")
      var configuration = proxy.proxy.configuration
      configuration.sites.removeFirst(2)
      try proxy.proxy.update(configuration)
      let alone = try await proxy.ask("GET /ready")
      expect(alone, startsWith: "HTTP/1.1 503 ")
      expect(alone, endsWith: "\r\n\r\nthe origin of blog does not answer: connection_refused\n")
    }
  }

  // MARK: - Changes

  @Test("Sites come, change and go while the proxy serves; a request in flight ends as it began")
  func changes() async throws {
    let (hasBegun, mayEnd) = (Gate(), Gate())
    let slow = try await RawOrigin.start { request, connection in
      if request.hasPrefix("HEAD") {
        try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n")
        return true
      }
      try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
      hasBegun.open()
      await mayEnd.pass()
      try await connection.send("half")
      return true
    }
    try await Self.withSites { proxy, _ in
      let first = proxy.proxy.configuration
      var configuration = first
      configuration.sites.append(
        Site(name: "slow", hosts: ["slow.example"], origin: .init(host: "127.0.0.1", port: slow.port)))
      let withSlow = configuration
      // A connection from before finds the site, too.
      try await RawClient.connect(to: proxy.port).talk { client in
        try await client.send("GET /1 HTTP/1.1\r\nHost: a.blog.example\r\n\r\n")
        expect(await client.read(until: "/1"), startsWith: "HTTP/1.1 200 ")
        try proxy.proxy.update(withSlow)
        try await client.send("HEAD /1 HTTP/1.1\r\nHost: slow.example\r\n\r\n")
        expect(
          await client.read(until: "\r\n\r\n", times: 2), contains: "Cache-Status: test; fwd=uri-miss")
      }
      async let answer = Self.get(proxy, "slow.example", "/2")
      await hasBegun.pass()
      // The site goes, and so does the one of the first origin; the other gets its hosts.
      configuration.sites = [first.sites[2]]
      configuration.sites[0].hosts = ["shop.example"]
      try proxy.proxy.update(configuration)
      expect(try await Self.get(proxy, "slow.example"), startsWith: "HTTP/1.1 421 ")
      expect(try await Self.get(proxy, "shop.example", "/3"), endsWith: "blog Host: shop.example /3")
      mayEnd.open()
      expect(try await answer, endsWith: "halfhalf")
      let metrics = try await proxy.ask("GET /metrics")
      #expect(!metrics.contains("site=\"slow\"") && !metrics.contains("site=\"shop\""))
      expect(metrics, contains: "\nhttpcache_origin_requests_total{site=\"blog\"} 2\n")
      // A change that is invalid changes nothing.
      configuration.sites.append(configuration.sites[0])
      #expect(throws: ProxyConfiguration.ValidationError.self) { try proxy.proxy.update(configuration) }
      expect(try await Self.get(proxy, "shop.example", "/4"), endsWith: "blog Host: shop.example /4")
    }
    await slow.stop()
  }

  @Test("A check of an origin asks for the host of the site")
  func check() async throws {
    let (hosts, host) = AsyncStream.makeStream(of: String.self)
    let checked = try await RawOrigin.start { request, connection in
      host.yield(request.split(separator: "\r\n").first { $0.hasPrefix("Host: ") }.map(String.init) ?? "")
      try await connection.send(ok("well"))
      return true
    }
    try await Self.withSites {
      var origin = ProxyConfiguration.Origin(host: "127.0.0.1", port: checked.port)
      origin.checkPath = "/health"
      origin.timeouts.probe = .milliseconds(1)
      $0.sites.append(Site(name: "checked", hosts: ["*.checked.example", "checked.example"], origin: origin))
    } _: { _, _ in
      for await host in hosts {
        #expect(host == "Host: checked.example")
        break
      }
    }
    await checked.stop()
  }
}
