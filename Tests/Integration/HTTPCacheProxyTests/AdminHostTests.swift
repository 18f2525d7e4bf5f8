// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import NIOCore
import Testing

@testable import HTTPCacheProxy

@Suite("Hosts of the admin port", .timeLimit(.minutes(10)))
struct AdminHostTests {
  @Test(
    "Only loopback addresses and localhost count as loopback",
    arguments: [
      ("127.0.0.1", true), ("127.255.0.9", true), ("::1", true), ("0:0:0:0:0:0:0:1", true),
      ("::ffff:127.0.0.1", true), ("localhost", true), ("LOCALHOST", true),
      ("127.a.example", false), ("127.0.0.1.example", false), ("127.", false), ("127", false),
      ("127.1", false),
      ("127.0.0.1.", false), ("127.0.0.256", false), ("127.0.0.01", false), ("0127.0.0.1", false),
      ("0x7f.0.0.1", false), ("2130706433", false),
      ("localhost.example", false), ("localhost.", false), ("0.0.0.0", false), ("::", false), ("", false),
      ("128.0.0.1", false), ("::ffff:10.0.0.1", false), ("::2", false), ("fe80::1", false), ("1::1", false),
    ])
  func loopback(host: String, isLoopback: Bool) throws {
    #expect(ProxyConfiguration.Address(host: host, port: 1).isLoopback == isLoopback)
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "127.0.0.1", port: 0),
      origin: ProxyConfiguration.Address(host: "127.0.0.1", port: 9))
    configuration.admin = ProxyConfiguration.Address(host: host, port: 0)
    if isLoopback {
      try configuration.validate()
    } else {
      #expect(throws: ProxyConfiguration.ValidationError.self) { try configuration.validate() }
    }
  }

  @Test(
    "The admin port answers addresses, localhost and configured names, and other hosts get 421",
    arguments: [
      ("Host: evil.example\r\n", 421), ("Host: evil.example:9090\r\n", 421),
      ("Host: 127.0.0.1.example\r\n", 421),
      ("Host: localhost.evil.example\r\n", 421), ("Host: \r\n", 421), ("Host: [evil\r\n", 421),
      ("Host: 127.0.0.1\r\n", 200), ("Host: 127.0.0.1:9090\r\n", 200), ("Host: 192.0.2.1\r\n", 200),
      ("Host: [::1]:9090\r\n", 200), ("Host: localhost:1\r\n", 200), ("Host: LocalHost\r\n", 200),
      ("Host: cache.internal\r\n", 200), ("Host: CACHE.internal:80\r\n", 200), ("", 200),
      ("Host: localhost\r\nHost: evil.example\r\n", 400),
    ])
  func host(fields: String, status: Int) async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Address(host: "127.0.0.1", port: 0)
      $0.adminHosts = ["Cache.Internal"]
    } origin: { _, _ in
      true
    } _: { proxy in
      for line in ["GET /metrics", "GET /status", "GET /", "POST /purge?all"] {
        let text = "\(line) HTTP/1.1\r\nContent-Length: 0\r\nConnection: close\r\n\(fields)\r\n"
        expect(
          try await RawClient.exchange(text, port: proxy.adminPort), startsWith: "HTTP/1.1 \(status) ")
      }
      // Probes have names of all sorts, and learn nothing.
      let text = "GET /health HTTP/1.1\r\nConnection: close\r\n\(fields)\r\n"
      expect(try await RawClient.exchange(text, port: proxy.adminPort), startsWith: "HTTP/1.1 200 ")
    }
  }

  @Test("An admin port reachable from other machines accepts any host, and purging requires the token")
  func open() async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Address(host: "0.0.0.0", port: 0)
      $0.adminToken = "secret"
    } origin: { _, _ in
      true
    } _: { proxy in
      for (line, status) in [("GET /metrics", 200), ("POST /purge?all", 401)] {
        let text =
          "\(line) HTTP/1.1\r\nHost: cache7.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        expect(
          try await RawClient.exchange(text, port: proxy.adminPort), startsWith: "HTTP/1.1 \(status) ")
      }
    }
  }
}
