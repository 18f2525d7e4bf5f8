// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheProxy
import NIOCore
import TestSupport
import Testing

@Suite("The PURGE method", .timeLimit(.minutes(10)))
struct PurgeMethodTests {
  private func purge(_ proxy: ProxyFixture, _ target: String, _ fields: String = "") async throws -> String {
    try await proxy.exchange(
      "PURGE \(target) HTTP/1.1\r\nHost: a.example\r\n\(fields)Connection: close\r\n\r\n")
  }

  private func run(
    trusting range: String?, _ test: (ProxyFixture) async throws -> Void
  ) async throws {
    let ranges = try range.map { [try ProxyConfiguration.AddressRange(parsing: $0)] } ?? []
    try await ProxyFixture.run {
      $0.trustedPeers = ranges
    } origin: { request, connection in
      let isValidation = request.contains("If-None-Match")
      let fields = "Cache-Control: max-age=3600\r\nETag: \"1\"\r\n"
      try await connection.send(
        isValidation ? "HTTP/1.1 304 Not Modified\r\n\(fields)\r\n" : ok("hello", fields))
      return true
    } _: { proxy in
      for path in ["/a?b", "/c"] { _ = try await proxy.get(path) }
      try await test(proxy)
      #expect(!proxy.origin.requests.contains { $0.hasPrefix("PURGE") })
    }
  }

  @Test("PURGE is never forwarded, not even with Upgrade", arguments: [nil, "127.0.0.1"])
  func upgrade(range: String?) async throws {
    try await run(trusting: range) { proxy in
      let answer = try await proxy.exchange(
        "PURGE /c HTTP/1.1\r\nHost: a.example\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
      expect(answer, startsWith: range == nil ? "HTTP/1.1 403 " : "HTTP/1.1 200 ")
    }
  }

  @Test(
    "PURGE is refused if a trusted proxy does not name its client",
    arguments: ["X-Forwarded-For: unknown", "X-Forwarded-For: _hidden", "Forwarded: for=10.0.0.1"])
  func unnamed(field: String) async throws {
    try await run(trusting: "127.0.0.0/8") { proxy in
      expect(try await purge(proxy, "/c", field + "\r\n"), startsWith: "HTTP/1.1 403 ")
      #expect(try await proxy.get("/c").contains("test; hit"))
    }
  }

  @Test("PURGE follows the current list of trusted peers")
  func revoked() async throws {
    try await run(trusting: "127.0.0.0/8") { proxy in
      var configuration = proxy.proxy.configuration
      configuration.trustedPeers = []
      try proxy.proxy.update(configuration)
      expect(try await purge(proxy, "/c"), startsWith: "HTTP/1.1 403 ")
    }
  }

  @Test(
    "PURGE removes the stored responses of its target and reports their number",
    arguments: ["127.0.0.1", "127.0.0.0/8"])
  func removes(range: String) async throws {
    try await run(trusting: range) { proxy in
      let answer = try await purge(proxy, "/a?b")
      expect(answer, startsWith: "HTTP/1.1 200 OK\r\n")
      expect(answer, endsWith: "\r\n\r\nRemoved 1 response.\n")
      #expect(try await proxy.get("/c").contains("test; hit"))
      #expect(try await proxy.get("/a?b").contains("fwd=uri-miss"))
      expect(try await purge(proxy, "http://A.example:80/c"), endsWith: "Removed 1 response.\n")
      expect(try await purge(proxy, "/c", "Host: b.example\r\n"), startsWith: "HTTP/1.1 400 ")
      expect(try await purge(proxy, "/none"), endsWith: "Removed 0 responses.\n")
    }
  }

  /// The requests of applications, as they send them, with `PORT` for the proxy's.
  private static let literal: [(sender: String, request: String, purged: [String])] = [
    (
      // The server's address is in Host: the tags are those of all hosts.
      "Magento 2, a product was saved",
      "PURGE / HTTP/1.1\r\nX-Magento-Tags-Pattern: ((^|,)cat_p_1(,|$))|((^|,)cat_p(,|$))\r\nHost: 127.0.0.1:PORT\r\n\r\n",
      ["/product/1", "/category/2"]
    ),
    (
      "Magento 2, a category was saved",
      "PURGE / HTTP/1.1\r\nX-Magento-Tags-Pattern: ((^|,)cat_c_2(,|$))\r\nHost: 127.0.0.1\r\n\r\n",
      ["/category/2"]
    ),
    (
      "Magento 2, bin/magento cache:flush full_page",
      "PURGE / HTTP/1.1\r\nX-Magento-Tags-Pattern: .*\r\nHost: 127.0.0.1:PORT\r\n\r\n",
      ["/product/1", "/category/2", "/wp/", "/wp/page/", "/wp/page/feed/"]
    ),
    (
      "a deployment of Magento", "PURGE / HTTP/1.1\r\nHost: a.example\r\nX-Pool: blue\r\nAccept: */*\r\n\r\n",
      ["/category/2"]
    ),
    (
      "WordPress, Proxy Cache Purge, a post was saved",
      "PURGE /wp/page/ HTTP/1.1\r\nhost: a.example\r\nX-Purge-Method: default\r\nUser-Agent: WordPress/6.7; https://a.example\r\nAccept: */*\r\nAccept-Encoding: deflate, gzip, br\r\nReferer: http://a.example/wp/page/\r\nConnection: close\r\n\r\n",
      ["/wp/page/"]
    ),
    (
      "WordPress, Proxy Cache Purge, everything below a page",
      "PURGE /wp/page/.* HTTP/1.1\r\nhost: a.example\r\nX-Purge-Method: regex\r\nUser-Agent: WordPress/6.7; https://a.example\r\nAccept: */*\r\nConnection: close\r\n\r\n",
      ["/wp/page/", "/wp/page/feed/"]
    ),
    (
      "WordPress, Proxy Cache Purge, the whole site",
      "PURGE /.* HTTP/1.1\r\nhost: a.example\r\nX-Purge-Method: regex\r\nUser-Agent: WordPress/6.7; https://a.example\r\nAccept: */*\r\nConnection: close\r\n\r\n",
      ["/product/1", "/category/2", "/wp/", "/wp/page/", "/wp/page/feed/"]
    ),
    (
      "WordPress, with the address of the proxy in the target",
      "PURGE http://a.example/wp/ HTTP/1.1\r\nHost: a.example\r\nX-Purge-Method: default\r\nConnection: close\r\n\r\n",
      ["/wp/"]
    ),
    (
      "a module of nginx", "PURGE /wp/* HTTP/1.1\r\nHost: a.example\r\n\r\n",
      ["/wp/", "/wp/page/", "/wp/page/feed/"]
    ),
    (
      "a client of xkey", "PURGE / HTTP/1.1\r\nHost: localhost\r\nxkey-purge: cat_p_1 none\r\n\r\n",
      ["/product/1", "/category/2"]
    ),
    (
      "a client of Fastly", "PURGE / HTTP/1.1\r\nHost: localhost\r\nSurrogate-Key: cat_c_2\r\n\r\n",
      ["/category/2"]
    ),
  ]

  @Test("Applications purge with their own requests")
  func literalRequests() async throws {
    let tags = [
      "/product/1": "X-Magento-Tags: cat_p_1,cms_b_footer\r\n",
      "/category/2": "X-Magento-Tags: cat_c_2,cat_p_1,cat_p_11\r\nX-Pool: blue\r\n",
    ]
    let paths = ["/product/1", "/category/2", "/wp/", "/wp/page/", "/wp/page/feed/"]
    try await ProxyFixture.run {
      $0.trustedPeers = (try? [ProxyConfiguration.AddressRange(parsing: "127.0.0.1")]) ?? []
    } rules: {
      $0.tagFields = ["X-Magento-Tags", "X-Pool"]
    } origin: { request, connection in
      let path = request.split(separator: " ").dropFirst().first.map { String($0) } ?? ""
      try await connection.send(ok("x", "Cache-Control: max-age=3600\r\n\(tags[path] ?? "")"))
      return true
    } _: { proxy in
      for (sender, text, purged) in Self.literal {
        for path in paths {
          let answer = try await proxy.get(path)
          #expect(!answer.contains("X-Magento-Tags") && !answer.contains("X-Pool"), "\(sender)")
        }
        let request = text.replacing("PORT", with: "\(proxy.port)")
        let answer = try await proxy.exchange(request)
        expect(answer, startsWith: "HTTP/1.1 200 OK\r\n")
        #expect(
          answer.contains("\r\n\r\nRemoved \(purged.count) response\(purged.count == 1 ? "" : "s").\n"),
          "\(sender): \(answer)")
        for path in paths {
          #expect(
            try await proxy.get(path).contains("test; hit") != purged.contains(path), "\(sender) \(path)")
        }
      }
    }
  }

  @Test(
    "PURGE that is not understood gets 400, and removes nothing",
    arguments: [
      ("/c", "X-Purge-Method: regexp\r\n"), ("/(", "X-Purge-Method: regex\r\n"), ("/*c", ""),
      ("/c", "X-Cache-Tags: a\r\n"), ("/c", "X-Magento-Tags-Pattern: c\r\n"), ("/c", "Surrogate-Key:\r\n"),
    ])
  func notUnderstood(target: String, fields: String) async throws {
    try await run(trusting: "127.0.0.1") { proxy in
      let answer = try await purge(proxy, target, fields)
      expect(answer, startsWith: "HTTP/1.1 400 ")
      #expect(answer.contains(": expected ") || answer.contains("not supported"), "\(answer)")
      #expect(try await proxy.get("/c").contains("test; hit"))
    }
  }

  @Test("PURGE with Soft-Purge makes stored responses stale")
  func soft() async throws {
    try await run(trusting: "127.0.0.1") { proxy in
      expect(try await purge(proxy, "/a?b", "Soft-Purge: 1\r\n"), endsWith: "Marked 1 response stale.\n")
      #expect(try await proxy.get("/a?b").contains("fwd=stale"))
      #expect(try await proxy.get("/a?b").contains("test; hit"))
      expect(try await purge(proxy, "/a?b", "Soft-Purge: 0\r\n"), startsWith: "HTTP/1.1 400 ")
      #expect(try await proxy.get("/a?b").contains("test; hit"))
    }
  }

  @Test(
    "PURGE from an untrusted client is refused, even through a trusted proxy",
    arguments: [
      (nil, ""), ("10.0.0.0/8", ""), ("127.0.0.1", "X-Forwarded-For: 192.0.2.1\r\n"),
      ("10.0.0.0/8", "X-Forwarded-For: 10.0.0.1\r\n"),
    ] as [(String?, String)])
  func refused(range: String?, fields: String) async throws {
    try await run(trusting: range) { proxy in
      let answer = try await purge(proxy, "/c", fields)
      expect(answer, startsWith: "HTTP/1.1 403 Forbidden\r\n")
      #expect(!answer.contains("test; hit"))
      #expect(try await proxy.get("/c").contains("test; hit"))
    }
  }
}
