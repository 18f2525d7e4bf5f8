// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheProxy
import HTTPCaching
import NIOCore
import Synchronization
import TestSupport
import Testing

@Suite("Large responses damaged on disk", .timeLimit(.minutes(10)))
struct DamageTests {
  private static let count = 700_001

  /// Answers each request with a letter of its own.
  private static func content(_ number: Int) -> String {
    String(repeating: String(UnicodeScalar(UInt8(96 + number))), count: count)
  }

  /// A proxy that has stored the first answer, with a byte of its body file changed.
  private func withDamage(at place: Int, _ test: (ProxyFixture) async throws -> Void) async throws {
    let directory = temporaryURL()
    defer { try? FileManager.default.removeItem(at: directory) }
    try await ProxyFixture.run(
      { $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0) },
      cache: { $0.store.directory = FilePath(directory.path) },
      origin: { [counter = EventCount()] _, connection in
        let number = counter.next()
        try await connection.send(
          ok(Self.content(number), "Cache-Control: max-age=3600\r\nETag: \"\(number)\"\r\n"))
        return true
      }
    ) { proxy in
      #expect(try await proxy.get("/").hasSuffix(Self.content(1)))
      let whole = try await proxy.get("/")
      #expect(whole.contains("test; hit") && whole.hasSuffix(Self.content(1)))
      let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
      let name = try #require(names.first { $0.hasPrefix("body-") })
      let file = try FileHandle(forUpdating: directory.appending(path: name))
      try file.seek(toOffset: UInt64(place))
      // A fixed value may be there already: the table has checksums.
      let byte = try #require(try file.read(upToCount: 1)?.first)
      try file.seek(toOffset: UInt64(place))
      try file.write(contentsOf: [byte ^ 0xFF])
      try file.close()
      try await test(proxy)
    }
  }

  @Test(
    "A response damaged at its beginning or in its table is refetched before sending",
    arguments: [0, 65_535, count, count + 80])
  func beginning(place: Int) async throws {
    try await withDamage(at: place) { proxy in
      let answer = try await proxy.get("/")
      expect(answer, startsWith: "HTTP/1.1 200 ")
      #expect(answer.contains("fwd=uri-miss") && answer.hasSuffix(Self.content(2)))
      #expect(proxy.origin.requests.count == 2)
      #expect(try await proxy.get("/").contains("test; hit"))
    }
  }

  @Test("Damage found while sending ends the connection, and the next request refetches the response")
  func later() async throws {
    try await withDamage(at: 400_000) { proxy in
      let cut = try await proxy.get("/")
      expect(cut, startsWith: "HTTP/1.1 200 ")
      #expect(cut.contains("Content-Length: \(Self.count)\r\n"))
      let content = try #require(cut.firstRange(of: "\r\n\r\n")).upperBound
      let received = cut[content...]
      #expect(received.utf8.count <= 393_216 && received.allSatisfy { $0 == "a" })
      #expect(proxy.origin.requests.count == 1)
      let again = try await proxy.get("/")
      #expect(again.contains("fwd=uri-miss") && again.hasSuffix(Self.content(2)))
      let metrics = try await RawClient.connect(to: proxy.adminPort).exchange(
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      #expect(metrics.contains("\nhttpcache_corrupt_records_total 1\n"))
    }
  }

  @Test("A damaged response still answers HEAD and undamaged ranges")
  func parts() async throws {
    try await withDamage(at: 400_000) { proxy in
      #expect(try await proxy.get("/", "Range: bytes=0-9\r\n").hasSuffix("\r\n\r\naaaaaaaaaa"))
      let head = try await proxy.exchange("HEAD / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
      #expect(head.contains("test; hit") && head.hasSuffix("\r\n\r\n"))
      #expect(proxy.origin.requests.count == 1)
      let damaged = try await proxy.get("/", "Range: bytes=400000-400009\r\n")
      #expect(!damaged.contains("test; hit"))
      #expect(proxy.origin.requests.count == 2)
    }
  }
}
