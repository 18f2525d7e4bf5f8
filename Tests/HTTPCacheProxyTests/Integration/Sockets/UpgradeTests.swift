// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCacheProxy
import NIOCore
import TestSupport
import Testing

@Suite("Upgrades to other protocols", .timeLimit(.minutes(10)))
struct UpgradeTests {
  private static let handshake =
    "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
  private static let switching =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

  @Test("WebSocket frames of every length pass in both directions")
  func webSocket() async throws {
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send(Self.switching)
      var rest: [UInt8] = []
      while let frame = await connection.readFrame(&rest) {
        try await connection.send(bytes: frame.encoded(masked: false))
        if frame.opcode == 8 { break }
      }
      return false
    }) { proxy in
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send(Self.handshake)
        let head = await conversation.read(until: "\r\n\r\n")
        expect(head, startsWith: "HTTP/1.1 101 Switching Protocols\r\n")
        for line in [
          "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
        ] {
          #expect(head.contains("\r\n\(line)\r\n"), "\(head)")
        }
        var rest: [UInt8] = []
        for count in [0, 1, 125, 126, 65_535, 65_536, 300_000] {
          let frame = WebSocketFrame(
            opcode: 2, content: (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) })
          try await conversation.send(bytes: frame.encoded(masked: true))
          #expect(await conversation.readFrame(&rest) == frame, "\(count)")
        }
        let end = WebSocketFrame(opcode: 8, content: [3, 232])
        try await conversation.send(bytes: end.encoded(masked: true))
        #expect(await conversation.readFrame(&rest) == end)
        #expect(await conversation.readFrame(&rest) == nil)
      }
      let request = try #require(proxy.origin.requests.first)
      expect(request, startsWith: "GET /chat HTTP/1.1\r\nHost: a\r\n")
      for line in [
        "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "X-Forwarded-For: 127.0.0.1", "Via: 1.1 \(proxy.proxy.pseudonym)",
      ] {
        #expect(request.contains("\r\n\(line)\r\n"), "\(request)")
      }
      #expect(proxy.proxy.statistics.upgrades.value == 1)
    }
  }

  @Test("Early bytes from the client reach the origin only after it has switched protocols")
  func early() async throws {
    let (arrived, go) = (Gate(), Gate())
    try await ProxyFixture.run(origin: { _, connection in
      arrived.open()
      await go.pass()
      #expect(connection.received.hasSuffix("\r\n\r\n"))
      // Bytes of the new protocol come right behind the response.
      try await connection.send("HTTP/1.1 103 Early Hints\r\n\r\n" + Self.switching + "hello")
      let text = await connection.read(until: "early and late")
      #expect(text.hasSuffix("\r\n\r\nearly and late"))
      try await connection.send("bye")
      return false
    }) { proxy in
      let answer = try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send(Self.handshake + "early ")
        await arrived.pass()
        try await conversation.send("and ")
        go.open()
        await conversation.read(until: "hello")
        try await conversation.send("late")
        return await conversation.readAll()
      }
      expect(answer, startsWith: "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 101 ")
      expect(answer, endsWith: "\r\n\r\nhellobye")
    }
  }

  @Test(
    "If the origin refuses an upgrade, its response is passed on unstored, and the connection ends",
    arguments: ["200 OK", "404 Not Found", "426 Upgrade Required"])
  func refused(status: String) async throws {
    try await ProxyFixture.run(origin: { request, connection in
      let upgrade = status.hasPrefix("426") ? "Upgrade: websocket\r\nConnection: upgrade\r\n" : ""
      try await connection.send(
        "HTTP/1.1 \(status)\r\nCache-Control: max-age=3600\r\nContent-Length: 2\r\n\(upgrade)\r\nno")
      return true
    }) { proxy in
      let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
      let answer = try await RawClient.connect(to: proxy.port).exchange(Self.handshake + smuggled)
      expect(answer, startsWith: "HTTP/1.1 \(status)\r\n")
      expect(answer, endsWith: "\r\n\r\nno")
      #expect(answer.contains("\r\nConnection: close\r\n"))
      #expect(answer.ranges(of: "HTTP/1.1 ").count == 1)
      #expect(answer.contains("\r\nUpgrade: websocket\r\n") == status.hasPrefix("426"))
      expect(try await proxy.get("/chat"), startsWith: "HTTP/1.1 \(status)\r\n")
      #expect(proxy.origin.requests.count == 2)
      #expect(!proxy.origin.requests.contains { $0.contains("smuggled") })
    }
  }

  @Test("The connection to an origin that refuses an upgrade and sends FIN is closed")
  func refusedWithFIN() async throws {
    let closed = Gate()
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send("HTTP/1.1 103 Early Hints\r\n\r\n" + ok("no"))
      try await connection.closeHalf()
      _ = await connection.readAll()
      closed.open()
      return false
    }) { proxy in
      let answer = try await RawClient.connect(to: proxy.port).exchange(Self.handshake)
      expect(answer, endsWith: "\r\n\r\nno")
      await closed.pass()
    }
  }

  @Test("A stored response does not answer an upgrade request")
  func stored() async throws {
    try await ProxyFixture.run(origin: { request, connection in
      guard request.contains("Upgrade: websocket\r\n") else {
        try await connection.send(ok("page", "Cache-Control: max-age=3600\r\n"))
        return true
      }
      try await connection.send(Self.switching + "tunnel")
      return false
    }) { proxy in
      expect(try await proxy.get("/chat"), endsWith: "page")
      expect(try await RawClient.connect(to: proxy.port).exchange(Self.handshake), endsWith: "tunnel")
      expect(try await proxy.get("/chat"), endsWith: "page")
      #expect(proxy.origin.requests.count == 2)
    }
  }

  @Test("If upgrades are disabled, an upgrade request gets 501")
  func notAllowed() async throws {
    try await ProxyFixture.run {
      $0.allowsUpgrade = false
    } origin: { _, connection in
      try await connection.send(ok("page"))
      return true
    } _: { proxy in
      expect(
        try await RawClient.connect(to: proxy.port).exchange(Self.handshake), startsWith: "HTTP/1.1 501 ")
      #expect(proxy.origin.requests.isEmpty)
    }
  }

  @Test(
    "Upgrade is ignored if it would carry HTTP, or does not apply (RFC 9110 §7.8)",
    arguments: [
      "GET /# HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
      "GET /# HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: H2C, HTTP/2.0\r\nUpgrade: TLS/1.0, h2, h3\r\n\r\n",
      "GET /# HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: ,\r\n\r\n",
      "GET /# HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n\r\n",
      "GET /# HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n",
      "GET /# HTTP/1.0\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
      "GET /# HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n\r\nx",
    ])
  func ignored(request: String) async throws {
    for allows in [true, false] {
      try await ProxyFixture.run {
        $0.allowsUpgrade = allows
      } origin: { request, connection in
        if request.contains("Content-Length: 1") { await connection.read(until: "\r\n\r\nx") }
        try await connection.send(ok("page"))
        return true
      } _: { proxy in
        expect(try await proxy.exchange(request.replacing("/#", with: "/")), endsWith: "page")
        let got = try #require(proxy.origin.requests.first).lowercased()
        #expect(!got.contains("upgrade") && !got.contains("http2-settings"), "\(got)")
      }
    }
  }

  @Test("Protocols that carry HTTP are removed from the offered list")
  func filtered() async throws {
    try await ProxyFixture.run(origin: { request, connection in
      #expect(request.contains("\r\nUpgrade: foo/2, bar\r\n"))
      try await connection.send("HTTP/1.1 101 Yes\r\nConnection: upgrade\r\nUpgrade: Bar\r\n\r\ndone")
      return false
    }) { proxy in
      let answer = try await RawClient.connect(to: proxy.port).exchange(
        "OPTIONS / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: foo/2, h2c\r\nUpgrade: bar\r\n\r\n")
      expect(answer, startsWith: "HTTP/1.1 101 Yes\r\n")
      expect(answer, endsWith: "\r\n\r\ndone")
    }
  }

  @Test(
    "A switch to a protocol that was not requested yields 502",
    arguments: [
      "Upgrade: h2c\r\nConnection: Upgrade\r\n", "Connection: Upgrade\r\n", "",
      "Upgrade: websocket, h2c\r\nConnection: Upgrade\r\n",
    ])
  func unasked(fields: String) async throws {
    try await ProxyFixture.run(origin: { _, connection in
      try await connection.send("HTTP/1.1 101 Switching Protocols\r\n\(fields)\r\n")
      _ = await connection.read(until: "never")
      return false
    }) { proxy in
      expect(
        try await RawClient.connect(to: proxy.port).exchange(Self.handshake), startsWith: "HTTP/1.1 502 ")
    }
  }

  @Test("An upgrade request to a silent origin yields 504, to a failing or unreachable one 502")
  func failures() async throws {
    try await ProxyFixture.run {
      ($0.origin.timeouts.firstByte, $0.origin.timeouts.betweenBytes) = (.zero, .zero)
    } origin: { _, connection in
      _ = await connection.read(until: "never")
      return false
    } _: { proxy in
      expect(
        try await RawClient.connect(to: proxy.port).exchange(Self.handshake), startsWith: "HTTP/1.1 504 ")
    }
    try await ProxyFixture.run(origin: { _, _ in false }) { proxy in
      expect(
        try await RawClient.connect(to: proxy.port).exchange(Self.handshake), startsWith: "HTTP/1.1 502 ")
      await proxy.origin.stop()
      expect(
        try await RawClient.connect(to: proxy.port).exchange(Self.handshake), startsWith: "HTTP/1.1 502 ")
    }
  }

  @Test("Each side of a tunnel can end its direction and still receive")
  func halfClosure() async throws {
    for allows in [true, false] {
      let hasReadAll = Gate()
      try await ProxyFixture.run {
        $0.allowsHalfClosure = allows
      } origin: { request, connection in
        try await connection.channel.setOption(.allowRemoteHalfClosure, value: true).get()
        try await connection.send(Self.switching)
        if request.contains("/origin") {
          try await connection.send("last")
          try await connection.closeHalf()
          let text = await connection.readAll()
          #expect(text.hasSuffix("\r\n\r\nstill here"))
          hasReadAll.open()
        } else {
          let text = await connection.readAll()
          #expect(text.hasSuffix("\r\n\r\nlast"))
          try await connection.send("still here")
        }
        return false
      } _: { proxy in
        try await RawClient.connect(to: proxy.port).talk { conversation in
          try await conversation.send(Self.handshake)
          await conversation.read(until: "\r\n\r\n")
          try await conversation.send("last")
          try await conversation.closeHalf()
          expect(await conversation.readAll(), endsWith: "\r\n\r\nstill here")
        }
        try await RawClient.connect(to: proxy.port).talk { conversation in
          try await conversation.send(Self.handshake.replacing("/chat", with: "/origin"))
          expect(await conversation.readAll(), endsWith: "\r\n\r\nlast")
          try await conversation.send("still here")
        }
        // The proxy stops after this, and closes the tunnel with all that it has not read.
        await hasReadAll.pass()
      }
    }
  }

  @Test("A tunnel ends when the proxy stops")
  func ending() async throws {
    let ended = EventCount()
    let origin: RawOrigin.Answering = { _, connection in
      try await connection.send(Self.switching)
      _ = await connection.readAll()
      ended.next()
      return false
    }
    try await ProxyFixture.run({ $0.timeouts.drain = .zero }, origin: origin) { proxy in
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send(Self.handshake)
        await conversation.read(until: "\r\n\r\n")
        proxy.running.cancel()
        expect(await conversation.readAll(), endsWith: "\r\n\r\n")
      }
    }
    #expect(ended.count == 1)
  }

  @Test("A reset of one side of a tunnel ends the other")
  func reset() async throws {
    let ended = Gate()
    try await ProxyFixture.run(origin: { request, connection in
      try await connection.send(Self.switching)
      if request.contains("/origin") {
        await connection.read(until: "go")
        try await connection.resetsWhenClosed()
      } else {
        _ = await connection.readAll()
        ended.open()
      }
      return false
    }) { proxy in
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send(Self.handshake.replacing("/chat", with: "/origin"))
        await conversation.read(until: "\r\n\r\n")
        try await conversation.send("go")
        expect(await conversation.readAll(), endsWith: "\r\n\r\n")
      }
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send(Self.handshake)
        await conversation.read(until: "\r\n\r\n")
        try await conversation.resetsWhenClosed()
      }
      await ended.pass()
    }
  }
}

/// A frame of RFC 6455 §5.2, whole.
struct WebSocketFrame: Equatable {
  var opcode: UInt8
  var content: [UInt8]

  func encoded(masked: Bool) -> [UInt8] {
    var bytes: [UInt8] = [0x80 | opcode]
    let mask: UInt8 = masked ? 0x80 : 0
    func length(_ count: Int) -> [UInt8] {
      (0..<count).reversed().map { UInt8(truncatingIfNeeded: content.count >> ($0 * 8)) }
    }
    switch content.count {
    case ..<126: bytes += [mask | UInt8(content.count)]
    case ..<65_536: bytes += [mask | 126] + length(2)
    default: bytes += [mask | 127] + length(8)
    }
    guard masked else { return bytes + content }
    let key: [UInt8] = [0x12, 0x34, 0x56, 0x78]
    return bytes + key + content.enumerated().map { $1 ^ key[$0 % 4] }
  }
}

extension Conversation {
  /// The next frame; `nil` at the end of the connection.
  mutating func readFrame(_ rest: inout [UInt8]) async -> WebSocketFrame? {
    guard let head = await read(2, &rest) else { return nil }
    let short = Int(head[1] & 0x7F)
    var count = short
    if short >= 126 {
      guard let length = await read(short == 126 ? 2 : 8, &rest) else { return nil }
      count = length.reduce(0) { $0 << 8 | Int($1) }
    }
    var key: [UInt8] = [0, 0, 0, 0]
    if head[1] & 0x80 != 0 {
      guard let given = await read(4, &rest) else { return nil }
      key = given
    }
    guard let content = await read(count, &rest) else { return nil }
    return WebSocketFrame(opcode: head[0] & 0x0F, content: content.enumerated().map { $1 ^ key[$0 % 4] })
  }

  private mutating func read(_ count: Int, _ rest: inout [UInt8]) async -> [UInt8]? {
    while rest.count < count {
      guard let next = try? await input.next() else { return nil }
      rest += next.readableBytesView
    }
    defer { rest.removeFirst(count) }
    return Array(rest.prefix(count))
  }
}
