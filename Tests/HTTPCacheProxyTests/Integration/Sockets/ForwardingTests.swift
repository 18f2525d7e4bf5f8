// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import TestSupport
import Testing

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
