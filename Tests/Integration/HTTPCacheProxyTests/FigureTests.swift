// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheObserving
import HTTPCaching
import NIOCore
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("The proxy's statistics", .timeLimit(.minutes(10)))
struct FigureTests {
  private func metrics(_ proxy: ProxyFixture) async throws -> PrometheusPage {
    try PrometheusPage(body(of: try await admin(proxy, "/metrics")))
  }

  private func admin(_ proxy: ProxyFixture, _ path: String) async throws -> String {
    try await RawClient.exchange(
      "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", port: proxy.adminPort)
  }

  private func body(of response: String) -> String {
    response.firstRange(of: "\r\n\r\n").map { String(response[$0.upperBound...]) } ?? ""
  }

  @Test("Valid metrics count requests and content bytes by outcome and status class")
  func outcomes() async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Address(host: "127.0.0.1", port: 0)
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
      #expect(page.samples["httpcache_build_info{version=\"\(HTTPCache.version)\"}"] == 1)
      // With the 304 and the 404; without the connection that the origin closed.
      #expect(page.samples["httpcache_origin_latency_seconds_count"] == 4)
      #expect(page.types["httpcache_origin_latency_seconds"] == "histogram")
    }
  }

  @Test("The hit ratio counts answers without the origin, and revalidations are separate")
  func ratios() {
    let statistics = ProxyStatistics()
    for (outcome, requests, bytes) in [
      (RequestOutcome.hit, 5, 100), (.stale, 1, 200), (.validated, 2, 300), (.network, 1, 350),
      (.failed, 1, 50),
      (.refused, 90, 9000),
    ] {
      for _ in 0..<requests { statistics.answered(outcome, 200) }
      statistics.sent(bytes, outcome, 200)
    }
    let figures = Figures(statistics)
    #expect(figures.share(of: [.hit, .stale]).requests == 0.6)
    #expect(figures.share(of: [.hit, .stale]).contentBytes == 0.3)
    #expect(figures.share(of: [.validated]).requests == 0.2)
    #expect(figures.share(of: [.validated]).contentBytes == 0.3)
    #expect(Figures(ProxyStatistics()).share(of: [.hit]).requests == nil)
    #expect((figures - figures).share(of: [.hit]).requests == nil)
  }

  @Test("The status page shows the last minute and all time")
  func page() async throws {
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Address(host: "127.0.0.1", port: 0)
    } origin: { _, connection in
      try await connection.send(ok("hello", "Cache-Control: max-age=3600\r\n"))
      return true
    } _: { proxy in
      for _ in 1...4 { _ = try await proxy.get("/") }
      let page = try await admin(proxy, "/status")
      let row = "<tr><td>hit ratio: answered without the origin</td><td>75.0%</td><td>75.0%</td></tr>"
      #expect(page.contains(row))
      #expect(page.contains("<tr><td>validated by the origin</td><td>0.0%</td><td>0.0%</td></tr>"))
      #expect(page.contains("<tr><td>hit</td><td>3</td><td>3</td></tr>"))
      #expect(page.contains("<th>all time</th>"))
    }
  }

  @Test("Recent statistics cover the last minute, or the time since the start")
  func lastMinute() {
    let statistics = ProxyStatistics()
    let clock = ManualClock(Timestamp(seconds: 1_000_000))
    let recent = RecentFigures(Figures(statistics), clock: clock)
    // A request a second, and a look at the counters every five.
    func pass(seconds: Int64) {
      for second in 1...seconds {
        statistics.answered(.hit, 200)
        clock.advance(seconds: 1)
        if second % RecentFigures.interval == 0 { recent.note(Figures(statistics)) }
      }
    }
    func last() -> (Int, Int64) {
      let last = recent.last(Figures(statistics))
      return (last.figures.requests(.hit), last.seconds)
    }
    #expect(last() == (0, 0))
    pass(seconds: 30)
    #expect(last() == (30, 30))
    pass(seconds: 300)
    #expect(last() == (60, 60))
    clock.advance(seconds: 3)
    #expect(last() == (60, 63))
    // Nobody looked for an hour: what is told says for how long it is.
    clock.advance(seconds: 3600)
    #expect(last().0 == 0)
  }

  @Test("A latency is counted in the first bucket that fits")
  func buckets() {
    for microseconds: Int64 in [
      0, 1, 99, 100, 101, 200, 201, 400, 12_345, 100 << 17, (100 << 17) + 1, 1 << 40,
    ] {
      let histogram = LatencyHistogram()
      histogram.record(microseconds: microseconds)
      let expected =
        LatencyHistogram.bounds.firstIndex { microseconds <= $0 } ?? LatencyHistogram.bounds.count
      #expect(histogram.snapshot.counts.firstIndex(of: 1) == expected, "\(microseconds)")
    }
  }
}
