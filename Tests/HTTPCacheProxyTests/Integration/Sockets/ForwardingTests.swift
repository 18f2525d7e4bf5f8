// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import InMemoryLogging
import Logging
import Loopback
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Client information in forwarded requests", .timeLimit(.minutes(10)))
struct ForwardingTests {
  private static let fields = ["forwarded", "x-forwarded", "x-real-ip"]

  /// The fields of this kind that the origin gets.
  private static func forwarded(
    _ kind: ProxyConfiguration.ForwardedFields, trusts: String?, scheme: String = "http",
    host: String = "a.example",
    _ given: String
  ) async throws -> [String] {
    var got: [String] = []
    try await ProxyFixture.run {
      $0.forwardedFields = kind
      $0.scheme = scheme
      if let trusts, let range = try? ProxyConfiguration.AddressRange(parsing: trusts) {
        $0.trustedPeers = [range]
      }
    } origin: { _, connection in
      try await connection.send(ok(""))
      return true
    } _: { proxy in
      _ = try await proxy.exchange(
        "GET / HTTP/1.1\r\nHost: \(host)\r\nX-One: 1\r\n\(given)Connection: close\r\n\r\n")
      let request = try #require(proxy.origin.requests.first)
      got = request.split(separator: "\r\n").map(String.init).filter { line in
        fields.contains { line.lowercased().hasPrefix($0) }
      }
    }
    return got
  }

  private static let forged =
    "X-Forwarded-For: 1.1.1.1\r\nx-forwarded-host: evil\r\nX-Forwarded-Proto: evil\r\nX-Forwarded-Port: 1\r\n"
    + "X-Forwarded: evil\r\nX-Real-IP: 1.1.1.1\r\nForwarded: for=1.1.1.1;host=evil\r\nX-Forwarded-Anything: evil\r\n"

  @Test(
    "Forwarding fields of an untrusted client are replaced",
    arguments: [
      (
        .xForwarded, ["X-Forwarded-For: 127.0.0.1", "X-Forwarded-Proto: http", "X-Forwarded-Host: a.example"]
      ),
      (.rfc7239, ["Forwarded: for=127.0.0.1;host=a.example;proto=http"]),
      (
        .both,
        [
          "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Proto: http", "X-Forwarded-Host: a.example",
          "Forwarded: for=127.0.0.1;host=a.example;proto=http",
        ]
      ), (.none, []),
    ] as [(ProxyConfiguration.ForwardedFields, [String])])
  func untrusted(kind: ProxyConfiguration.ForwardedFields, expected: [String]) async throws {
    for given in [
      "", Self.forged, Self.forged + "Connection: X-Forwarded-For, Forwarded, X-Forwarded-Proto\r\n",
    ] {
      for trusts in [nil, "127.0.0.2"] {
        #expect(try await Self.forwarded(kind, trusts: trusts, given) == expected, "\(given)")
      }
    }
  }

  @Test(
    "Forwarding fields of a trusted proxy are kept, and its own address is added",
    arguments: [
      (
        .xForwarded,
        "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: b\r\nX-Forwarded-Port: 1\r\n"
          + "X-Forwarded: for=1.1.1.1\r\nX-Real-IP: 1.1.1.1\r\n",
        ["X-Forwarded-For: 1.1.1.1, 127.0.0.1", "X-Forwarded-Proto: https", "X-Forwarded-Host: b"]
      ),
      (
        .xForwarded, "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: ::1, unknown\r\n",
        [
          "X-Forwarded-For: 1.1.1.1, ::1, unknown, 127.0.0.1", "X-Forwarded-Proto: http",
          "X-Forwarded-Host: a.example",
        ]
      ),
      (
        .xForwarded, "",
        ["X-Forwarded-For: 127.0.0.1", "X-Forwarded-Proto: http", "X-Forwarded-Host: a.example"]
      ),
      (
        .rfc7239, "Forwarded: for=1.1.1.1\r\n",
        ["Forwarded: for=1.1.1.1, for=127.0.0.1;host=a.example;proto=http"]
      ),
      // One behind whose open quotation mark the proxy's own would vanish.
      (.rfc7239, "Forwarded: for=\"1.1.1.1\r\n", ["Forwarded: for=127.0.0.1;host=a.example;proto=http"]),
      (
        .rfc7239, "X-Forwarded-For: 1.1.1.1\r\n",
        ["X-Forwarded-For: 1.1.1.1", "Forwarded: for=127.0.0.1;host=a.example;proto=http"]
      ),
      (
        .none, "X-Forwarded-For: 1.1.1.1\r\nForwarded: for=1.1.1.1\r\n",
        ["X-Forwarded-For: 1.1.1.1", "Forwarded: for=1.1.1.1"]
      ),
      (
        .xForwarded, "X-Forwarded-For: 1.1.1.1\r\nConnection: X-Forwarded-For\r\n",
        ["X-Forwarded-For: 1.1.1.1, 127.0.0.1", "X-Forwarded-Proto: http", "X-Forwarded-Host: a.example"]
      ),
    ] as [(ProxyConfiguration.ForwardedFields, String, [String])])
  func trusted(kind: ProxyConfiguration.ForwardedFields, given: String, expected: [String]) async throws {
    #expect(Set(try await Self.forwarded(kind, trusts: "127.0.0.0/8", given)) == Set(expected))
  }

  /// Fields that name a client, a host, a URL or a method, and their value.
  private static let named = FieldRole.countedNames.map { ($0, "evil") }

  /// Runs a proxy, and an origin that answers each request with its fields about clients, hosts, URLs and methods.
  private static func named(
    _ configure: @escaping (inout ProxyConfiguration) -> Void = { _ in }, logger: Logger? = nil,
    _ body: (ProxyFixture) async throws -> Void
  ) async throws {
    let names = Set(FieldRole.countedNames)
    try await ProxyFixture.run(
      {
        $0.http2 = .always
        $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
        configure(&$0)
      }, logger: logger ?? Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
      origin: { request, connection in
        let got = request.split(separator: "\r\n").compactMap { $0.split(separator: ":").first?.lowercased() }
        let text = names.intersection(got).sorted().joined(separator: " ")
        if request.contains("Upgrade: echo") {
          try await connection.send(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n[\(text)]")
          return false
        }
        try await connection.send(ok("[\(text)]", "Cache-Control: max-age=3600\r\n"))
        return true
      }, body)
  }

  /// Sends a request with all ``named``, and returns what the origin has got of them.
  private static func got(_ proxy: ProxyFixture, _ method: String, isHTTP2: Bool) async throws -> String {
    if isHTTP2 {
      let client = try await HTTP2Client.connect(port: proxy.port)
      let answer = try await client.send(HTTP2Client.request("/\(method)", method: method, named))
      await client.close()
      return String(decoding: answer.body, as: UTF8.self)
    }
    let fields = named.map { "\($0): \($1)\r\n" }.joined()
    let answer = try await proxy.exchange(
      "\(method) /\(method) HTTP/1.1\r\nHost: a.example\r\n\(fields)Connection: close\r\n\r\n")
    return String(answer[(answer.firstRange(of: "\r\n\r\n")?.upperBound ?? answer.startIndex)...])
  }

  @Test(
    "Fields that name a client, host or URL are removed, unless a trusted proxy may set them; so are methods, but not of POST",
    arguments: ["GET", "QUERY", "POST"], [false, true])
  func named(method: String, isHTTP2: Bool) async throws {
    let methods = FieldRole.countedNames.filter { $0.contains("method") && method == "POST" }
    for (trusts, trustedFields, kept) in [
      (nil, [], []), ("127.0.0.1", [], []), (nil, ["CF-Connecting-IP"], []),
      ("127.0.0.1", ["CF-Connecting-IP", "X-Original-URL"], ["cf-connecting-ip", "x-original-url"]),
    ] as [(String?, [String], [String])] {
      let range = try trusts.map { try ProxyConfiguration.AddressRange(parsing: $0) }
      try await Self.named {
        $0.trustedPeers = range.map { [$0] } ?? []
        $0.trustedFields = trustedFields
      } _: { proxy in
        let expected = (kept + methods).sorted().joined(separator: " ")
        let got = try await Self.got(proxy, method, isHTTP2: isHTTP2)
        #expect(got == "[\(expected)]")
      }
    }
  }

  @Test("They are removed from a request for another protocol, too")
  func namedUpgrade() async throws {
    try await Self.named { proxy in
      let fields = Self.named.map { "\($0): \($1)\r\n" }.joined()
      let answer = try await proxy.exchange(
        "GET / HTTP/1.1\r\nHost: a\r\n\(fields)Connection: Upgrade\r\nUpgrade: echo\r\n\r\n")
      expect(answer, startsWith: "HTTP/1.1 101 ")
      expect(answer, endsWith: "\r\n\r\n[]")
    }
  }

  @Test(
    "Each removed field is counted by its name, and the first one of each name is logged",
    arguments: [false, true])
  func counted(isHTTP2: Bool) async throws {
    let log = InMemoryLogHandler()
    try await Self.named(logger: Logger(label: "test") { _ in log }) { proxy in
      for method in ["GET", "POST", "GET"] { _ = try await Self.got(proxy, method, isHTTP2: isHTTP2) }
      // A name with underscores counts as that with hyphens, and what is not in the list as nothing.
      _ = try await proxy.get("/other", "X_Host: a\r\nX-Forwarded-Any: a\r\nX-Real-IP: a\r\nX-Other: a\r\n")
      let page = try await proxy.ask("GET /metrics")
      for name in FieldRole.countedNames {
        let count = name.contains("method") ? 2 : name == "x-host" ? 4 : 3
        expect(page, contains: "\nhttpcache_request_fields_removed_total{field=\"\(name)\"} \(count)\n")
      }
      #expect(
        page.ranges(of: "\nhttpcache_request_fields_removed_total{").count == FieldRole.countedNames.count)
    }
    let logged = log.entries.compactMap { entry in entry.metadata["field"].map { "\($0)" } }
    #expect(logged.sorted() == FieldRole.countedNames.sorted())
  }

  @Test("Forwarded quotes hosts with a port or IPv6 address, and has the configured scheme (RFC 7239 §4)")
  func quoting() async throws {
    for (host, quoted) in [("a:81", "\"a:81\""), ("[::1]", "\"[::1]\""), ("a:443", "a")] {
      #expect(
        try await Self.forwarded(.rfc7239, trusts: nil, scheme: "https", host: host, "")
          == ["Forwarded: for=127.0.0.1;host=\(quoted);proto=https"])
    }
  }

  @Test("A response that varies on the client is stored per client (RFC 9111 §4.1)")
  func vary() async throws {
    try await ProxyFixture.run {
      if let range = try? ProxyConfiguration.AddressRange(parsing: "127.0.0.1") { $0.trustedPeers = [range] }
    } origin: { request, connection in
      let varies = request.contains("/vary") ? "Vary: X-Forwarded-For\r\n" : ""
      try await connection.send(ok("x", "Cache-Control: max-age=3600\r\n\(varies)"))
      return true
    } _: { proxy in
      for path in ["/vary", "/same"] {
        for client in ["1.1.1.1", "1.1.1.1", "2.2.2.2"] {
          _ = try await proxy.get(path, "X-Forwarded-For: \(client)\r\n")
        }
      }
      #expect(proxy.origin.requests.map { $0.split(separator: " ")[1] } == ["/vary", "/vary", "/same"])
    }
  }
}
