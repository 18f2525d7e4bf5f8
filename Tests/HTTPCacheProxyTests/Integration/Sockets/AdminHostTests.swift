// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import NIOCore
import TestSupport
import Testing

@Suite("Hosts of the admin port", .timeLimit(.minutes(10)))
struct AdminHostTests {
  @Test(
    "The admin port answers addresses, localhost and configured names, and other hosts get 421",
    arguments: [
      ("Host: evil.example\r\n", 421), ("Host: evil.example:9090\r\n", 421),
      ("Host: 127.0.0.1.example\r\n", 421),
      ("Host: localhost.evil.example\r\n", 421), ("Host: \r\n", 421), ("Host: [evil\r\n", 421),
      ("Host: 127.0.0.1\r\n", 200), ("Host: 127.0.0.1:9090\r\n", 200), ("Host: 192.0.2.1\r\n", 200),
      ("Host: [::1]:9090\r\n", 200), ("Host: localhost:1\r\n", 200), ("Host: LocalHost\r\n", 200),
      ("Host: cache.internal\r\n", 200), ("Host: CACHE.internal:80\r\n", 200), ("", 200),
      ("Host: localhost\r\nHost: evil.example\r\n", 400), ("Host: [::1].evil\r\n", 421),
      ("Host: [::1]evil:80\r\n", 421), ("Host: [::1]:80.evil\r\n", 421), ("Host: 127.0.0.1:80.evil\r\n", 421),
      ("Host: localhost:@evil.example\r\n", 421), ("Host: [::1]\r\n", 200), ("Host: localhost:\r\n", 200),
    ])
  func host(fields: String, status: Int) async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
      $0.adminHosts = ["Cache.Internal"]
    } origin: { _, _ in
      true
    } _: { proxy in
      for line in ["GET /metrics", "GET /status", "GET /", "POST /purge?all"] {
        let text = "\(line) HTTP/1.1\r\nContent-Length: 0\r\nConnection: close\r\n\(fields)\r\n"
        expect(
          try await RawClient.connect(to: proxy.adminPort).exchange(text), startsWith: "HTTP/1.1 \(status) ")
      }
      // Probes have names of all sorts, and learn nothing.
      let text = "GET /health HTTP/1.1\r\nConnection: close\r\n\(fields)\r\n"
      expect(try await RawClient.connect(to: proxy.adminPort).exchange(text), startsWith: "HTTP/1.1 200 ")
    }
  }

  @Test("An admin port reachable from other machines accepts any host, and purging requires the token")
  func open() async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "0.0.0.0", port: 0)
      $0.adminToken = "secret"
    } origin: { _, _ in
      true
    } _: { proxy in
      for (line, status) in [("GET /metrics", 200), ("POST /purge?all", 401)] {
        let text =
          "\(line) HTTP/1.1\r\nHost: cache7.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        expect(
          try await RawClient.connect(to: proxy.adminPort).exchange(text), startsWith: "HTTP/1.1 \(status) ")
      }
    }
  }
}
