// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheEngine
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Authorities and addresses", .timeLimit(.minutes(10)))
struct AuthorityTests {
  @Test(
    "An authority has one spelling (RFC 9110 §4.2.3, RFC 5952)",
    arguments: [
      ("a.example", "http", "a.example"), ("A.Example", "http", "a.example"), ("a.", "http", "a."),
      ("a_b-c~d", "http", "a_b-c~d"), ("a:", "http", "a"), ("A:80", "http", "a"), ("a:080", "http", "a"),
      ("a:443", "http", "a:443"), ("a:443", "https", "a"), ("a:80", "https", "a:80"),
      ("a:00081", "http", "a:81"), ("a:65535", "http", "a:65535"),
      ("127.0.0.1:8080", "http", "127.0.0.1:8080"),
      ("[::1]", "http", "[::1]"), ("[0:0:0:0:0:0:0:1]:80", "http", "[::1]"),
      ("[2001:DB8::0:1]:81", "http", "[2001:db8::1]:81"),
      ("[::ffff:192.0.2.1]", "http", "[::ffff:192.0.2.1]"),
      ("[::FFFF:c000:201]:", "http", "[::ffff:192.0.2.1]"),
    ])
  func normalized(text: String, scheme: String, expected: String) {
    #expect(Authority.normalized(text, scheme: scheme) == expected)
  }

  @Test(
    "Text without a valid host and port is not an authority (RFC 3986 §3.2)",
    arguments: [
      "", ":", ":80", "h:abc", "h:99999", "h:0", "h:-1", "h:+80", "h: 80", "h:80:80", "h:8_0", "]h[", "h%00",
      "h%41",
      "u@h", "u:p@h", "h/", "h?", "h#", "h\\", "h,g", "h h", ".", "..", ".h", "h..g", "é", "h\u{301}", "[::1",
      "[]", "[::1]x",
      "[::1]:x", "[::1]80", "[::1]:99999", "[1.2.3.4]", "[v1.a]", "[fe80::1%25eth0]", "[:::]", "[1::2::3]",
      "[1:2:3]",
      "[1:2:3:4:5:6:7:8:9]", "[::1:]", "[:1::]", "[12345::]", "[::g]", "[::1.2.3]", "[::1.2.3.04]", "::1",
      "h\0",
    ])
  func malformed(text: String) {
    #expect(Authority.normalized(text, scheme: "http") == nil)
  }

  @Test("The origin gets the authority of the cache key")
  func agreesWithKey() throws {
    var generator = SplitMix64(seed: 8)
    let pieces = [
      "a", "B", "example", ".", ".", ":", ":80", ":443", ":080", ":81", "-", "[::1]", "[2001:DB8::1]", "[",
      "]", "%41", "@",
      "127.0.0.1", "0", "65536", "~", "_",
    ]
    var count = 0
    for _ in 0..<20_000 {
      let text = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
        pieces.randomElement(using: &generator) ?? ""
      }.joined()
      let scheme = Bool.random(using: &generator) ? "http" : "https"
      guard let authority = Authority.normalized(text, scheme: scheme) else { continue }
      count += 1
      let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: "/")
      #expect(TargetURI(request)?.authority == authority, "\(text)")
      #expect(Authority.normalized(authority, scheme: scheme) == authority, "\(text)")
      // What the key takes for one, the origin gets as one.
      let raw = TargetURI(scheme: scheme, authority: text, path: "/")
      #expect(Authority.normalized(raw.authority, scheme: scheme) == authority, "\(text)")
    }
    #expect(count > 2000)
  }

  @Test(
    "An address has one text form (RFC 5952 §4)",
    arguments: [
      ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"),
      ("::", "::"), ("::1", "::1"),
      ("1::", "1::"), ("2001:0DB8:0:0:0:0:0:1", "2001:db8::1"),
      ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
      ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"), ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
      ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
      ("::ffff:1.2.3.4", "::ffff:1.2.3.4"), ("64:ff9b::1.2.3.4", "64:ff9b::102:304"),
    ])
  func addresses(text: String, expected: String) {
    #expect(IPAddress(text)?.description == expected)
    #expect(IPAddress(expected)?.description == expected)
  }

  @Test(
    "A malformed address is rejected",
    arguments: [
      "", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.4:80", "1..2.3", "a.b.c.d", "1.2.3.-4",
      "[::1]", "::1%eth0",
      "::ffff:1.2.3", "1.2.3.4::", "localhost", "1:2:3:4:5:6:7:8::", String(repeating: ":", count: 100),
    ])
  func noAddresses(text: String) {
    #expect(IPAddress(text) == nil)
  }

  @Test("An IPv4-mapped address counts as the IPv4 address")
  func unmapped() throws {
    #expect(try #require(IPAddress("::ffff:192.0.2.1")).unmapped.description == "192.0.2.1")
    #expect(try #require(IPAddress("::fffe:192.0.2.1")).unmapped.isIPv6)
    #expect(try #require(IPAddress("192.0.2.1")).unmapped.description == "192.0.2.1")
  }
}
