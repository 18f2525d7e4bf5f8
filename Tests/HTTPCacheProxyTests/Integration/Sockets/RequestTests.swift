// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCacheProxy
import TestSupport
import Testing

@Suite("Requests to the proxy", .timeLimit(.minutes(10)))
struct RequestTests {
  private static let hello: RawOrigin.Answering = { _, connection in
    try await connection.send(ok("hello", "Cache-Control: max-age=3600\r\n"))
    return true
  }

  @Test(
    "Ambiguous or oversized requests are refused, and bytes after them are not a request",
    arguments: RefusedRequests.all)
  func refuse(request: String, status: Int) async throws {
    try await ProxyFixture.run {
      $0.limits.headLineBytes = 1000
      $0.limits.headFields = 20
      $0.limits.requestBytes = 1000
    } origin: { _, _ in
      // What is found out while the content comes has gone on already; it is never answered.
      true
    } _: { proxy in
      let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
      let answer = try await RawClient.connect(to: proxy.port).exchange(request + smuggled)
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(request.debugDescription): \(answer)")
      #expect(answer.contains("Connection: close\r\n"))
      #expect(answer.ranges(of: "\r\nVia: ").count == 1, "\(request.debugDescription): \(answer)")
      #expect(!proxy.origin.requests.contains { $0.contains("smuggled") })
    }
  }

  @Test("Pipelined requests are answered in order, from the origin and from memory")
  func pipelining() async throws {
    try await ProxyFixture.run(origin: { request, connection in
      let path = String(request.split(separator: " ")[1])
      try await connection.send(ok(path, "Cache-Control: max-age=3600\r\n"))
      return true
    }) { proxy in
      let requests = ["/a", "/b", "/a", "/c", "/a"].map { "GET \($0) HTTP/1.1\r\nHost: a\r\n\r\n" }
      // The client is done with sending before it gets anything.
      let answer = try await RawClient.connect(to: proxy.port).exchange(requests.joined(), closesHalf: true)
      let bodies = answer.split(separator: "\r\n\r\n").dropFirst().map { $0.prefix(2) }
      #expect(bodies == ["/a", "/b", "/a", "/c", "/a"])
      #expect(proxy.origin.requests.count == 3)
      #expect(answer.ranges(of: "test; hit").count == 2)
    }
  }

  @Test("A request that arrives byte by byte is answered")
  func slowly() async throws {
    try await ProxyFixture.run(origin: Self.hello) { proxy in
      let answer = try await RawClient.connect(to: proxy.port).talk { conversation in
        for byte in "\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8 {
          try await conversation.send(bytes: [byte])
        }
        return await conversation.readAll()
      }
      #expect(answer.hasSuffix("\r\n\r\nhello"))
    }
  }

  @Test(
    "Targets of every form reach the origin in the form it expects",
    arguments: [
      ("GET http://b.example/x?y HTTP/1.1\r\nHost: a\r\n\r\n", "GET /x?y HTTP/1.1\r\nHost: b.example\r\n"),
      ("GET http://b.example?y HTTP/1.1\r\nHost: a\r\n\r\n", "GET /?y HTTP/1.1\r\nHost: b.example\r\n"),
      ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: a\r\n"),
      ("OPTIONS http://b.example HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: b.example\r\n"),
      ("FROB /z HTTP/1.1\r\nHost: a:81\r\n\r\n", "FROB /z HTTP/1.1\r\nHost: a:81\r\n"),
      ("GET HTTP://B.example:80/x HTTP/1.1\r\nHost: a\r\n\r\n", "GET /x HTTP/1.1\r\nHost: b.example\r\n"),
    ])
  func targets(request: String, forwarded: String) async throws {
    try await ProxyFixture.run(origin: Self.hello) { proxy in
      _ = try await proxy.exchange(request)
      #expect(proxy.origin.requests.first?.hasPrefix(forwarded) == true, "\(proxy.origin.requests)")
    }
  }

  @Test("All spellings of an authority share a stored response, and the origin sees one (RFC 9110 §4.2.3)")
  func authoritySpellings() async throws {
    try await ProxyFixture.run(origin: { request, connection in
      // An origin that writes its own name into what it answers.
      let host = request.split(separator: "\r\n").first { $0.hasPrefix("Host: ") }
      try await connection.send(ok(String(host ?? ""), "Cache-Control: max-age=3600\r\n"))
      return true
    }) { proxy in
      for (index, spelling) in ["H:", "h:80", "H:080", "h"].enumerated() {
        for head in [
          "GET / HTTP/1.1\r\nHost: \(spelling)", "GET http://\(spelling)/ HTTP/1.1\r\nHost: other",
        ] {
          let answer = try await proxy.exchange("\(head)\r\nConnection: close\r\n\r\n")
          expect(answer, endsWith: "\r\n\r\nHost: h")
        }
        #expect(proxy.origin.requests.count == 1, "\(index)")
      }
      // Without Host, the server is the origin, in the same spelling.
      let origin = "127.0.0.1:\(proxy.origin.port)"
      for request in [
        "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: \(origin)\r\nConnection: close\r\n\r\n",
      ] {
        expect(try await proxy.exchange(request), endsWith: "\r\n\r\nHost: \(origin)")
      }
      #expect(proxy.origin.requests.count == 2)
    }
  }

  @Test("Request fields keep their order and case, and connection fields are removed")
  func requestFields() async throws {
    try await ProxyFixture.run(origin: Self.hello) { proxy in
      _ = try await proxy.exchange(
        """
        GET / HTTP/1.1\r\nHost: a\r\nX-one: 1\r\nConnection: close, X-Hop, Cache-Control\r\nx-TWO: 2\r\nKeep-Alive: 1\r
        Upgrade: websocket\r\nTE: gzip\r\nX-Hop: 1\r\nProxy-Authorization: x\r\nCache-Control: no-cache\r\nX-one: 3\r\n\r\n
        """)
      #expect(
        proxy.origin.requests == [
          """
          GET / HTTP/1.1\r\nHost: a\r\nX-one: 1\r\nx-TWO: 2\r\nCache-Control: no-cache\r\nX-one: 3\r
          X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: a\r\nVia: 1.1 \(proxy.proxy.pseudonym)\r\n\r\n
          """
        ])
    }
  }

  @Test("Max-Forwards is decremented for OPTIONS and TRACE, and at 0 the proxy answers (RFC 9110 §7.6.2)")
  func maxForwards() async throws {
    try await ProxyFixture.run(origin: Self.hello) { proxy in
      let options = try await proxy.exchange("OPTIONS / HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n")
      #expect(options.hasPrefix("HTTP/1.1 204 "))
      let trace = try await proxy.exchange(
        "TRACE /t HTTP/1.1\r\nHost: a\r\nCookie: c\r\nMax-Forwards: 0\r\n\r\n")
      #expect(trace.hasSuffix("\r\n\r\nTRACE /t HTTP/1.1\r\nHost: a\r\n\r\n"))
      #expect(proxy.origin.requests.isEmpty)
      _ = try await proxy.exchange("OPTIONS / HTTP/1.1\r\nHost: a\r\nMax-Forwards: 3\r\n\r\n")
      #expect(proxy.origin.requests.first?.contains("Max-Forwards: 2\r\n") == true)
      let large = String(repeating: "9", count: 100)
      _ = try await proxy.exchange("OPTIONS / HTTP/1.1\r\nHost: a\r\nMax-Forwards: \(large)\r\n\r\n")
      #expect(proxy.origin.requests.last?.contains("Max-Forwards: \(Int.max - 1)\r\n") == true)
    }
  }

  @Test("Content is forwarded as it arrives, and 100 (Continue) comes from the origin (RFC 9110 §10.1.1)")
  func expectation() async throws {
    try await ProxyFixture.run(origin: { request, connection in
      #expect(request.contains("Expect: 100-continue\r\n"))
      #expect(request.contains("Content-Length: 7\r\n"))
      try await connection.send("HTTP/1.1 100 Continue\r\n\r\n")
      await connection.read(until: "content")
      try await connection.send(ok("taken"))
      return false
    }) { proxy in
      let answer = try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send(
          "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 7\r\nConnection: close\r\n\r\n"
        )
        await conversation.read(until: "HTTP/1.1 100 Continue\r\n\r\n")
        try await conversation.send("content")
        return await conversation.readAll()
      }
      #expect(answer.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"))
      #expect(answer.hasSuffix("taken"))
    }
  }

  @Test("Chunked content is sent to the origin in chunks")
  func chunkedContent() async throws {
    try await ProxyFixture.run(origin: { request, connection in
      #expect(request.contains("Transfer-Encoding: chunked\r\n"))
      let text = await connection.read(until: "0\r\n\r\n")
      #expect(text.hasSuffix("\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
      try await connection.send(ok("taken"))
      return false
    }) { proxy in
      let answer = try await proxy.exchange(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3;x=y\r\nabc\r\n0\r\n\r\n"
      )
      #expect(answer.hasSuffix("taken"))
    }
  }

  @Test("Stalled content times out")
  func stalledContent() async throws {
    let silent: RawOrigin.Answering = { _, _ in true }
    try await ProxyFixture.run({ $0.timeouts.stall = .milliseconds(10) }, origin: silent) { proxy in
      // Announced, and never sent: at once, and after the connection has been idle for as long.
      let request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab"
      try await RawClient.connect(to: proxy.port).talk { late in
        #expect(try await RawClient.connect(to: proxy.port).exchange(request).isEmpty)
        try await late.send(request)
        #expect(await late.readAll().isEmpty)
      }
      #expect(proxy.proxy.statistics.aborted.value == 2)
    }
  }
}
