import HTTPCacheProxy
import NIOCore
import Synchronization
import Testing

@Suite("Responses through the proxy")
struct ResponseTests {
  @Test("On a miss the origin's fields come unchanged, its Age too, and without those of the connection")
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

  @Test("Bytes of field values that are no UTF-8 come as they are (RFC 9110 §5.5)")
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

  @Test("Interim responses come before the final one, but not to HTTP/1.0 (RFC 9110 §15.2)")
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

  @Test("Chunks and trailers come through, and HTTP/1.0 gets the content alone")
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

  @Test("A response to HEAD has no content, whatever its length says, and neither has a 304")
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

  static let broken: [(answer: String, status: Int)] = [
    ("", 502),
    ("HTTP/1.1 200 O", 502),
    ("nonsense\r\n\r\n", 502),
    ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 502),
    ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 502),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 502),
    ("HTTP/1.1 200 OK\r\nX: 1\r\n folded\r\n\r\n", 502),
    ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", 502),
    ("HTTP/1.1 099 No\r\n\r\n", 502),
  ]

  @Test(
    "An origin that breaks off, or makes no sense, is answered for with 502 and a reason", arguments: broken)
  func badGateway(answer: String, status: Int) async throws {
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send(answer)
      return false
    }) { proxy in
      let got = try await proxy.get("/")
      #expect(got.hasPrefix("HTTP/1.1 \(status) "), "\(answer): \(got)")
      #expect(got.contains("Proxy-Status: httpcache; error="))
    }
  }

  @Test("A silent origin is answered for with 504, and one that is not there with 502")
  func silence() async throws {
    try await ProxyFixture.run {
      $0.timeouts.response = 50
    } origin: { _, connection in
      _ = await connection.read(until: "never")
      return false
    } _: { proxy in
      expect(try await proxy.get("/"), startsWith: "HTTP/1.1 504 ")
      await proxy.origin.stop()
      expect(try await proxy.get("/"), startsWith: "HTTP/1.1 502 ")
    }
  }

  @Test(
    "Content that breaks off is seen to be broken, and not stored as whole",
    arguments: [
      "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
      "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nx",
    ])
  func cut(answer: String) async throws {
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send(answer)
      return false
    }) { proxy in
      for _ in 1...2 {
        let got = try await proxy.get("/")
        #expect(!got.hasSuffix("0\r\n\r\n"), "\(got)")
        #expect(got.hasPrefix("HTTP/1.1 502") || !got.contains("; hit"), "\(got)")
      }
      #expect(proxy.origin.requests.count == 2)
    }
  }

  @Test("A connection with more on it than was asked for is not used again")
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
    "A request that meets a closing connection is sent again if that is safe, and never otherwise (RFC 9110 §9.2.2)",
    arguments: [
      ("GET", 0, 2, "200"), ("POST", 0, 1, "502"),
      // Busy a moment ago: it has read the request.
      ("GET", nil, 1, "502"),
    ] as [(String, Int64?, Int, String)])
  func retry(method: String, busy: Int64?, attempts: Int, status: String) async throws {
    let count = Mutex(0)
    try await ProxyFixture.run {
      if let busy { $0.timeouts.originBusy = busy }
    } origin: { request, connection in
      guard request.contains("/again") else {
        try await connection.send(ok("first"))
        return true
      }
      let number = count.withLock { count in
        count += 1
        return count
      }
      // Closed on the first: what is old enough is taken for a connection that was closing already.
      if number == 1 { return false }
      try await connection.send(ok("again"))
      return true
    } _: { proxy in
      _ = try await proxy.get("/first")
      let answer = try await proxy.exchange(
        "\(method) /again HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
      #expect(count.withLock { $0 } == attempts)
    }
  }

  @Test("Who follows another's request reads what comes while it comes, though the first one leaves")
  func readWhileWrite() async throws {
    let (arrival, half, rest) = (Opening(), Opening(), Opening())
    try await ProxyFixture.run(origin: { _, connection in
      arrival.open()
      await half.pass()
      try await connection.send(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 8\r\n\r\nhalf")
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
      let followers = (1...20).map { _ in
        Task {
          try await RawClient.connect(to: port).talk { conversation in
            try await conversation.send(request)
            half.open()
            // This comes while the origin holds back the rest.
            await conversation.read(until: "\r\n\r\nhalf")
            rest.open()
            return await conversation.readAll()
          }
        }
      }
      for follower in followers { expect(try await follower.value, endsWith: "\r\n\r\nhalfrest") }
      #expect(proxy.origin.requests.count <= 2)
    }
  }

  @Test("What is under way when the proxy stops is finished")
  func drain() async throws {
    let (arrival, go) = (Opening(), Opening())
    try await ProxyFixture.run(origin: { _, connection in
      arrival.open()
      await go.pass()
      try await connection.send(ok("done"))
      return true
    }) { proxy in
      let answer = Task { try await proxy.get("/") }
      await arrival.pass()
      proxy.running.cancel()
      go.open()
      expect(try await answer.value, endsWith: "done")
    }
  }
}
