// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheProxy
import HTTPCaching
import HTTPTypes
import Loopback
import TestSupport
import Testing

@testable import httpcache

@Suite("Sites of a configuration file", .timeLimit(.minutes(10)))
struct SiteProcessTests {
  private func resolved(_ text: String, _ arguments: String...) async throws -> ProxySettings.Resolved {
    try await withTemporaryFolder { folder in
      try ProxySettings.read(["--config", try folder.write(text, to: "proxy.yaml")] + arguments).resolved()
    }
  }

  private static let text = """
    origin-timeout: 7
    origin-server-name: rest.example
    origin-attempts: 2
    sites:
      - name: shop
        host: [shop.example, "*.shop.example"]
        origin: [http://10.0.0.1:8000, "http://10.0.0.2:8000,weight=3"]
        origin-timeout: 9
        origin-check: /health
        rules:
          - match: { path: /static/* }
            lifetime: 1h
      - host: shop.example
        path: /api
        origin: unix:/run/api.sock
      - origin: https://10.0.0.3
    rules:
      - grace: 1m
    """

  @Test("A site has its own options, and else those outside; the command line comes first")
  func options() async throws {
    let resolved = try await resolved(Self.text, "--origin-attempts", "5")
    let sites = resolved.proxy.sites
    #expect(sites.map(\.name) == ["shop", "shop.example/api", "default"])
    #expect(sites.map(\.hosts) == [["shop.example", "*.shop.example"], ["shop.example"], []])
    #expect(sites.map(\.paths) == [[], ["/api"], []])
    #expect(
      sites.map(\.origin.description) == [
        "http://10.0.0.1:8000, http://10.0.0.2:8000", "http://unix:/run/api.sock", "https://10.0.0.3:443",
      ])
    #expect(sites.map(\.origin.timeouts.firstByte) == [.seconds(9), .seconds(7), .seconds(7)])
    #expect(sites.map(\.origin.checkPath) == ["/health", nil, nil])
    #expect(sites.map(\.origin.limits.attempts) == [5, 5, 5])
    // The name is for the sites with https.
    #expect(sites.map(\.origin.tls?.serverName) == [nil, nil, "rest.example"])
    let rules = resolved.cache.cacheRules
    #expect(rules.rules.map(\.lifetime) == [.seconds(3600), nil])
    let request = HTTPRequest(method: .get, scheme: "http", authority: "a.shop.example", path: "/")
    #expect(rules.site(of: request) == "shop")
    #expect(rules.hasSites && !CacheRules().hasSites)
  }

  @Test("Each example of the page is a valid configuration file with sites")
  func pageExamples() throws {
    let examples = RulesCommandTests.examples(of: "Documentation/Operating/Sites.md")
    #expect(examples.count == 2)
    for example in examples {
      let file = try ConfigurationFile(example, options: OptionList(of: ProxyOptions.self))
      #expect(file.sites?.map(\.name) == ["shop", "shop-api", "blogs"])
    }
  }

  @Test("The certificates of all sites are those of the ports, after the general ones")
  func certificates() async throws {
    try #require(await Certificate.canBeMade())
    try await withTemporaryFolder { folder in
      let (own, other) = (
        try await Certificate.shared(in: folder), try await Certificate.shared(in: folder, for: .other)
      )
      func lines(_ certificate: Certificate, _ indent: String) -> String {
        "\(indent)certificate: \(certificate.file.path)\n\(indent)key: \(certificate.key.path)\n"
      }
      let sites =
        "sites:\n  - host: a.example\n    origin: http://a\n" + lines(other, "    ")
        + "  - origin: http://b\n"
      let both = try await resolved(lines(own, "") + sites)
      #expect(both.proxy.tls?.certificates.map(\.file) == [own.file.path, other.file.path])
      let one = try await resolved(sites)
      #expect(one.proxy.tls?.certificates.map(\.file) == [other.file.path])
      #expect(one.proxy.sites.count == 2)
    }
  }

  @Test("Sites that bring TLS to a port come with a successor")
  func encrypting() async throws {
    try #require(await Certificate.canBeMade())
    try await LoopbackOrigin.with({ _ in .init(body: "hello") }) { origin in
      try await withTemporaryFolder { folder in
        let certificate = try await Certificate.shared(in: folder)
        let base = "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nhandover: h\n"
        let file = try folder.write(base + "origin: \(origin.url(""))\n", to: "proxy.yaml")
        try await CommandProcess.run(["proxy", "--config", file], in: folder.path) { proxy in
          let ports = try await proxy.ports()
          let site =
            "sites:\n  - host: a.example\n    origin: http://127.0.0.1:9\n    certificate: \(certificate.file.path)\n"
            + "    key: \(certificate.key.path)\n"
          try folder.write(
            base + "memory: 1GB\norigin-attempts: 2\nrules: [{ grace: 1m }]\n" + site, to: "proxy.yaml")
          proxy.signal(SIGHUP)
          for name in ["memory", "origin", "origin-attempts", "rules", "sites"] {
            try await proxy.says("SIGHUP: \(name) changes with another process")
          }
          try await proxy.says("another process serves in the place of this one")
          #expect(try await RawClient.certificate(at: ports.listen) == certificate.bytes)
        }
      }
    }
  }

  @Test("SIGHUP adds, changes and removes sites, and says so; a file that is invalid changes nothing")
  func reload() async throws {
    try await LoopbackOrigin.with({ _ in .init(fields: [.cacheControl: "max-age=3600"], body: "hello") }) {
      origin in
      try await withTemporaryFolder { folder in
        // Long enough that no connection ends by itself.
        let base = "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\norigin-idle-timeout: 600\n"
        func site(_ host: String, _ more: String = "") -> String {
          "  - host: \(host)\n    origin: \(origin.url(""))\n\(more)"
        }
        func write(_ sites: String...) throws {
          try folder.write(base + "sites:\n" + sites.joined(), to: "proxy.yaml")
        }
        try write(site("a.example"))
        try await CommandProcess.run(["proxy", "--config", "\(folder.path)/proxy.yaml"]) { proxy in
          let ports = try await proxy.ports()
          func status(_ host: String) async throws -> String {
            let answer = try await RawClient.connect(to: ports.listen).exchange(
              "GET / HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
            return String(answer.dropFirst(9).prefix(3))
          }
          #expect(try await status("a.example") == "200")
          #expect(try await status("b.example") == "421")
          try write(
            site("a.example", "    rules:\n      - set-response-fields: { X-Site: a }\n"), site("b.example"))
          proxy.signal(SIGHUP)
          try await proxy.says("sites has changed: 'a.example' before, 'a.example (changed), b.example' now")
          #expect(try await status("b.example") == "200")
          try write(site("b.example"), site("b.example"))
          proxy.signal(SIGHUP)
          try await proxy.says(
            "the configuration is unchanged: \(folder.path)/proxy.yaml:7: sites: two sites have the name 'b.example'"
          )
          #expect(try await status("a.example") == "200")
          // One origin without a site, as without `sites`.
          try folder.write(base + "origin: \(origin.url(""))\n", to: "proxy.yaml")
          proxy.signal(SIGHUP)
          try await proxy.says("sites has changed: 'a.example, b.example' before, '' now")
          #expect(try await status("c.example") == "200")
          let metrics = try await ports.ask("/metrics")
          #expect(metrics.contains("\nhttpcache_requests_total{outcome=\"network\",status=\"2xx\"} 1\n"))
          #expect(!metrics.contains("site="))
          // The idle connections of the two sites are closed.
          try await eventually {
            try await ports.ask("/metrics").contains(
              "\nhttpcache_live_objects{kind=\"origin_connection\"} 1\n")
          }
          proxy.signal(SIGTERM)
          #expect(try await proxy.end().status == 0)
        }
      }
    }
  }
}
