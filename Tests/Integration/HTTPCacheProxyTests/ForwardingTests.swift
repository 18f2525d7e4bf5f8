// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheProxy

@Suite("Client information in forwarded requests", .timeLimit(.minutes(10)))
struct ForwardingTests {
  private static let fields = ["forwarded", "x-forwarded-", "x-real-ip"]

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
    + "X-Real-IP: 1.1.1.1\r\nForwarded: for=1.1.1.1;host=evil\r\nX-Forwarded-Anything: evil\r\n"

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
    "Names with underscores count as forwarding fields, because CGI does not distinguish them",
    arguments: [
      ("x_forwarded_host", true), ("x-forwarded_for", true), ("x_real_ip", true), ("x-forwarded-port", true),
      ("x_other", false), ("x-forward", false), ("x", false), ("", false), ("y_forwarded_for", false),
    ])
  func underscores(name: String, tells: Bool) {
    #expect((FieldRole(name) == .forwarding) == tells)
  }

  @Test(
    "Forwarding fields of a trusted proxy are kept, and its own address is added",
    arguments: [
      (
        .xForwarded,
        "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: b\r\nX-Forwarded-Port: 1\r\n",
        [
          "X-Forwarded-For: 1.1.1.1, 127.0.0.1", "X-Forwarded-Proto: https", "X-Forwarded-Host: b",
          "X-Forwarded-Port: 1",
        ]
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
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "::1", port: 0),
      origin: ProxyConfiguration.Address(host: "::1", port: 1))
    configuration.forwardedFields = .both
    var request = HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/")
    var forwarder = Forwarder(IPAddress("2001:db8::1"), configuration)
    let client = forwarder.apply(to: &request, given: nil)
    #expect(client == IPAddress("2001:db8::1"))
    let texts = request.headerFields.map { "\($0.name.rawName): \($0.value)" }
    #expect(texts.contains("X-Forwarded-For: 2001:db8::1"))
    #expect(texts.contains("Forwarded: for=\"[2001:db8::1]\";host=a;proto=http"))
  }

  @Test(
    "The client is the last untrusted address that a trusted proxy names, if any",
    arguments: [
      (.xForwarded, "X-Forwarded-For", "198.51.100.1", "198.51.100.1"),
      (.xForwarded, "X-Forwarded-For", "1.1.1.1, 198.51.100.1", "198.51.100.1"),
      (.xForwarded, "X-Forwarded-For", "198.51.100.1, 10.0.0.2, 10.0.0.3", "198.51.100.1"),
      (.xForwarded, "X-Forwarded-For", "198.51.100.1:4711, [2001:db8::7]:80", "198.51.100.1"),
      (.xForwarded, "X-Forwarded-For", "198.51.100.1, ::ffff:10.0.0.2", "198.51.100.1"),
      (.xForwarded, "X-Forwarded-For", "10.0.0.2", "10.0.0.2"),
      (.xForwarded, "X-Forwarded-For", "198.51.100.1, unknown, 10.0.0.2", nil),
      (.xForwarded, "X-Forwarded-For", "198.51.100.1,", nil),
      (.xForwarded, "X-Forwarded-For", "evil", nil),
      // Only one of the two is the trusted proxy's.
      (.xForwarded, "Forwarded", "for=198.51.100.1", nil),
      (.rfc7239, "X-Forwarded-For", "198.51.100.1", nil),
      (.none, "X-Forwarded-For", "198.51.100.1", "198.51.100.1"),
      (.both, "X-Forwarded-For", "198.51.100.1", "198.51.100.1"),
      (.rfc7239, "Forwarded", "for=198.51.100.1", "198.51.100.1"),
      (
        .rfc7239, "Forwarded", "proto=https; For=\"198.51.100.1:80\";by=_x, for=\"[2001:DB8::1]\"",
        "198.51.100.1"
      ),
      (.rfc7239, "Forwarded", "for=198.51.100.1, proto=http", nil),
      (.rfc7239, "Forwarded", "for=198.51.100.1, for=_hidden", nil),
      (.rfc7239, "Forwarded", "for=\", for=\"[2001:db8::1]\"", nil),
      (.rfc7239, "Forwarded", "for=\"198.51.100.1", nil),
      (.rfc7239, "Forwarded", "for=\"\\198.51.100.1\"", "198.51.100.1"),
      (.rfc7239, "Forwarded", "for 198.51.100.1", nil),
    ] as [(ProxyConfiguration.ForwardedFields, String, String, String?)])
  func client(kind: ProxyConfiguration.ForwardedFields, name: String, value: String, expected: String?) throws
  {
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "::1", port: 0),
      origin: ProxyConfiguration.Address(host: "::1", port: 1))
    configuration.forwardedFields = kind
    configuration.trustedPeers = try ["10.0.0.0/8", "2001:db8::/32"].map {
      try ProxyConfiguration.AddressRange(parsing: $0)
    }
    let given: HTTPFields = [try #require(HTTPField.Name(name)): value]
    for (peer, client) in [("10.0.0.1", expected), ("192.0.2.1", "192.0.2.1")] {
      var request = HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/")
      var forwarder = Forwarder(IPAddress(peer), configuration)
      #expect(forwarder.apply(to: &request, given: given)?.description == client)
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

  @Test(
    "An address range is an address or a network",
    arguments: [
      ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false), ("192.0.2.1", "192.0.2.1", true),
      ("192.0.2.1", "192.0.2.2", false), ("0.0.0.0/0", "255.1.2.3", true), ("0.0.0.0/0", "::1", false),
      ("::/0", "::1", true),
      ("::/0", "1.2.3.4", false), ("2001:db8::/32", "2001:db8:ffff::1", true),
      ("2001:db8::/32", "2001:db9::", false),
      ("2001:db8:0:0:8000::/65", "2001:db8::8000:0:0:1", true),
      ("2001:db8:0:0:8000::/65", "2001:db8::1", false), ("::1", "::1", true),
      ("fe80::/64", "fe80::1", true), ("fe80::/64", "fe80:0:0:1::", false),
      ("::ffff:10.0.0.0/104", "10.9.9.9", true),
      ("10.0.0.0/31", "10.0.0.1", true), ("10.0.0.0/31", "10.0.0.2", false), ("1.2.3.4/32", "1.2.3.4", true),
    ])
  func ranges(text: String, address: String, expected: Bool) throws {
    #expect(
      try ProxyConfiguration.AddressRange(parsing: text).contains(try #require(IPAddress(address)))
        == expected)
  }

  @Test(
    "The error for an invalid address range states what is wrong",
    arguments: [
      ("", "expected an IP address"), ("a.example", "expected an IP address"),
      ("10.0.0/8", "expected an IP address"),
      ("/8", "expected an IP address"), ("[::1]", "expected an IP address"), ("10.0.0.0/33", "from 0 to 32"),
      ("10.0.0.0/", "from 0 to 32"),
      ("::/129", "from 0 to 128"), ("10.0.0.0/8/8", "from 0 to 32"), ("10.0.0.0/+8", "from 0 to 32"),
      ("10.1.2.3/8", "write 10.0.0.0/8 for the network"),
      ("2001:db8::1/32", "write 2001:db8::/32 for the network"),
    ])
  func noRanges(text: String, reason: String) {
    #expect {
      try ProxyConfiguration.AddressRange(parsing: text)
    } throws: {
      "\($0)".contains(reason) && "\($0)".contains("'\(text)'")
    }
  }
}
