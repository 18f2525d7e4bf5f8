// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheObserving
import HTTPCacheProxy
import HTTPCaching
import Loopback
import NIOCore
import NIOHPACK
import NIOHTTP2
import TestSupport
import Testing
import TransportSecurity

@Suite("Clients with HTTP/2", .timeLimit(.minutes(10)))
struct HTTP2Tests {
  private static let stored = "Cache-Control: max-age=3600\r\n"

  /// Runs a proxy with HTTP/2 for clients that know of it.
  static func run(
    _ configure: @escaping (inout ProxyConfiguration) -> Void = { _ in },
    cache: (inout HTTPCache.Configuration) -> Void = { _ in }, origin: @escaping RawOrigin.Answering,
    _ body: (ProxyFixture, HTTP2Client) async throws -> Void
  ) async throws {
    try await ProxyFixture.run(
      {
        $0.http2 = .always
        configure(&$0)
      }, cache: cache, origin: origin
    ) { (proxy: ProxyFixture) async throws in
      let client = try await HTTP2Client.connect(port: proxy.port)
      try await body(proxy, client)
      await client.close()
    }
  }

  static func request(
    _ path: String, method: String = "GET", _ fields: [(String, String)] = []
  ) -> HPACKHeaders {
    HTTP2Client.request(path, method: method, fields)
  }

  private static func text(_ answer: HTTP2Client.Answer) -> String {
    String(decoding: answer.body, as: UTF8.self)
  }

  // MARK: - Answers

  @Test(
    "Content of every size comes from the origin, from memory and from the disk as it is",
    arguments: [0, 1, 100, 16_384, 16_385, 65_535, 65_536, 300_000, 5_000_000], [nil, "chunked"])
  func sizes(count: Int, coding: String?) async throws {
    let content = String(repeating: "0123456789abcde\n", count: count / 16 + 1).prefix(count)
    try await Self.run { request, connection in
      if coding == nil {
        try await connection.send(ok(String(content), Self.stored))
      } else {
        try await connection.send("HTTP/1.1 200 OK\r\n\(Self.stored)Transfer-Encoding: chunked\r\n\r\n")
        if count > 0 {
          try await connection.send("\(String(count, radix: 16))\r\n\(content)\r\n")
        }
        try await connection.send("0\r\n\r\n")
      }
      return true
    } _: { _, client in
      for (round, method) in ["GET", "GET", "HEAD"].enumerated() {
        let answer = try await client.send(Self.request("/", method: method))
        #expect(answer.status == 200 && answer.isWhole && answer.error == nil)
        #expect(Self.text(answer) == (method == "HEAD" ? "" : content))
        #expect(answer.fields?.first(name: "cache-status")?.contains("test; hit") == (round > 0))
        #expect(answer.fields?["transfer-encoding"] == [])
        #expect(answer.fields?["connection"] == [])
        // The length of large chunked content is known once it is stored.
        let length = answer.fields?["content-length"]
        #expect(length == ["\(count)"] || round != 1 && coding != nil && length == [])
        #expect(answer.fields?["via"] == ["1.1 httpcache"])
        #expect(answer.fields?["date"].count == 1)
      }
    }
  }

  @Test("A hundred requests at once are answered on one connection, each with its own content")
  func concurrent() async throws {
    try await Self.run { request, connection in
      let path = String(request.split(separator: " ")[1])
      try await connection.send(ok(String(repeating: path, count: 5000), Self.stored))
      return true
    } _: { proxy, client in
      for _ in 0..<2 {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<100 {
            group.addTask {
              let answer = try await client.send(Self.request("/\(number % 20)"))
              #expect(answer.status == 200 && answer.isWhole)
              #expect(Self.text(answer) == String(repeating: "/\(number % 20)", count: 5000))
            }
          }
          try await group.waitForAll()
        }
      }
      #expect(proxy.origin.requests.count == 20)
      #expect(proxy.proxy.statistics.streams.value == 200)
      try await eventually { proxy.proxy.statistics.openStreams == 0 }
    }
  }

  @Test("The origin gets a request of HTTP/1.1, with the fields that HTTP/2 has in another form")
  func forwarded() async throws {
    try await Self.run { _, connection in
      try await connection.send(ok("x"))
      return true
    } _: { proxy, client in
      _ = try await client.send(
        Self.request(
          "/a?b=c",
          [("cookie", "a=1"), ("x-one", "1"), ("cookie", "b=2"), ("te", "trailers"), ("cookie", "c=3")]))
      let request = try #require(proxy.origin.requests.first)
      #expect(
        request
          == "GET /a?b=c HTTP/1.1\r\nHost: a.example\r\nx-one: 1\r\nCookie: a=1; b=2; c=3\r\nTE: trailers\r\n"
          + "X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: a.example\r\n"
          + "Via: 2.0 \(proxy.proxy.pseudonym)\r\nConnection: TE\r\n\r\n")
    }
  }

  @Test("Interim responses and trailers of the origin reach the client")
  func interim() async throws {
    try await Self.run { _, connection in
      try await connection.send(
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 5\r\nConnection: x\r\n\r\n"
          + "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: x-hop\r\nX-Hop: 1\r\n\r\n"
          + "2\r\nab\r\n0\r\nX-Sum: 7\r\nSet-Cookie: no\r\nConnection: y\r\n\r\n")
      return true
    } _: { _, client in
      let answer = try await client.send(Self.request("/"))
      #expect(
        answer.interim.map { $0.map { "\($0.name): \($0.value)" } } == [[":status: 103", "link: </a>"]])
      #expect(answer.status == 200 && answer.isWhole && Self.text(answer) == "ab")
      #expect(answer.fields?["x-hop"] == [])
      #expect(answer.trailers?.map { "\($0.name): \($0.value)" } == ["x-sum: 7"])
    }
  }

  @Test(
    "Content of a request reaches the origin, with and without a length, and with trailers",
    arguments: [0, 1, 70_000, 1_000_000], [false, true])
  func content(count: Int, hasLength: Bool) async throws {
    let body = (0..<count).map { UInt8(ascii: $0 == count - 1 ? "#" : "a") }
    try await Self.run { request, connection in
      if request.contains("chunked") {
        await connection.read(until: "0\r\n")
      } else if count > 0 {
        await connection.read(until: "#")
      }
      try await connection.send(ok("\(connection.received.utf8.count - request.utf8.count)"))
      return false
    } _: { proxy, client in
      let pieces = stride(from: 0, to: count, by: 10_000).map { Array(body[$0..<min(count, $0 + 10_000)]) }
      let answer = try await client.send(
        Self.request("/", method: "POST", hasLength ? [("content-length", "\(count)")] : []),
        body: pieces.isEmpty ? [[]] : pieces, trailers: hasLength ? nil : ["x-sum": "1"])
      #expect(answer.status == 200 && answer.isWhole)
      let request = try #require(proxy.origin.requests.first)
      #expect(request.contains("\r\ncontent-length: \(count)\r\n") == hasLength)
      #expect(request.contains("\r\nTransfer-Encoding: chunked\r\n") == !hasLength)
      if hasLength { #expect(Self.text(answer) == "\(count)") }
    }
  }

  @Test("A client that waits for 100 (Continue) gets it when the content is wanted")
  func expects() async throws {
    try await Self.run { request, connection in
      if request.contains("Expect: ") { try await connection.send("HTTP/1.1 100 Continue\r\n\r\n") }
      await connection.read(until: "hello")
      try await connection.send(ok("done"))
      return true
    } _: { _, client in
      let (stream, answer) = try await client.open()
      HTTP2Client.write(
        .headers(
          .init(
            headers: Self.request("/", method: "PUT", [("expect", "100-continue"), ("content-length", "5")]))),
        to: stream)
      HTTP2Client.write(
        .data(.init(data: .byteBuffer(ByteBuffer(string: "hello")), endStream: true)), to: stream)
      let received = try await answer.get()
      #expect(received.interim.first?.first(name: ":status") == "100")
      #expect(received.status == 200 && Self.text(received) == "done")
    }
  }

  @Test("A response before the end of the request's content ends the stream without an error (RFC 9113 §8.1)")
  func earlyResponse() async throws {
    try await Self.run { _, connection in
      try await connection.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
      return true
    } _: { _, client in
      let (stream, answer) = try await client.open()
      HTTP2Client.write(
        .headers(.init(headers: Self.request("/", method: "POST", [("content-length", "1000000")]))),
        to: stream)
      let received = try await answer.get()
      #expect(received.status == 403 && received.isWhole && Self.text(received) == "no")
      #expect((received.error as? NIOHTTP2Errors.StreamClosed)?.errorCode == .noError)
      // The connection goes on.
      #expect(try await client.send(Self.request("/")).status == 403)
    }
  }

  @Test(
    "A response that ends early resets the stream",
    arguments: [
      "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    ])
  func broken(response: String) async throws {
    try await Self.run { _, connection in
      try await connection.send(response)
      return false
    } _: { proxy, client in
      let answer = try await client.send(Self.request("/"))
      #expect(!answer.isWhole)
      #expect((answer.error as? NIOHTTP2Errors.StreamClosed)?.errorCode == .internalError)
      #expect(proxy.proxy.statistics.aborted.value == 1)
    }
  }

  @Test("A request whose client resets its stream is given up")
  func reset() async throws {
    let (arrived, closed) = (Gate(), Gate())
    try await Self.run { _, connection in
      arrived.open()
      _ = await connection.readAll()
      closed.open()
      return false
    } _: { _, client in
      let (stream, answer) = try await client.open()
      HTTP2Client.write(.headers(.init(headers: Self.request("/"), endStream: true)), to: stream)
      await arrived.pass()
      try? await stream.close()
      await closed.pass()
      // It is the client that has ended it.
      #expect((try? await answer.get())?.status == nil)
    }
  }

  // MARK: - Refusals

  @Test("Content for which no memory is left is refused, with what the proxy lacks")
  func noMemoryForContent() async throws {
    try await Self.run { _, connection in
      try await connection.send(ok("taken"))
      return true
    } _: { proxy, client in
      let transit = proxy.proxy.cache.transit
      let used = transit.passingCapacity / 2
      transit.change(by: used)
      let refused = try await client.send(Self.request("/", method: "POST"), body: [[1]])
      #expect(refused.status == 503)
      #expect(refused.fields?["proxy-status"] == ["httpcache; error=proxy_internal_error"])
      // Nor for a reader that has none.
      #expect(try await client.send(Self.request("/")).status == 200)
      transit.change(by: -used)
      #expect(try await client.send(Self.request("/", method: "POST"), body: [[1]]).status == 200)
    }
  }

  @Test("CONNECT is refused, as are other protocols than web sockets")
  func connect() async throws {
    try await Self.run { _, _ in
      false
    } _: { proxy, client in
      let plain = try await client.send([":method": "CONNECT", ":authority": "a.example:443"])
      #expect(plain.status == 400)
      var other = Self.request("/", method: "CONNECT")
      other.add(name: ":protocol", value: "connect-udp")
      let answer = try await client.send(other, body: [[]])
      #expect(answer.status == 501)
      #expect(proxy.origin.requests.isEmpty)
    }
  }

  @Test("Requests above the limits get a response that says so")
  func limits() async throws {
    try await Self.run({
      $0.limits.headLineBytes = 1000
      $0.limits.headFields = 20
      $0.limits.requestBytes = 1000
    }) { _, _ in
      true
    } _: { _, client in
      let long = String(repeating: "a", count: 1001)
      for (fields, body, status) in [
        (Self.request("/" + long), nil, 414), (Self.request("/", [("x", long)]), nil, 431),
        (Self.request("/", (0..<21).map { ("x-\($0)", "1") }), nil, 431),
        (
          Self.request("/", method: "POST", [("content-length", "1001")]), [Array(repeating: 1, count: 1001)],
          413
        ),
        (Self.request("/", method: "POST"), [Array(repeating: 1, count: 1001)], 413),
        (Self.request("/", [("expect", "other")]), nil, 417),
        (Self.request("/", [("host", "b.example")]), nil, 400), (Self.request("/#a"), nil, 400),
        (HTTP2Client.request("/", scheme: "ftp"), nil, 400),
        (HTTP2Client.request("/", authority: "user@a.example"), nil, 400),
      ] as [(HPACKHeaders, [[UInt8]]?, Int)] {
        let answer = try await client.send(fields, body: body)
        #expect(answer.status == status && answer.isWhole, "\(fields)")
        #expect(Self.text(answer).hasPrefix("\(status): "))
      }
      let head = try await client.send(Self.request("/" + long, method: "HEAD"))
      #expect(head.status == 414 && head.isWhole && head.body.isEmpty)
    }
  }

  @Test("Requests beyond the limit of all connections are refused so that they may be repeated")
  func streams() async throws {
    let (arrived, go) = (Gate(), Gate())
    try await Self.run({ $0.limits.streams = 1 }) { _, connection in
      arrived.open()
      await go.pass()
      try await connection.send(ok("x"))
      return true
    } _: { proxy, client in
      async let first = client.send(Self.request("/"))
      await arrived.pass()
      let second = try await client.send(Self.request("/other"))
      #expect((second.error as? NIOHTTP2Errors.StreamClosed)?.errorCode == .refusedStream)
      go.open()
      #expect(try await first.status == 200)
      #expect(try await client.send(Self.request("/third")).status == 200)
      #expect(proxy.proxy.statistics.streamsRefused.value == 1)
      #expect(proxy.origin.requests.count == 2)
    }
  }

  // MARK: - Connections

  @Test("The proxy that stops finishes the requests in flight, and announces the end")
  func drain() async throws {
    let (arrived, go) = (Gate(), Gate())
    try await Self.run { _, connection in
      arrived.open()
      await go.pass()
      try await connection.send(ok("done"))
      return true
    } _: { proxy, client in
      let idle = try await HTTP2Client.connect(port: proxy.port)
      async let answer = client.send(Self.request("/"))
      await arrived.pass()
      proxy.proxy.stop()
      try await idle.channel.closeFuture.get()
      go.open()
      let received = try await answer
      #expect(received.status == 200 && received.isWhole)
      try await client.channel.closeFuture.get()
      try await proxy.running.value
    }
  }

  @Test(
    "The versions of HTTP are told apart by the first bytes, only where HTTP/2 is allowed",
    arguments: ProxyConfiguration.HTTP2.allCases)
  func priorKnowledge(allowed: ProxyConfiguration.HTTP2) async throws {
    try await ProxyFixture.run({ $0.http2 = allowed }) { _, connection in
      try await connection.send(ok("hello", Self.stored))
      return true
    } _: { (proxy: ProxyFixture) async throws in
      expect(try await proxy.get("/"), endsWith: "\r\n\r\nhello")
      // Each beginning of the preface that is not one.
      for text in ["P", "PRI", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"]
      {
        let answer = try await proxy.exchange(text)
        #expect(text.utf8.count < 4 ? answer.isEmpty : answer.hasSuffix("hello"), "\(text)")
      }
      let client = try await HTTP2Client.connect(port: proxy.port)
      let answer = try? await client.send(Self.request("/"))
      #expect(answer?.status == (allowed == .always ? 200 : nil))
      await client.close()
    }
  }

  @Test("A client that does not open its window in time loses the stream, and not the connection")
  func stalledWindow() async throws {
    try await Self.run({ $0.timeouts.stall = .milliseconds(100) }) { request, connection in
      let count = request.hasPrefix("GET /small ") ? 10 : 100_000
      try await connection.send(ok(String(repeating: "a", count: count), Self.stored))
      return true
    } _: { proxy, client in
      let slow = try await HTTP2Client.connect(port: proxy.port, window: 1000)
      let (stream, answer) = try await slow.open()
      try await stream.setOption(.autoRead, value: false).get()
      HTTP2Client.write(.headers(.init(headers: Self.request("/"), endStream: true)), to: stream)
      let received = try await answer.get()
      #expect(!received.isWhole && received.body.count < 100_000)
      #expect((received.error as? NIOHTTP2Errors.StreamClosed)?.errorCode == .cancel)
      #expect(try await slow.send(Self.request("/small")).isWhole)
      await slow.close()
    }
  }

  @Test("A client that does not read its socket loses the connection")
  func stalledSocket() async throws {
    try await Self.run({ $0.timeouts.stall = .milliseconds(100) }) { _, connection in
      try await connection.send(ok(String(repeating: "a", count: 20_000_000), Self.stored))
      return true
    } _: { proxy, client in
      await client.close()
      let slow = try await HTTP2Client.connect(port: proxy.port, window: 0x7FFF_FFFF)
      try await slow.channel.setOption(.autoRead, value: false).get()
      let update = HTTP2Frame.FramePayload.windowUpdate(windowSizeIncrement: 1 << 30)
      try await slow.channel.writeAndFlush(HTTP2Frame(streamID: .rootStream, payload: update))
      let (stream, _) = try await slow.open()
      HTTP2Client.write(.headers(.init(headers: Self.request("/"), endStream: true)), to: stream)
      try await eventually {
        proxy.proxy.statistics.streams.value == 1 && proxy.proxy.statistics.openStreams == 0
      }
      try await eventually { proxy.proxy.statistics.openConnections == 0 }
      #expect(proxy.proxy.statistics.aborted.value == 1)
      await slow.close()
    }
  }

  @Test("A client that sends nothing of its content in time loses the stream")
  func stalledContent() async throws {
    try await Self.run({ $0.timeouts.stall = .milliseconds(100) }) { _, connection in
      _ = await connection.readAll()
      return false
    } _: { _, client in
      let (stream, answer) = try await client.open()
      HTTP2Client.write(
        .headers(.init(headers: Self.request("/", method: "POST", [("content-length", "10")]))), to: stream)
      #expect((try await answer.get().error as? NIOHTTP2Errors.StreamClosed)?.errorCode == .cancel)
    }
  }

  @Test("An idle connection is announced to end, and closed")
  func idle() async throws {
    try await Self.run({ $0.timeouts.idle = .milliseconds(100) }) { _, connection in
      try await connection.send(ok("x"))
      return true
    } _: { _, client in
      _ = try? await client.send(Self.request("/"))
      try await client.channel.closeFuture.get()
    }
  }

  @Test("A connection that is idle makes room for another; one with a request does not")
  func room() async throws {
    let (arrived, go) = (Gate(), Gate())
    try await Self.run({ $0.limits.connections = 2 }) { _, connection in
      arrived.open()
      await go.pass()
      try await connection.send(ok("x"))
      return true
    } _: { proxy, client in
      async let busy = client.send(Self.request("/"))
      await arrived.pass()
      let idle = try await HTTP2Client.connect(port: proxy.port)
      let third = try await HTTP2Client.connect(port: proxy.port)
      try await idle.channel.closeFuture.get()
      go.open()
      #expect(try await third.send(Self.request("/")).status == 200)
      #expect(try await busy.status == 200)
      await third.close()
    }
  }

  @Test("The access log has the version, and a request that could not be read")
  func accessLog() async throws {
    try await withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("log")
      try await Self.run({ $0.accessLog = .init(.file(file.path), format: .common) }) { _, connection in
        try await connection.send(ok("hello"))
        return true
      } _: { proxy, client in
        _ = try await client.send(Self.request("/a"))
        _ = try await client.send(Self.request("/b#c"))
        await client.close()
        proxy.proxy.stop()
        try await proxy.running.value
      }
      let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
      #expect(lines.count == 2)
      #expect(lines.first?.contains("\"GET /a HTTP/2.0\" 200 5") == true, "\(lines)")
      #expect(lines.last?.contains("\"GET /b#c HTTP/2.0\" 400 ") == true, "\(lines)")
    }
  }

  // MARK: - Web sockets

  @Test("A web socket passes in both directions, and ends with its stream (RFC 8441)")
  func webSocket() async throws {
    try await Self.run { _, connection in
      try await connection.send(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: chat\r\n\r\nhello")
      await connection.read(until: "ping")
      try await connection.send(String(repeating: "pong", count: 100_000))
      _ = await connection.readAll()
      try await connection.send("bye")
      return false
    } _: { proxy, client in
      let (stream, answer) = try await client.open()
      var fields = HPACKHeaders()
      for (name, value) in [
        (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", "/chat"),
        (":authority", "a.example"), ("sec-websocket-version", "13"), ("sec-websocket-protocol", "chat"),
      ] { fields.add(name: name, value: value) }
      HTTP2Client.write(.headers(.init(headers: fields)), to: stream)
      HTTP2Client.write(
        .data(.init(data: .byteBuffer(ByteBuffer(string: "ping")), endStream: true)), to: stream)
      let received = try await answer.get()
      #expect(received.status == 200 && received.isWhole && received.error == nil)
      #expect(received.fields?["sec-websocket-protocol"] == ["chat"])
      #expect(received.fields?["sec-websocket-accept"] == [])
      #expect(received.fields?["upgrade"] == [])
      #expect(Self.text(received) == "hello" + String(repeating: "pong", count: 100_000) + "bye")
      let request = try #require(proxy.origin.requests.first)
      expect(request, startsWith: "GET /chat HTTP/1.1\r\nHost: a.example\r\n")
      let key = try #require(request.firstMatch(of: /Sec-WebSocket-Key: ([^\r]+)\r\n/)?.1)
      #expect(key.utf8.count == 24 && key.hasSuffix("=="))
      #expect(request.contains("Upgrade: websocket\r\n"))
      #expect(proxy.proxy.statistics.upgrades.value == 1)
    }
  }

  @Test("A client may send on after the end of a web socket's origin, and goes on with other requests")
  func lateWebSocket() async throws {
    let isLate = Gate()
    try await Self.run { request, connection in
      if !request.contains("Upgrade") {
        try await connection.send(ok("other"))
        return true
      }
      try await connection.send(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello")
      try await connection.closeHalf()
      await connection.read(until: "late")
      isLate.open()
      try await connection.resetsWhenClosed()
      return false
    } _: { proxy, client in
      let stream = try await client.openForReading()
      try await stream.executeThenClose { inbound, outbound in
        var fields = HPACKHeaders()
        for (name, value) in [
          (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", "/chat"),
          (":authority", "a.example"),
        ] { fields.add(name: name, value: value) }
        try await outbound.write(.headers(.init(headers: fields)))
        for try await frame in inbound {
          if case .data(let data) = frame, data.endStream { break }
        }
        #expect(proxy.proxy.cache.transit.usedForPassing == 0)
        try await outbound.write(.data(.init(data: .byteBuffer(ByteBuffer(string: "late")))))
        await isLate.pass()
      }
      try await eventually { proxy.proxy.statistics.openStreams == 0 }
      #expect(try await client.send(Self.request("/other")).status == 200)
    }
  }

  @Test("An origin that refuses a web socket answers the stream")
  func refusedWebSocket() async throws {
    try await Self.run { _, connection in
      try await connection.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
      return true
    } _: { _, client in
      let (stream, answer) = try await client.open()
      var fields = HPACKHeaders()
      for (name, value) in [
        (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", "/chat"),
        (":authority", "a.example"),
      ] { fields.add(name: name, value: value) }
      HTTP2Client.write(.headers(.init(headers: fields)), to: stream)
      let received = try await answer.get()
      #expect(received.status == 403 && received.isWhole && Self.text(received) == "no")
    }
  }
}
