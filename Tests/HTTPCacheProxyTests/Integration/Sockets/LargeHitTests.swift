// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import HTTPCaching
import TestSupport
import Testing

@Suite("Large content in memory, sent as the socket takes it", .timeLimit(.minutes(10)))
struct LargeHitTests {
  /// Content of which each part is different.
  private static func content(_ count: Int) -> String {
    var text = ""
    text.reserveCapacity(count + 8)
    while text.utf8.count < count { text += "\(text.utf8.count)," }
    return String(text.prefix(count))
  }

  private static func fill(_ proxy: ProxyFixture, _ paths: String...) async throws {
    for path in paths { expect(try await proxy.get(path), startsWith: "HTTP/1.1 200 ") }
  }

  private static func origin(_ large: String) -> RawOrigin.Answering {
    { request, connection in
      try await connection.send(
        ok(request.contains("/large") ? large : "small", "Cache-Control: max-age=3600\r\n"))
      return true
    }
  }

  // Around the limit of small content, that of one turn, and more than all buffers of the kernel.
  static let counts = [
    16 << 10, 16 << 10 + 1, 100_000, 256 << 10, 256 << 10 + 1, 1 << 20, 12 << 20,
  ]

  /// Calls `work` with a proxy whose cache has room for the content: in memory, or in files.
  private static func run(
    inFiles: Bool, _ large: String, _ work: (ProxyFixture) async throws -> Void
  ) async throws {
    try await withTemporaryDirectory { directory in
      try await ProxyFixture.run(
        cache: {
          $0.store.memoryCapacity = 128 << 20
          if inFiles { ($0.store.directory, $0.store.diskCapacity) = (directory, 128 << 20) }
        }, origin: Self.origin(large), work)
    }
  }

  @Test(
    "Pipelined requests are answered in order and to the byte, whether the client reads at once or late",
    arguments: counts, [false, true].flatMap { isLate in [false, true].map { (isLate, $0) } })
  func pipelined(count: Int, how: (isLate: Bool, inFiles: Bool)) async throws {
    let large = Self.content(count)
    try await Self.run(inFiles: how.inFiles, large) { proxy in
      try await Self.fill(proxy, "/large", "/small")
      let (from, to) = (count / 3, count - 10)
      let requests: [(method: String, path: String, fields: String, content: String)] = [
        ("GET", "/small", "", "small"), ("GET", "/large", "", large), ("HEAD", "/large", "", ""),
        (
          "GET", "/large", "Range: bytes=\(from)-\(to - 1)\r\n",
          String(decoding: large.utf8.prefix(to).dropFirst(from), as: UTF8.self)
        ),
        ("GET", "/large", "If-None-Match: *\r\n", ""),
        ("GET", "/small", "Connection: close\r\n", "small"),
      ]
      try await RawClient.connect(to: proxy.port).talk { client in
        try await client.send(
          requests.map { "\($0.method) \($0.path) HTTP/1.1\r\nHost: a.example\r\n\($0.fields)\r\n" }.joined())
        // Meanwhile the first client may read nothing.
        if how.isLate { try await Self.fill(proxy, "/small") }
        var rest = (await client.readAll()).utf8[...]
        for (method, path, fields, content) in requests {
          let end = try #require(rest.firstRange(of: "\r\n\r\n".utf8), "\(method) \(path) \(fields)")
          let head = String(Substring(rest[..<end.lowerBound]))
          rest = rest[end.upperBound...]
          expect(
            head,
            startsWith: "HTTP/1.1 \(fields.contains("Range") ? 206 : fields.contains("None") ? 304 : 200) ")
          // Not the whole text in the message of a failure.
          let isRight = rest.starts(with: content.utf8)
          #expect(isRight, "\(method) \(path) \(fields)")
          rest = rest.dropFirst(content.utf8.count)
        }
        #expect(rest.isEmpty)
      }
      #expect(proxy.origin.requests.count == 2)
    }
  }

  @Test(
    "A client that reads nothing delays no other, and its disconnection ends the response",
    arguments: [false, true])
  func leaving(inFiles: Bool) async throws {
    try await Self.run(inFiles: inFiles, Self.content(12 << 20)) { proxy in
      try await Self.fill(proxy, "/large", "/small")
      try await RawClient.connect(to: proxy.port).talk { client in
        try await client.send("GET /large HTTP/1.1\r\nHost: a.example\r\n\r\n")
        await client.read(until: "HTTP/1.1 200 OK")
        // A few bytes wait until the client reads on, and the block of a file for a second.
        try await eventually { (1...1 << 10).contains(proxy.proxy.cache.transit.used) }
        try await Self.fill(proxy, "/small", "/large", "/small")
      }
      try await eventually { proxy.proxy.statistics.openConnections == 0 }
      #expect(proxy.proxy.cache.transit.used == 0)
    }
  }
}
