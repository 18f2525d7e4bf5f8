// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import HTTPCacheObserving
import HTTPCacheProxy
import Loopback
import NIOCore
import NIOHPACK
import TestSupport
import Testing

@Suite("Responses through the proxy", .timeLimit(.minutes(10)))
struct ResponseTests {
  @Test("On a miss the origin's fields pass unchanged, with Age and without connection fields")
  func fields() async throws {
    let head =
      "HTTP/1.1 203 Some Phrase\r\nx-ONE: 1\r\nAge: 7\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n"
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send(
        head
          + "Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=9\r\nX-Spaced : v\r\nContent-Length: 2\r\n\r\nok"
      )
      return true
    }) { proxy in
      let answer = try await proxy.get("/")
      #expect(answer.hasPrefix(head + "X-Spaced: v\r\nContent-Length: 2\r\nCache-Status: "), "\(answer)")
      #expect(answer.contains("\r\nVia: 1.1 httpcache\r\nConnection: close\r\n\r\nok"))
    }
  }

  @Test(
    "Heads of any size go out once, to the client and to the origin",
    arguments: ["no-store", "max-age=60", "max-age=0"], [900, 1100, 3000, 5000])
  func heads(_ cacheControl: String, _ size: Int) async throws {
    let long = String(repeating: "a", count: size)
    try await ProxyFixture.run {
      $0.threads = 1
    } origin: { request, connection in
      if !request.hasPrefix("POST") {
        try await connection.send("HTTP/1.1 103 Early Hints\r\nLink: \(long)\r\n\r\n")
      }
      try await connection.send(
        ok("done", "Cache-Control: \(cacheControl)\r\nETag: \"\(long)\"\r\nX: \(long)\r\n"))
      return true
    } _: { proxy in
      let methods = ["GET", "GET", "GET", "POST", "GET"]
      let requests = methods.map { "\($0) / HTTP/1.1\r\nHost: a\r\nCookie: \(long)\r\n" }
      let answer = try await proxy.exchange(
        requests.map { $0 + "\r\n" }.dropLast().joined() + requests[4] + "Connection: close\r\n\r\n")
      #expect(answer.ranges(of: "HTTP/1.1 200 OK").count == 5, "\(answer.utf8.count)")
      #expect(answer.ranges(of: "\r\n\r\ndone").count == 5)
      let seen = proxy.origin.requests
      #expect(
        answer.ranges(of: "HTTP/1.1 103").count == seen.count { !$0.hasPrefix("POST") })
      #expect(seen.count == (cacheControl == "max-age=60" ? 3 : 5))
      #expect(seen.allSatisfy { $0.hasPrefix("GET / HTTP/1.1") || $0.hasPrefix("POST / HTTP/1.1") })
    }
  }

  @Test("Field values that are not UTF-8 pass unchanged (RFC 9110 §5.5)")
  func octets() async throws {
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send(
        bytes: Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ".utf8) + [0xE9, 0xFF]
          + Array("\r\n\r\n".utf8))
      return true
    }) { proxy in
      let bytes = Mutex<[UInt8]>([])
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        while let next = try? await conversation.input.next() {
          bytes.withLock { $0 += next.readableBytesView }
        }
      }
      #expect(bytes.withLock { $0 }.contains([0x58, 0x3A, 0x20, 0xE9, 0xFF, 0x0D]))
    }
  }

  @Test("Interim responses precede the final one, except for HTTP/1.0 (RFC 9110 §15.2)")
  func interim() async throws {
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send(
        "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok("done"))
      return true
    }) { proxy in
      let answer = try await proxy.get("/a")
      #expect(
        answer.hasPrefix(
          "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n"))
      let old = try await proxy.exchange("GET /b HTTP/1.0\r\n\r\n")
      #expect(old.hasPrefix("HTTP/1.1 200 OK\r\n"))
    }
  }

  @Test("Chunks and trailers pass through, and HTTP/1.0 gets the content alone")
  func trailers() async throws {
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;ext\r\nhello\r\n0\r\nX-Sum: 1\r\nContent-Length: 9\r\n\r\n"
      )
      return true
    }) { proxy in
      let answer = try await proxy.get("/a")
      #expect(answer.hasSuffix("\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"), "\(answer)")
      let old = try await proxy.exchange("GET /b HTTP/1.0\r\n\r\n")
      #expect(old.hasSuffix("\r\n\r\nhello"), "\(old)")
    }
  }

  @Test("Responses to HEAD and 304 responses have no content")
  func noContent() async throws {
    try await ProxyFixture.run(origin: { request, connection in
      let status = request.hasPrefix("HEAD") ? "200 OK" : "304 Not Modified"
      try await connection.send("HTTP/1.1 \(status)\r\nContent-Length: 99\r\n\r\n")
      return true
    }) { proxy in
      let head = try await proxy.exchange("HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      #expect(head.hasSuffix("\r\n\r\n"))
      #expect(head.contains("Content-Length: 99\r\n"))
      let unchanged = try await proxy.get("/", "If-None-Match: \"a\"\r\n")
      #expect(unchanged.hasPrefix("HTTP/1.1 304 "))
      #expect(proxy.origin.connectionCount == 1)
    }
  }

  @Test(
    "A 304 to a request without a condition is an error of the origin, and one to an unreadable condition is passed on"
  )
  func unsolicited304() async throws {
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n")
      return true
    }) { proxy in
      let plain = try await proxy.get("/")
      #expect(
        plain.hasPrefix("HTTP/1.1 502 ") && plain.contains("detail=unsolicitedNotModified\r\n"), "\(plain)")
      #expect(plain.contains("Proxy-Status: httpcache; error=http_protocol_error\r\n"), "\(plain)")
      let odd = try await proxy.get("/", "If-Modified-Since: Wed, 25 Nov 2026 15:49:31 GMT; length=9\r\n")
      #expect(odd.hasPrefix("HTTP/1.1 304 "), "\(odd)")
    }
  }

  static let broken: [(answer: String, status: Int)] = [
    ("", 502),
    ("HTTP/1.1 200 O", 502),
    ("nonsense\r\n\r\n", 502),
    ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 502),
    ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 502),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 502),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: frob, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 502),
    ("HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nTransfer-Encoding: frob\r\n\r\nx", 502),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 502),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nx", 502),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\r\nx", 502),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 502),
    ("HTTP/1.1 200 OK\r\nX: 1\r\n folded\r\n\r\n", 502),
    ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", 502),
    ("HTTP/1.1 099 No\r\n\r\n", 502),
  ]

  @Test(
    "An incomplete or invalid response from the origin yields 502 with a reason", arguments: broken)
  func badGateway(answer: String, status: Int) async throws {
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send(answer)
      return false
    }) { proxy in
      let got = try await proxy.get("/")
      #expect(got.hasPrefix("HTTP/1.1 \(status) "), "\(answer): \(got)")
      #expect(got.contains("Proxy-Status: httpcache; error="))
      _ = try await proxy.get("/")
      #expect(proxy.origin.requests.count == 2, "nothing of it is stored")
    }
  }

  @Test("Empty elements of Transfer-Encoding are ignored (RFC 9110 §5.6.1)")
  func emptyCodings() async throws {
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: , Chunked,\r\n\r\n1\r\nx\r\n0\r\n\r\n")
      return true
    }) { proxy in
      expect(try await proxy.get("/"), endsWith: "\r\n\r\n1\r\nx\r\n0\r\n\r\n")
    }
  }

  @Test("A silent origin yields 504")
  func silence() async throws {
    try await ProxyFixture.run {
      ($0.origin.timeouts.firstByte, $0.origin.timeouts.betweenBytes) = (.zero, .zero)
    } origin: { _, connection in
      _ = await connection.read(until: "never")
      return false
    } _: { proxy in
      let answer = try await proxy.get("/")
      expect(answer, startsWith: "HTTP/1.1 504 ")
    }
  }

  // With the usual time-out: while another test starts a process, that process may still hold the closed port, and accept
  // connections.
  @Test("An unreachable origin yields 502")
  func unreachable() async throws {
    try await ProxyFixture.run { _, _ in
      true
    } _: { proxy in
      await proxy.origin.stop()
      expect(try await proxy.get("/"), startsWith: "HTTP/1.1 502 ")
    }
  }

  @Test(
    "Truncated content is visibly incomplete and not stored as complete",
    arguments: [
      "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nContent-Length: 10\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
      "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nx",
      "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nContent-Length: 10\r\n\r\n",
      "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 10\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 404 Not Found\r\nContent-Length: 10\r\n\r\n",
    ])
  func cut(answer: String) async throws {
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send(answer)
      return false
    }) { proxy in
      for _ in 1...2 {
        let got = try await proxy.get("/")
        #expect(!got.hasSuffix("0\r\n\r\n"), "\(got)")
        // Never an empty reply: clients and balancers repeat such a request.
        #expect(
          got.hasPrefix("HTTP/1.1 502") || got.hasPrefix("HTTP/1.1 ") && !got.contains("; hit"), "\(got)")
      }
      #expect(proxy.origin.requests.count == 2)
      let posted = try await proxy.exchange(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx")
      #expect(posted.hasPrefix("HTTP/1.1 "))
    }
  }

  @Test("A connection with unsolicited bytes is not reused")
  func unsolicited() async throws {
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send(ok("one") + ok("poison"))
      return true
    }) { proxy in
      for path in ["/a", "/b"] { expect(try await proxy.get(path), endsWith: "one") }
      #expect(proxy.origin.connectionCount == 2)
    }
  }

  @Test(
    "A 204 ends with its head, whatever its Content-Length, which is removed (RFC 9112 §6.3, RFC 9110 §8.6)",
    arguments: [
      ("Content-Length: 2\r\n", "", true), ("Content-Length: 0\r\n", "", true), ("", "", true),
      ("Content-Length: 2\r\nContent-Length: 3\r\n", "", true), ("Content-Length: x\r\n", "", true),
      ("Transfer-Encoding: chunked\r\n", "", true), ("Content-Length: 2\r\n", "ab", false),
    ])
  func noContent(framing: String, bytes: String, isReused: Bool) async throws {
    try await ProxyFixture.run {
      $0.http2 = .always
    } origin: { request, connection in
      let control = request.contains(" /stored") ? "max-age=3600" : "no-store"
      try await connection.send(
        "HTTP/1.1 204 No Content\r\nCache-Control: \(control)\r\n\(framing)\r\n\(bytes)")
      return true
    } _: { proxy in
      let client = try await HTTP2Client.connect(port: proxy.port)
      for path in ["/a", "/stored", "/stored", "/b"] {
        let answer = try await proxy.get(path)
        expect(answer, startsWith: "HTTP/1.1 204 No Content\r\n")
        expect(answer, endsWith: "\r\n\r\n")
        #expect(
          !answer.contains("\r\nContent-Length:") && !answer.contains("\r\nTransfer-Encoding:"), "\(answer)")
        let other = try await client.send(HTTP2Client.request(path))
        #expect(other.status == 204 && other.isWhole && other.body.isEmpty)
        #expect(other.fields?["content-length"] == [])
      }
      await client.close()
      #expect(proxy.origin.requests.count { $0.contains(" /stored ") } == 1)
      #expect(proxy.origin.requests.count == 5)
      #expect(proxy.origin.connectionCount == (isReused ? 1 : 5))
    }
  }

  @Test(
    "A request on a closing connection is retried only if idempotent and unanswered (RFC 9110 §9.2.2)",
    arguments: [
      ("GET", "", 2, "200"), ("HEAD", "", 2, "200"), ("OPTIONS", "", 2, "200"), ("DELETE", "", 2, "200"),
      ("POST", "", 1, "502"), ("PATCH", "", 1, "502"),
      // Meant for the idle connection (RFC 9110 §15.5.9).
      ("GET", "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n", 2, "200"),
      ("POST", "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n", 1, "408"),
      // A response has begun: the origin has read the request.
      ("GET", "HTTP/1.1 2", 1, "502"), ("GET", "HTTP/1.1 100 Continue\r\n\r\n", 1, "502"),
    ])
  func retry(method: String, beginning: String, attempts: Int, status: String) async throws {
    let count = EventCount()
    try await ProxyFixture.run(origin: { request, connection in
      guard request.contains("/again") else {
        try await connection.send(ok("first"))
        return true
      }
      if count.next() == 1 {
        try await connection.send(beginning)
        return false
      }
      try await connection.send(ok(request.hasPrefix("HEAD") ? "" : "again"))
      return true
    }) { proxy in
      _ = try await proxy.get("/first")
      let answer = try await proxy.exchange(
        "\(method) /again HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
      #expect(count.count == attempts)
    }
  }

  @Test("A request is retried once, and not on another idle connection")
  func retryOnce() async throws {
    let arrivals = EventCount()
    let together = Gate()
    try await ProxyFixture.run {
      $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
    } origin: { request, connection in
      if request.contains("/fill") {
        if arrivals.next() == 5 { together.open() }
        await together.pass()
        try await connection.send(ok("filled"))
        return true
      }
      // All five idle connections close at the next request, and only new ones answer.
      guard connection.received.ranges(of: "\r\n\r\n").count == 1 else { return false }
      try await connection.send(ok("new"))
      return true
    } _: { proxy in
      try await withThrowingTaskGroup { group in
        for index in 1...5 { group.addTask { _ = try await proxy.get("/fill\(index)") } }
        try await group.waitForAll()
      }
      let answer = try await proxy.get("/closing")
      #expect(answer.hasPrefix("HTTP/1.1 200 "))
      #expect(proxy.origin.requests.count { $0.contains("/closing") } == 2)
      expect(try await proxy.ask("GET /metrics"), contains: "\nhttpcache_origin_retries_total 1\n")
    }
  }

  /// How an origin ends a connection that has served a few requests.
  enum Closing: CaseIterable { case announced, afterResponse, resetAfterResponse, onArrival, resetOnArrival }

  @Test(
    "An origin that closes connections after a few responses fails no safe request (RFC 9112 §9.5)",
    arguments: Closing.allCases)
  func closingOrigin(closing: Closing) async throws {
    let generator = Mutex(SplitMix64(seed: 11))
    try await ProxyFixture.run(origin: { request, connection in
      let served = connection.received.ranges(of: "\r\n\r\n").count
      let isLast = served >= 5 && generator.withLock { Int.random(in: served...14, using: &$0) } == served
      switch closing {
      case .onArrival where isLast: return false
      case .resetOnArrival where isLast:
        try await connection.resetsWhenClosed()
        return false
      case .announced where isLast:
        try await connection.send(ok("x", "Connection: close\r\n"))
        return false
      case .resetAfterResponse where isLast:
        // After the response has gone: a reset would take it back.
        try await connection.send(ok("x"))
        _ = await connection.read(until: "\r\n\r\n", times: served + 1)
        try await connection.resetsWhenClosed()
        return false
      default:
        try await connection.send(ok("x"))
        return !isLast
      }
    }) { proxy in
      try await withThrowingTaskGroup { group in
        for client in 1...4 {
          group.addTask {
            let failures = try await RawClient.connect(to: proxy.port).talk { conversation in
              for number in 1...60 {
                let method = ["GET", "OPTIONS"][number % 2]
                try await conversation.send("\(method) /\(client)/\(number) HTTP/1.1\r\nHost: a\r\n\r\n")
                await conversation.read(until: "\r\n\r\nx", times: number)
              }
              return conversation.received.ranges(of: "HTTP/1.1 502").count
            }
            #expect(failures == 0)
          }
        }
        try await group.waitForAll()
      }
      #expect(proxy.origin.connectionCount > 4)
    }
  }

  @Test("Coalesced clients read content as it arrives, even after the first client leaves")
  func readWhileWrite() async throws {
    let (arrival, half, rest) = (Gate(), Gate(), Gate())
    try await ProxyFixture.run(origin: { _, connection in
      arrival.open()
      await half.pass()
      try await connection.send(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nContent-Length: 8\r\n\r\nhalf")
      await rest.pass()
      try await connection.send("rest")
      return true
    }) { proxy in
      let request = "GET /slow HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"
      let port = proxy.port
      try await RawClient.connect(to: port).talk { leader in
        try await leader.send(request)
        await arrival.pass()
      }
      // The leader is gone before anything came.
      try await withThrowingTaskGroup { group in
        for _ in 1...20 {
          group.addTask {
            let answer = try await RawClient.connect(to: port).talk { conversation in
              try await conversation.send(request)
              half.open()
              // This comes while the origin holds back the rest.
              await conversation.read(until: "\r\n\r\nhalf")
              rest.open()
              return await conversation.readAll()
            }
            expect(answer, endsWith: "\r\n\r\nhalfrest")
          }
        }
        try await group.waitForAll()
      }
      #expect(proxy.origin.requests.count <= 2)
    }
  }

  @Test("Requests in flight finish when the proxy stops")
  func drain() async throws {
    let (arrival, go) = (Gate(), Gate())
    try await ProxyFixture.run(origin: { _, connection in
      arrival.open()
      await go.pass()
      try await connection.send(ok("done"))
      return true
    }) { proxy in
      async let answer = proxy.get("/")
      await arrival.pass()
      proxy.running.cancel()
      go.open()
      expect(try await answer, endsWith: "done")
    }
  }

  @Test("A client that reads late receives its whole response when the proxy stops")
  func drainUnread() async throws {
    let content = String(repeating: "0123456789abcdef", count: 1 << 18)
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send(ok(content, "Cache-Control: max-age=3600\r\n"))
      return true
    }) { proxy in
      _ = try await proxy.get("/")
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
        await conversation.read(until: "\r\n\r\n")
        proxy.running.cancel()
        let answer = await conversation.readAll()
        #expect(answer.utf8.count > content.utf8.count && answer.hasSuffix(content.suffix(64)))
      }
    }
  }
}
