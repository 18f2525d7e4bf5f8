// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCaching
import TestSupport
import Testing
import TransportSecurity

@testable import HTTPCacheRedis

@Suite("URLs of servers")
struct EndpointTests {
  struct Example: CustomTestStringConvertible, Sendable {
    var url: String
    var endpoint: RedisEndpoint
    var testDescription: String { url }

    init(
      _ url: String, _ addresses: [RedisAddress], _ mode: RedisEndpoint.Mode = .single, user: String? = nil,
      password: String? = nil, database: Int = 0, tls: ClientTLS? = nil
    ) {
      self.url = url
      endpoint = RedisEndpoint(
        addresses, mode: mode, credentials: password.map { RedisCredentials(user: user, password: $0) },
        database: database, tls: tls)
    }
  }

  private static func tcp(_ host: String, _ port: Int = 6379) -> RedisAddress { .tcp(host: host, port: port) }

  private static func tls(_ change: (inout ClientTLS) -> Void = { _ in }) -> ClientTLS {
    var tls = ClientTLS()
    change(&tls)
    return tls
  }

  static let examples = [
    Example("redis://localhost", [tcp("localhost")]),
    Example("redis://localhost/", [tcp("localhost")]),
    Example("REDIS://localhost:1/3", [tcp("localhost", 1)], database: 3),
    Example("valkey://a.example?db=15", [tcp("a.example")], database: 15),
    Example("redis://:secret@h", [tcp("h")], password: "secret"),
    Example("redis://user:se:cr@et@h:7", [tcp("h", 7)], user: "user", password: "se:cr@et"),
    Example("redis://a%40b:%2F%3f%23%C3%A9@h", [tcp("h")], user: "a@b", password: "/?#é"),
    Example("redis://[::1]:6380/0", [tcp("::1", 6380)]),
    Example("redis://[fe80::1]", [tcp("fe80::1")]),
    Example("rediss://h", [tcp("h")], tls: tls()),
    Example(
      "valkeys://h?ca=%2Fa%20b.pem&cert=c.pem&key=k.pem&verify=issuer&name=n.example", [tcp("h")],
      tls: tls {
        $0.issuersFile = "/a b.pem"
        $0.certificateFile = "c.pem"
        $0.keyFile = "k.pem"
        $0.verification = .issuer
        $0.serverName = "n.example"
      }),
    Example("redis+unix:///run/redis.sock", [.unix(path: "/run/redis.sock")]),
    Example("unix:///run/a%20b?db=2", [.unix(path: "/run/a b")], database: 2),
    Example("redis+unix://u:p@/s", [.unix(path: "/s")], user: "u", password: "p"),
    Example("redis+sentinel://a,b:5/main", [tcp("a", 26379), tcp("b", 5)], .sentinel(name: "main")),
    Example(
      "rediss+sentinel://:p@a/ma%2Fin/4", [tcp("a", 26379)], .sentinel(name: "ma/in"), password: "p",
      database: 4, tls: tls()),
    Example("redis+cluster://a:1,[::2]:2,c", [tcp("a", 1), tcp("::2", 2), tcp("c")], .cluster),
    Example("redis://a,b?cluster=1", [tcp("a"), tcp("b")], .cluster),
    Example("rediss+cluster://a", [tcp("a")], .cluster, tls: tls()),
  ]

  @Test("A URL gives its endpoint", arguments: examples)
  func parse(example: Example) throws {
    #expect(try RedisEndpoint(example.url) == example.endpoint)
  }

  @Test("The description of an endpoint is a URL of the same servers", arguments: examples)
  func description(example: Example) throws {
    var expected = example.endpoint
    expected.credentials = nil
    expected.tls = expected.tls.map { _ in ClientTLS() }
    let text = "\(example.endpoint)"
    // Without a password, the user says nothing.
    let url = text.split(separator: "@").last.map { rest in
      text.contains("@") ? text.prefix { $0 != "/" } + "//" + rest : rest
    }
    guard !text.contains(" "), !text.contains("ma/in") else { return }
    #expect(try RedisEndpoint(String(url ?? "")) == expected)
  }

  @Test("A password from elsewhere replaces that of the URL")
  func password() throws {
    let expected = RedisCredentials(user: "u", password: "new")
    #expect(try RedisEndpoint("redis://u@h", password: "new").credentials == expected)
    #expect(try RedisEndpoint("redis://u:old@h", password: "new").credentials == expected)
    #expect(try RedisEndpoint("redis://h", password: "new").credentials == RedisCredentials(password: "new"))
  }

  @Test("The options of a cache take the tier's URL, and refuse another one")
  func options() throws {
    let options = try HTTPCache.SharedTierOptions.redis("redis://cache.internal/3", password: "hunter2")
    let tier = try #require(options.tier as? RedisSharedTier)
    #expect(tier.configuration.endpoint == (try RedisEndpoint("redis://:hunter2@cache.internal/3")))
    #expect(throws: RedisError.self) { try HTTPCache.SharedTierOptions.redis("http://cache.internal/3") }
  }

  @Test("Sentinel may have credentials of its own")
  func sentinelCredentials() throws {
    let endpoint = try RedisEndpoint("redis+sentinel://:a@h/n?sentinel-user=s&sentinel-password=b")
    #expect(endpoint.credentials == RedisCredentials(password: "a"))
    #expect(endpoint.sentinelCredentials == RedisCredentials(user: "s", password: "b"))
  }

  static let malformed = [
    "", "redis", "redis:", "redis:/h", "redis://", "redis:///1", "http://hunter2@h",
    "redis://hunter2:hunter2",
    "redis://u:hunter2", "redis://hunter2@h", "redis://u:hunter2@h:0", "redis://u:hunter2@h:65536",
    "redis://u:hunter2@h:", "redis://u:hunter2@h:x", "redis://u:hunter2@h/x", "redis://u:hunter2@h/-1",
    "redis://u:hunter2@h/1/2", "redis://u:hunter2@h/99999999999999999999", "redis://u:hunter2%@h",
    "redis://u:hunter2%4@h", "redis://u:hunter2%ff@h", "redis://u:hunter2%00@h", "redis://u:hun/ter2@h",
    "redis://u:hunter2?@h", "redis://u:hunter2#@h", "redis://u:hunter2@h/1 ", "redis://u:hunter2@h?db",
    "redis://u:hunter2@h?db=", "redis://u:hunter2@h?db=x", "redis://u:hunter2@h?db=1&db=1",
    "redis://u:hunter2@h?ca=/f",
    "redis://u:hunter2@h?other=hunter2", "redis://u:hunter2@a,b", "redis://u:hunter2@a,,b",
    "redis://u:hunter2@[::1",
    "redis://u:hunter2@[]:1", "redis://u:hunter2@[::1]x", "redis+unix://u:hunter2@h/s", "redis+unix://",
    "redis+unix:///",
    "redis+sentinel://u:hunter2@h", "redis+sentinel://u:hunter2@h/n/x", "redis+cluster://u:hunter2@h/1",
    "redis://u:hunter2@h/1?cluster=1", "redis://u:hunter2@h?cluster=hunter2",
    "rediss://u:hunter2@h?verify=hunter2",
    "redis://u:hunter2@h\u{0}", "redis://u:hunter2@" + String(repeating: "h", count: 5000),
  ]

  @Test("An invalid URL gets an error that contains no password", arguments: malformed)
  func invalid(url: String) {
    let error = #expect(throws: RedisError.self) { try RedisEndpoint(url) }
    #expect(error?.code == .invalidEndpoint)
    #expect(error.map { "\($0)".contains("hunter2") } == false)
  }

  @Test("Descriptions of endpoint and credentials contain no password")
  func secrecy() throws {
    let endpoint = try RedisEndpoint("redis+sentinel://u:hunter2@h/n/1?sentinel-password=hunter2")
    var dumped = ""
    dump(endpoint, to: &dumped)
    for text in ["\(endpoint)", String(reflecting: endpoint), "\(endpoint.credentials as Any)", dumped] {
      #expect(!text.contains("hunter2"))
    }
  }

  @Test("Random changes of URLs never crash", arguments: 0..<10)
  func random(seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    let signs = Array(":/@?#[],%&=+ 0az\u{0}é".unicodeScalars)
    let urls = Self.examples.map(\.url) + Self.malformed
    for _ in 0..<2000 {
      var scalars = Array((urls.randomElement(using: &generator) ?? "").unicodeScalars.prefix(200))
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let position = Int.random(in: 0...scalars.count, using: &generator)
        let sign = signs.randomElement(using: &generator) ?? ":"
        if position < scalars.count, Bool.random(using: &generator) {
          scalars[position] = sign
        } else {
          scalars.insert(sign, at: position)
        }
      }
      var text = String.UnicodeScalarView()
      text.append(contentsOf: scalars)
      guard let endpoint = try? RedisEndpoint(String(text)) else { continue }
      #expect(!endpoint.addresses.isEmpty)
    }
  }
}
