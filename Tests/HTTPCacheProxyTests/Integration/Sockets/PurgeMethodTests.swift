// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

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
