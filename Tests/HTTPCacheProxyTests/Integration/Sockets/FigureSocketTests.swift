// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import HTTPCaching
import TestSupport
import Testing

@Suite("The proxy's statistics", .timeLimit(.minutes(10)))
struct FigureSocketTests {
  private func metrics(_ proxy: ProxyFixture) async throws -> PrometheusPage {
    try PrometheusPage(body(of: try await admin(proxy, "/metrics")))
  }

  private func admin(_ proxy: ProxyFixture, _ path: String) async throws -> String {
    try await RawClient.connect(to: proxy.adminPort).exchange(
      "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
  }

  private func body(of response: String) -> String {
    response.firstRange(of: "\r\n\r\n").map { String(response[$0.upperBound...]) } ?? ""
  }

  @Test("Valid metrics count requests and content bytes by outcome and status class")
  func outcomes() async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
      $0.limits.requestBytes = 10
    } origin: { request, connection in
      if request.contains("/none") {
        try await connection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno")
      } else if request.contains("/closed") {
        return false
      } else if request.contains("If-None-Match") {
        try await connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n")
      } else if request.contains("/validated") {
        try await connection.send(ok("12345678", "ETag: \"a\"\r\nCache-Control: no-cache\r\n"))
      } else {
        try await connection.send(ok("hello", "Cache-Control: max-age=3600\r\n"))
      }
      return true
    } _: { proxy in
      for path in ["/a", "/a", "/a", "/validated", "/validated", "/none", "/closed"] {
        _ = try await proxy.get(path)
      }
      _ = try await proxy.exchange("HEAD /a HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
      _ = try await proxy.get("/never", "Cache-Control: only-if-cached\r\n")
      _ = try await proxy.exchange("nonsense\r\n\r\n")
      _ = try await proxy.exchange("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n")
      let page = try await metrics(proxy)
      let expected: [(String, String, Double)] = [
        ("hit", "2xx", 3), ("validated", "2xx", 1), ("network", "2xx", 2), ("network", "4xx", 1),
        ("generated", "5xx", 1), ("failed", "5xx", 1), ("refused", "4xx", 2), ("stale", "2xx", 0),
      ]
      for (outcome, status, count) in expected {
        #expect(
          page.samples["httpcache_requests_total{outcome=\"\(outcome)\",status=\"\(status)\"}"] == count,
          "\(outcome) \(status)")
      }
      let bytes: [String: Double] = ["hit": 10, "validated": 8, "network": 5 + 8 + 2, "stale": 0]
      for (outcome, count) in bytes {
        #expect(page.samples["httpcache_content_bytes_total{outcome=\"\(outcome)\"}"] == count, "\(outcome)")
      }
      #expect(try #require(page.samples["process_cpu_seconds_total"]) > 0)
      #expect(try #require(page.samples["process_open_fds"]) > 5)
      #expect(
        try #require(page.samples["process_max_fds"]) >= #require(page.samples["process_open_fds"]))
      #if os(Linux)
        #expect(try #require(page.samples["process_resident_memory_bytes"]) > 1e6)
        #expect(
          try #require(page.samples["process_virtual_memory_bytes"])
            > #require(page.samples["process_resident_memory_bytes"]))
        #expect(try #require(page.samples["process_threads"]) > 1)
        // Later than this code, and earlier than now.
        let start = try #require(page.samples["process_start_time_seconds"])
        #expect(start > 1_700_000_000 && start < Double(SystemCacheClock.shared.now.seconds) + 1)
      #endif
      #expect(page.samples["httpcache_build_info{version=\"\(HTTPCache.version)\"}"] == 1)
      // With the 304 and the 404; without the connection that the origin closed.
      #expect(page.samples["httpcache_origin_latency_seconds_count"] == 4)
      #expect(page.types["httpcache_origin_latency_seconds"] == "histogram")
    }
  }
}
