// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheProxy
import HTTPCaching
import NIOCore
import TestSupport
import Testing

@Suite("The dashboard and the alerts", .timeLimit(.minutes(10)))
struct MonitoringTests {
  /// The panels of the dashboard, and their queries.
  static let panels: [(title: String, queries: [String])] = {
    struct Dashboard: Decodable {
      struct Target: Decodable { var expr: String }
      struct Panel: Decodable {
        var title: String
        var targets: [Target]?
      }
      struct Annotations: Decodable {
        struct Annotation: Decodable { var expr: String }
        var list: [Annotation]
      }
      var panels: [Panel]
      var annotations: Annotations
    }
    guard let text = try? Repository.text("Documentation/Monitoring/Grafana.json"),
      let dashboard = try? JSONDecoder().decode(Dashboard.self, from: Data(text.utf8))
    else { return [] }
    return dashboard.panels.compactMap { panel in panel.targets.map { (panel.title, $0.map(\.expr)) } }
      + [("Starts", dashboard.annotations.list.map(\.expr))]
  }()

  /// The names of the alerts, and their queries.
  static let alerts: [(name: String, query: String)] = {
    let lines = ((try? Repository.text("Documentation/Monitoring/Alerts.yaml")) ?? "")
      .split(separator: "\n").map { $0.drop { $0 == " " } }
    var alerts: [(name: String, query: String)] = []
    for (index, line) in lines.enumerated() where line.hasPrefix("- alert: ") {
      let query = lines[(index + 1)...].filter { !$0.hasPrefix("#") }.prefix {
        !$0.hasPrefix("for:") && !$0.hasPrefix("labels:")
      }
      let text = query.joined(separator: " ").replacing("expr: >- ", with: "").replacing("expr: ", with: "")
      alerts.append((String(line.dropFirst("- alert: ".count)), text))
    }
    return alerts
  }()

  /// Metrics of what the proxy of this test does not have: a shared tier.
  private static let ofSharedTier = "httpcache_shared_"

  /// A proxy with two sites, traffic of all kinds, and what its metrics were before and after.
  private func scraped() async throws -> PromQL {
    var metrics: PromQL?
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
      let origin = $0.origin
      $0.sites = [
        .init(name: "one", hosts: ["one.example"], origin: origin),
        .init(name: "two", hosts: ["two.example"], origin: .init(host: "127.0.0.1", port: 9)),
      ]
    } cache: {
      $0.cacheRules = (try? CacheRules([CacheRule(name: "some") { $0.grace = .seconds(1) }])) ?? CacheRules()
    } origin: { request, connection in
      try await connection.send(
        ok(
          "hello",
          request.contains("/stored") ? "Cache-Control: max-age=600\r\n" : "Cache-Control: no-store\r\n"))
      return true
    } _: { proxy in
      func page() async throws -> String {
        let answer = try await proxy.ask("GET /metrics")
        return String(answer[(answer.firstRange(of: "\r\n\r\n")?.upperBound ?? answer.endIndex)...])
      }
      func ask() async throws {
        for (host, path) in [
          ("one.example", "/stored"), ("one.example", "/stored"), ("one.example", "/"), ("two.example", "/"),
          ("three.example", "/"),
        ] {
          _ = try await proxy.exchange("GET \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
        }
      }
      try await ask()
      let earlier = try await page()
      try await ask()
      let later =
        try await page()
        // What needs files of certificates is told by other tests.
        + "httpcache_certificate_end_seconds{file=\"a.pem\"} 2000000\nup 1\n"
      metrics = try PromQL(
        earlier: earlier, later: later, labels: ["job": "httpcache", "instance": "a:9090"])
    }
    return try #require(metrics)
  }

  private func values(_ query: String, _ metrics: PromQL) throws -> [Double] {
    let text = query.replacing("$job", with: "httpcache").replacing("$instance", with: "a:9090|b:9090")
      .replacing("$site", with: ".*")
    guard case .vector(let samples) = try metrics.evaluate(text) else { return [] }
    return samples.map(\.value)
  }

  @Test("Each query of the dashboard has a result from the metrics of a proxy")
  func dashboard() async throws {
    #expect(Self.panels.count == 25)
    let metrics = try await scraped()
    for (title, queries) in Self.panels {
      for query in queries where !query.contains(Self.ofSharedTier) {
        do {
          let values = try values(query, metrics)
          // Memory only, and no start between the scrapes.
          let mayBeEmpty = query.contains("disk_capacity") || query.contains("changes(")
          #expect(mayBeEmpty || !values.isEmpty, "\(title): \(query)")
        } catch {
          Issue.record("\(title): \(query): \(error)")
        }
      }
    }
    func value(_ title: String, _ index: Int = 0) throws -> [Double] {
      let panel = try #require(Self.panels.first { $0.title == title })
      return try values(panel.queries[index], metrics)
    }
    // Two hits and one miss, between the scrapes; one request failed.
    #expect(try value("Hit ratio") == [0.5])
    #expect(try value("Errors that clients see").sorted().last == 1)
    #expect(try value("Servers that are up").count == 2)
  }

  @Test("Each alert has a query that the metrics of a proxy answer, and those of trouble fire")
  func firing() async throws {
    #expect(Self.alerts.count == 12)
    let metrics = try await scraped()
    var firing: Set<String> = []
    for (name, query) in Self.alerts where !query.contains(Self.ofSharedTier) {
      do {
        if !(try values(query, metrics)).isEmpty { firing.insert(name) }
      } catch {
        Issue.record("\(name): \(query): \(error)")
      }
    }
    // One of the two origins refuses its connections, and the certificate ends in less than two weeks.
    #expect(firing == ["HTTPCacheErrors", "HTTPCacheCertificateEnds"])
  }

  @Test("A metric or a label that does not exist is found")
  func faults() async throws {
    let metrics = try await scraped()
    for query in [
      "httpcache_nothing", "httpcache_connections{colour=\"x\"}", "sum(rate(httpcache_connections))",
      "sum(",
    ] {
      #expect(throws: PromQL.Fault.self, "\(query)") { try metrics.evaluate(query) }
    }
  }
}
