// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPCacheProxy

@Suite("The PROXY protocol without sockets", .timeLimit(.minutes(10)))
struct ProxyHeaderTests {
  private static let signature: [UInt8] = Array("\r\n\r\n\0\r\nQUIT\n".utf8)

  private static func binary(_ command: UInt8, _ family: UInt8, _ content: [UInt8]) -> [UInt8] {
    signature + [command, family, UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
  }

  private static let ipv4: [UInt8] = [198, 51, 100, 1, 10, 0, 0, 1, 0x12, 0x67, 0, 80]
  private static let ipv6: [UInt8] =
    [0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7] + [UInt8](repeating: 0, count: 15) + [
      1, 0x12, 0x67, 0, 80,
    ]
  private static let mapped: [UInt8] =
    [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 198, 51, 100, 1] + [UInt8](repeating: 0, count: 20)

  static let headers: [([UInt8], String)] = [
    (Array("PROXY TCP4 198.51.100.1 10.0.0.1 4711 80\r\n".utf8), "198.51.100.1"),
    (Array("PROXY TCP6 2001:db8::7 ::1 4711 80\r\n".utf8), "2001:db8::7"),
    (Array("PROXY TCP6 ::ffff:198.51.100.1 ::1 4711 80\r\n".utf8), "198.51.100.1"),
    (Array("PROXY UNKNOWN\r\n".utf8), "unknown"),
    (Array("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n".utf8), "unknown"),
    (binary(0x21, 0x11, ipv4), "198.51.100.1"), (binary(0x21, 0x21, ipv6), "2001:db8::7"),
    (binary(0x21, 0x21, mapped), "198.51.100.1"),
    // With extensions behind the addresses.
    (binary(0x21, 0x11, ipv4 + [1, 0, 2, 0x68, 0x32]), "198.51.100.1"),
    (binary(0x21, 0x11, ipv4 + [UInt8](repeating: 4, count: 4000)), "198.51.100.1"),
    (binary(0x20, 0x00, []), "127.0.0.1"), (binary(0x20, 0x11, ipv4), "127.0.0.1"),
    (binary(0x21, 0x00, []), "unknown"),
    (binary(0x21, 0x31, [UInt8](repeating: 0x2F, count: 216)), "unknown"),
  ]

  private static func trusting(_ configuration: inout ProxyConfiguration) throws {
    configuration.expectsProxyHeader = true
    configuration.trustedPeers = [try ProxyConfiguration.AddressRange(parsing: "127.0.0.0/8")]
  }

  private static let request = Array("GET /1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8)

  @Test(
    "The PROXY header names the client, whether it arrives at once or byte by byte", arguments: headers,
    [true, false])
  func accepted(header: ([UInt8], String), isWhole: Bool) async throws {
    let cache = try await ConnectionFixture.filledCache()
    let (header, client) = header
    try inOneThread {
      let fixture = try ConnectionFixture(cache: cache, Self.trusting)
      try fixture.receive(header + Self.request, isWhole: isWhole)
      #expect(fixture.wire.sent.hasSuffix("\r\n\r\nhello /1"))
      #expect(fixture.connection.forwarder?.address == IPAddress(client))
      // The client that the header names is not trusted, as its peer is.
      var request = HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/")
      let name = try #require(HTTPField.Name("X-Forwarded-For"))
      _ = fixture.connection.forwarder?.apply(to: &request, given: [name: "1.1.1.1"])
      let given = client == "127.0.0.1" ? "1.1.1.1, " : ""
      #expect(request.headerFields[name] == given + client)
      fixture.finish()
    }
  }

  static let malformed: [[UInt8]] = [
    Array("".utf8), Array("GET / HTTP/1.1\r\n".utf8), Array("PROXY\r\n".utf8), Array("PROXY TCP4\r\n".utf8),
    Array("proxy TCP4 1.1.1.1 1.1.1.1 1 1\r\n".utf8), Array("PROXY TCP5 1.1.1.1 1.1.1.1 1 1\r\n".utf8),
    Array("PROXY TCP4 ::1 ::1 1 1\r\n".utf8), Array("PROXY TCP6 1.1.1.1 1.1.1.1 1 1\r\n".utf8),
    Array("PROXY TCP4 1.1.1.1 1.1.1.1 1 65536\r\n".utf8), Array("PROXY TCP4 1.1.1.1 1.1.1.1 1 \r\n".utf8),
    Array("PROXY TCP4  1.1.1.1 1.1.1.1 1 1\r\n".utf8), Array("PROXY TCP4 1.1.1.1 1.1.1.1 1 1\n".utf8),
    Array("PROXY TCP4 1.1.1.1 1.1.1.1 1 1 1\r\n".utf8),
    Array("PROXY UNKNOWN \(String(repeating: "x", count: 100))\r\n".utf8),
    binary(0x11, 0x11, ipv4), binary(0x22, 0x11, ipv4), binary(0x21, 0x11, Array(ipv4.prefix(11))),
    binary(0x21, 0x21, ipv4),
    binary(0x21, 0x12, ipv4), binary(0x21, 0x41, ipv4),
    binary(0x21, 0x11, ipv4 + [UInt8](repeating: 4, count: 4096)),
    Array("\r\n\r\n\0\r\nQUIT!".utf8) + [0x21, 0x11, 0, 12] + ipv4,
  ]

  @Test("A connection without a valid PROXY header is closed", arguments: malformed, [true, false])
  func refused(header: [UInt8], isWhole: Bool) async throws {
    let cache = try await ConnectionFixture.filledCache()
    try inOneThread {
      let fixture = try ConnectionFixture(cache: cache, Self.trusting)
      try? fixture.receive(header + Self.request, isWhole: isWhole)
      #expect(fixture.wire.sent.isEmpty)
      #expect(!fixture.channel.isActive)
      fixture.finish()
    }
  }

  @Test("A PROXY header must arrive within the head timeout", arguments: ["PROXY TCP4", ""])
  func time(beginning: String) throws {
    let fixture = try ConnectionFixture(Self.trusting)
    fixture.pass(.seconds(5))
    try fixture.receive(beginning)
    fixture.pass(.milliseconds(4999))
    #expect(fixture.channel.isActive)
    fixture.pass(.milliseconds(1))
    #expect(!fixture.channel.isActive)
    #expect(fixture.wire.sent.isEmpty)
    fixture.finish()
  }

  @Test("A PROXY header must come from a trusted peer")
  func peer() throws {
    let fixture = try ConnectionFixture {
      $0.expectsProxyHeader = true
      $0.trustedPeers = [try ProxyConfiguration.AddressRange(parsing: "127.0.0.2")]
    }
    #expect(!fixture.channel.isActive)
    #expect(fixture.wire.sent.isEmpty)
    fixture.finish()
  }

  @Test("Every beginning of a PROXY header is incomplete, and changed bytes do not crash the parser")
  func prefixes() throws {
    for (header, _) in Self.headers {
      for count in 0..<header.count {
        #expect(
          try ProxyHeader.parse(ByteBuffer(bytes: header.prefix(count)).readableBytesView) == .incomplete)
      }
      for index in header.indices {
        for byte: UInt8 in [0, 0x0A, 0x0D, 0x20, 0x7F, 0xFF] {
          var changed = header
          changed[index] = byte
          _ = try? ProxyHeader.parse(ByteBuffer(bytes: changed).readableBytesView)
        }
      }
    }
  }
}
