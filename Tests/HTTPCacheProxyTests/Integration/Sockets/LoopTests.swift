// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import InMemoryLogging
import Logging
import Loopback
import NIOCore
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Requests that come back", .timeLimit(.minutes(10)))
struct LoopTests {
  private static let answering: RawOrigin.Answering = { _, connection in
    try await connection.send(ok("hello", "Cache-Control: max-age=60\r\n"))
    return true
  }

  @Test(
    "A request whose origin is the proxy itself gets 508",
    arguments: [
      ("GET", ""), ("POST", "Content-Length: 1\r\n\r\na"), ("DELETE", ""),
      ("GET", "Connection: Upgrade\r\nUpgrade: echo\r\n"), ("GET", "Via: 1.0 fred, 1.1 p.example.net\r\n"),
    ], [ProxyConfiguration.HTTP2.never, .always])
  func comesBack(request: (method: String, rest: String), http2: ProxyConfiguration.HTTP2) async throws {
    let log = InMemoryLogHandler()
    try await ProxyFixture.run(
      { $0.http2 = .always }, logger: Logger(label: "test") { _ in log }, origin: Self.answering
    ) { proxy in
      var configuration = proxy.proxy.configuration
      configuration.origin = .init(.init(host: "127.0.0.1", port: proxy.port))
      configuration.origin.http2 = http2
      try proxy.proxy.update(configuration)
      let isWhole = request.rest.contains("\r\n\r\n")
      let answer = try await proxy.exchange(
        "\(request.method) /a HTTP/1.1\r\nHost: a\r\n\(isWhole ? "" : "Connection: close\r\n")\(request.rest)\(isWhole ? "" : "\r\n")"
      )
      expect(answer, startsWith: "HTTP/1.1 508 Loop Detected\r\n")
      expect(answer.lowercased(), contains: "proxy-status: httpcache; error=proxy_loop_detected\r\n")
      #expect(log.entries.filter { "\($0.message)".contains("a request has come back") }.count == 1)
    }
  }

  @Test("A second proxy of the same program in the chain is no loop")
  func chain() async throws {
    try await ProxyFixture.run(origin: Self.answering) { inner in
      try await ProxyFixture.run(
        {
          $0.origin = .init(.init(host: "127.0.0.1", port: inner.port))
        }, origin: Self.answering
      ) { outer in
        expect(try await outer.get("/a"), startsWith: "HTTP/1.1 200 OK\r\n")
        let request = try #require(inner.origin.requests.first)
        for proxy in [inner, outer] { expect(request, contains: "Via: 1.1 \(proxy.proxy.pseudonym)\r\n") }
      }
    }
  }

  @Test("A pseudonym is found wherever it is in Via, and in no other field")
  func marks() throws {
    let own = Pseudonym()
    #expect(own.mark.utf8.count == 16 && Pseudonym(mark: own.mark) == own)
    #expect(own != Pseudonym())
    for mark in ["", "123", "0123456789abcdeg", "0123456789abcdef0"] { #expect(Pseudonym(mark: mark) == nil) }
    let via = try #require(HTTPField.Name("VIA"))
    for value in [own.text("httpcache"), "1.1 a, 1.1 \(own.text("x")) (comment), 1.1 b"] {
      #expect(own.isIn([via: value]) && !Pseudonym().isIn([via: value]))
      #expect(!own.isIn([.userAgent: value]))
    }
    #expect(!own.isIn([via: "1.1 httpcache"]) && !own.isIn([:]))
  }
}
