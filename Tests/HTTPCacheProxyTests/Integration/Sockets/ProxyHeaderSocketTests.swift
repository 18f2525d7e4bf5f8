// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import HTTPCaching
import TestSupport
import Testing

@Suite("The PROXY protocol", .timeLimit(.minutes(10)))
struct ProxyHeaderSocketTests {
  private static let signature: [UInt8] = Array("\r\n\r\n\0\r\nQUIT\n".utf8)
  private static let ipv4: [UInt8] = [198, 51, 100, 1, 10, 0, 0, 1, 0x12, 0x67, 0, 80]

  private static let request = Array(
    "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.1.1.1\r\nConnection: close\r\n\r\n".utf8)

  private static func run(
    trusting range: String, _ test: (ProxyFixture) async throws -> Void
  ) async throws {
    let ranges = [try ProxyConfiguration.AddressRange(parsing: range)]
    try await ProxyFixture.run {
      $0.expectsProxyHeader = true
      $0.trustedPeers = ranges
    } origin: { _, connection in
      try await connection.send(ok("hello"))
      return true
    } _: {
      try await test($0)
    }
  }

  private static func send(_ header: [UInt8], to proxy: ProxyFixture) async throws -> String {
    try await RawClient.connect(to: proxy.port).talk { conversation in
      try? await conversation.send(bytes: header)
      // The proxy may have closed the connection by now.
      try? await conversation.send(bytes: request)
      return await conversation.readAll()
    }
  }

  @Test(
    "The PROXY header names the client",
    arguments: [
      (Array("PROXY TCP4 198.51.100.1 10.0.0.1 4711 80\r\n".utf8), "198.51.100.1"),
      (Array("PROXY UNKNOWN\r\n".utf8), "unknown"),
      (signature + [0x21, 0x11, 0, 12] + ipv4, "198.51.100.1"),
      (signature + [0x20, 0x00, 0, 0], "1.1.1.1, 127.0.0.1"),
    ])
  func accepted(header: [UInt8], forwarded: String) async throws {
    try await Self.run(trusting: "127.0.0.0/8") { proxy in
      expect(try await Self.send(header, to: proxy), endsWith: "\r\n\r\nhello")
      let request = try #require(proxy.origin.requests.first)
      #expect(request.contains("\r\nX-Forwarded-For: \(forwarded)\r\n"), "\(request)")
    }
  }

  @Test("A connection without a valid PROXY header, or from an untrusted peer, is closed")
  func refused() async throws {
    for (range, header) in [
      ("127.0.0.0/8", "GET / HTTP/1.1\r\n"), ("127.0.0.2", "PROXY TCP4 127.0.0.2 127.0.0.1 1 1\r\n"),
    ] {
      try await Self.run(trusting: range) { proxy in
        let answer = try await Self.send(Array(header.utf8), to: proxy)
        #expect(answer.isEmpty)
        #expect(proxy.origin.requests.isEmpty)
      }
    }
  }

  @Test("A proxy that expects PROXY headers and trusts no peer does not start")
  func noPeers() async throws {
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "127.0.0.1", port: 0),
      origin: ProxyConfiguration.Address(host: "127.0.0.1", port: 9))
    configuration.expectsProxyHeader = true
    let proxy = CachingProxy(configuration, cache: try .init(.init(memoryCapacity: 1 << 20)))
    await #expect(throws: ProxyConfiguration.ValidationError.self) { try await proxy.run() }
  }

  @Test("Content that comes with the header is read when it is wanted")
  func content() async throws {
    let trusted = try ProxyConfiguration.AddressRange(parsing: "127.0.0.1")
    try await ProxyFixture.run {
      $0.expectsProxyHeader = true
      $0.trustedPeers = [trusted]
    } origin: { _, connection in
      let text = await connection.read(until: "end")
      try await connection.send(ok("\(text.utf8.count { $0 == UInt8(ascii: "x") })"))
      return false
    } _: { proxy in
      let content = String(repeating: "x", count: 100_000) + "end"
      let answer = try await RawClient.connect(to: proxy.port).exchange(
        "PROXY TCP4 192.0.2.1 192.0.2.2 4711 80\r\nPOST / HTTP/1.1\r\nHost: a\r\n"
          + "Content-Length: \(content.utf8.count)\r\nConnection: close\r\n\r\n\(content)")
      expect(answer, endsWith: "\r\n\r\n100000")
    }
  }
}
