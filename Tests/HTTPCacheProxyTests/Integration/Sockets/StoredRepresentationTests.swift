// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheProxy
import HTTPCacheStore
import HTTPCaching
import Loopback
import NIOCore
import Synchronization
import TestSupport
import Testing

@Suite("Stored representations through the proxy", .timeLimit(.minutes(10)))
struct StoredRepresentationTests {
  /// A 304 to a client that has the tag, and otherwise the content, each with its own fields.
  private static func answer(
    _ request: String, tag: String, _ fields: String, notModified: String
  ) -> String {
    request.contains("If-None-Match: \(tag)")
      ? "HTTP/1.1 304 Not Modified\r\nETag: \(tag)\r\n\(notModified)\r\n"
      : ok("plain bytes", "ETag: \(tag)\r\n\(fields)")
  }

  @Test(
    "A 304 does not change fields that describe the stored bytes (§3.2)",
    arguments: [
      ("Content-Encoding: gzip", ""), ("Content-Type: text/html", "text/plain"),
      ("Content-Range: bytes 0-1/2", ""), ("Content-Language: de", "en"), ("Content-MD5: x", ""),
      ("Repr-Digest: sha-256=:AAAA:", ""), ("Content-Digest: sha-256=:AAAA:", ""), ("Digest: a=b", ""),
    ])
  func describing(named: String, stored: String) async throws {
    let name = String(named.prefix { $0 != ":" })
    let own = stored.isEmpty ? "" : "\(name): \(stored)\r\n"
    try await ProxyFixture.run(origin: { request, connection in
      try await connection.send(
        Self.answer(
          request, tag: "W/\"1\"", "Cache-Control: no-cache\r\n" + own,
          notModified: "Cache-Control: max-age=3600\r\n\(named)\r\nX-New: 1\r\n"))
      return true
    }) { proxy in
      _ = try await proxy.get("/")
      for _ in 0..<2 {
        let answer = try await proxy.get("/")
        expect(answer, startsWith: "HTTP/1.1 200 OK\r\n")
        expect(answer, endsWith: "\r\n\r\nplain bytes")
        #expect(answer.contains("X-New: 1\r\n"))
        #expect(answer.contains("\r\n\(name): ") == !stored.isEmpty, "\(answer)")
        #expect(!answer.contains(named), "\(answer)")
      }
      #expect(proxy.origin.requests.count == 2)
    }
  }

  @Test(
    "Each client gets its own from an origin with one tag for all, over HTTP/1.1 and HTTP/2, from memory and disk",
    arguments: ["Accept", "Cookie", "Authorization", "Accept-Encoding"],
    [(isHTTP2: false, onDisk: false), (false, true), (true, false), (true, true)])
  func ownVariant(name: String, way: (isHTTP2: Bool, onDisk: Bool)) async throws {
    try await withTemporaryDirectory { directory in
      try await HTTP2Tests.run(
        cache: { configuration in
          guard way.onDisk else { return }
          configuration.store.directory = directory
          configuration.store.diskCapacity = 16 << 20
          configuration.store.memoryCapacity = 0
        },
        origin: { request, connection in
          let fields = "ETag: \"1\"\r\nCache-Control: public, max-age=3600\r\nVary: \(name)\r\n"
          let value = request.components(after: "\(name): ")
          try await connection.send(
            request.lowercased().contains("if-none-match: \"1\"")
              ? "HTTP/1.1 304 Not Modified\r\n\(fields)\r\n" : ok("for \(value)", fields))
          return true
        }
      ) { (proxy: ProxyFixture, client: HTTP2Client) async throws in
        for (number, value) in ["anna", "bert", "anna", "bert", "carl"].enumerated() {
          let text: String
          if way.isHTTP2 {
            let answer = try await client.send(HTTP2Tests.request("/", [(name.lowercased(), value)]))
            text = String(decoding: answer.body, as: UTF8.self)
          } else {
            text = try await proxy.get("/", "\(name): \(value)\r\n")
          }
          expect(text, endsWith: "for \(value)")
          #expect(proxy.origin.requests.count == [1, 2, 2, 2, 3][number])
        }
      }
    }
  }

  @Test("Ranges that are fetched at the same time are combined into the whole (§3.4)", arguments: [2, 8])
  func parts(count: Int) async throws {
    let size = 1000
    let arrivals = Atomic(0)
    let all = Gate()
    let letters = (0..<size * count).map { (place: Int) -> UInt8 in UInt8(65 + place / 37 % 26) }
    let content = String(decoding: letters, as: UTF8.self)
    try await ProxyFixture.run(origin: { request, connection in
      guard let range = request.split(separator: "bytes=").dropFirst().first?.prefix(while: { $0 != "\r" }),
        let start = Int(range.prefix { $0 != "-" })
      else {
        Issue.record("the whole was asked for")
        return false
      }
      if arrivals.wrappingAdd(1, ordering: .relaxed).newValue == count { all.open() }
      await all.pass()
      let part = content.dropFirst(start).prefix(size)
      try await connection.send(
        "HTTP/1.1 206 Partial Content\r\nETag: \"1\"\r\nCache-Control: max-age=3600\r\nContent-Length: \(size)\r\n"
          + "Content-Range: bytes \(start)-\(start + size - 1)/\(content.utf8.count)\r\n\r\n\(part)")
      return true
    }) { proxy in
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<count {
          group.addTask {
            let start = number * size
            let answer = try? await proxy.get("/", "Range: bytes=\(start)-\(start + size - 1)\r\n")
            #expect(answer?.hasSuffix("\r\n\r\n" + content.dropFirst(start).prefix(size)) == true)
          }
        }
      }
      let whole = try await proxy.get("/")
      expect(whole, startsWith: "HTTP/1.1 200 OK\r\n")
      expect(whole, endsWith: "\r\n\r\n" + content)
      #expect(whole.contains("test; hit") && proxy.origin.requests.count == count)
    }
  }

  @Test(
    "If a required revalidation cannot reach the origin, the answer is 504 (§5.2.2.2)",
    arguments: [
      "max-age=0, must-revalidate", "max-age=0, proxy-revalidate", "s-maxage=0",
    ])
  func mustRevalidate(directives: String) async throws {
    let isGone = Atomic(false)
    try await ProxyFixture.run(origin: { _, connection in
      if isGone.load(ordering: .relaxed) { return false }
      try await connection.send(ok("one", "Cache-Control: \(directives)\r\nETag: \"1\"\r\n"))
      return true
    }) { proxy in
      _ = try await proxy.get("/")
      isGone.store(true, ordering: .relaxed)
      let answer = try await proxy.get("/")
      expect(answer, startsWith: "HTTP/1.1 504 Gateway Timeout\r\n")
      #expect(
        answer.contains("\r\nCache-Status: test; fwd=stale; detail=revalidationImpossible\r\n"), "\(answer)")
      expect(
        answer,
        endsWith:
          "\r\n\r\n504: The stored response is stale and must be revalidated before use, and the origin cannot be reached.\n"
      )
    }
  }

  @Test("only-if-cached with nothing stored yields 504 with the reason (§5.2.1.7)")
  func onlyIfCached() async throws {
    try await ProxyFixture.run(origin: { _, _ in false }) { proxy in
      let answer = try await proxy.get("/", "Cache-Control: only-if-cached\r\n")
      expect(answer, startsWith: "HTTP/1.1 504 Gateway Timeout\r\n")
      #expect(answer.contains("\r\nCache-Status: test; detail=onlyIfCached\r\n"), "\(answer)")
      expect(
        answer,
        endsWith: "\r\n\r\n504: The request carries only-if-cached, and no stored response can answer it.\n")
      #expect(proxy.origin.requests.isEmpty)
    }
  }

  @Test("Age and ttl add up to the lifetime (RFC 9211 §2.4)")
  func ages() async throws {
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send(ok("one", "Cache-Control: max-age=3600\r\nAge: 7\r\n"))
      return true
    }) { proxy in
      _ = try await proxy.get("/")
      for _ in 0..<20 {
        let answer = try await proxy.get("/")
        func number(after text: String) -> Int? {
          answer.split(separator: text, maxSplits: 1).dropFirst().first.flatMap {
            Int($0.prefix { $0.isNumber })
          }
        }
        let (age, ttl) = (try #require(number(after: "Age: ")), try #require(number(after: "ttl=")))
        #expect(age + ttl == 3600, "\(answer)")
      }
    }
  }
}

extension String {
  /// What follows a text up to the end of the line; empty without it.
  fileprivate func components(after text: String) -> String {
    guard let start = range(of: text, options: .caseInsensitive)?.upperBound else { return "" }
    return String(self[start...].prefix { $0 != "\r\n" })
  }
}
