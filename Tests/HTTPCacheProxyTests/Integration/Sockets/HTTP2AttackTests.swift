// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCacheProxy
import Loopback
import NIOCore
import TestSupport
import Testing

@Suite("What attackers send with HTTP/2", .timeLimit(.minutes(10)))
struct HTTP2AttackTests {
  /// Frames as bytes (RFC 9113 §4.1).
  struct Frames: Sendable {
    var bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    static let (endStream, endHeaders) = (UInt8(1), UInt8(4))

    mutating func add(_ type: UInt8, flags: UInt8 = 0, stream: UInt32, _ payload: [UInt8] = []) {
      let length = UInt32(payload.count)
      bytes += [UInt8(truncatingIfNeeded: length >> 16), UInt8(truncatingIfNeeded: length >> 8)]
      bytes += [UInt8(truncatingIfNeeded: length), type, flags]
      for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: stream >> shift)) }
      bytes += payload
    }

    /// Literals that enter no table, without Huffman's code (RFC 7541 §6.2.2).
    static func literals(_ fields: [(String, String)]) -> [UInt8] {
      fields.flatMap { [0] + text($0.0) + text($0.1) }
    }

    static func text(_ text: String) -> [UInt8] {
      var (bytes, rest) = ([UInt8](), text.utf8.count)
      if rest < 127 {
        bytes = [UInt8(rest)]
      } else {
        bytes = [127]
        rest -= 127
        while rest > 127 {
          bytes.append(UInt8(rest & 127 | 128))
          rest >>= 7
        }
        bytes.append(UInt8(rest))
      }
      return bytes + text.utf8
    }

    static func get(_ path: String, _ more: [(String, String)] = []) -> [UInt8] {
      literals(
        [(":method", "GET"), (":scheme", "http"), (":authority", "a.example"), (":path", path)] + more)
    }

    mutating func addSettings(_ pairs: [(UInt8, UInt32)] = []) {
      var payload: [UInt8] = []
      for (name, value) in pairs { payload += [0, name] + Self.number(value) }
      add(4, stream: 0, payload)
    }

    mutating func addGet(_ path: String, stream: UInt32, _ more: [(String, String)] = []) {
      add(1, flags: Self.endStream | Self.endHeaders, stream: stream, Self.get(path, more))
    }

    static func number(_ value: UInt32) -> [UInt8] {
      [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
  }

  struct Attack: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// Maximum requests that the origin may get of it.
    var requests = 0
    var settings: [(UInt8, UInt32)] = []
    var build: @Sendable (inout Frames) -> Void

    init(
      _ name: String, requests: Int = 0, settings: [(UInt8, UInt32)] = [],
      _ build: @escaping @Sendable (inout Frames) -> Void
    ) {
      (testDescription, self.requests, self.settings, self.build) = (name, requests, settings, build)
    }
  }

  /// Each of these is more than the proxy accepts: it ends the connection.
  static let attacks: [Attack] = [
    Attack("Streams that are reset at once (CVE-2023-44487)", requests: 300) { frames in
      for number in 0..<2000 as Range<UInt32> {
        frames.addGet("/\(number)", stream: 2 * number + 1)
        frames.add(3, stream: 2 * number + 1, Frames.number(8))
      }
    },
    Attack("Streams that the server must reset", requests: 300) { frames in
      for number in 0..<2000 as Range<UInt32> {
        frames.addGet("/\(number)", stream: 2 * number + 1)
        // A window must not grow by nothing.
        frames.add(8, stream: 2 * number + 1, Frames.number(0))
      }
    },
    Attack("A flood of PING") { frames in
      for _ in 0..<1000 { frames.add(6, stream: 0, [1, 2, 3, 4, 5, 6, 7, 8]) }
    },
    Attack("A flood of SETTINGS") { frames in
      for number in 0..<1000 as Range<UInt32> { frames.addSettings([(4, number)]) }
    },
    Attack("A flood of PRIORITY") { frames in
      for number in 0..<1000 as Range<UInt32> {
        frames.add(2, stream: 2 * number + 1, Frames.number(0) + [1])
      }
    },
    Attack("A flood of empty DATA", requests: 1) { frames in
      frames.add(
        1, flags: Frames.endHeaders, stream: 1,
        Frames.literals([
          (":method", "POST"), (":scheme", "http"), (":authority", "a.example"), (":path", "/"),
        ]))
      for _ in 0..<1000 { frames.add(0, stream: 1) }
    },
    Attack("A flood of DATA with one byte that nothing reads", requests: 1) { frames in
      frames.add(
        1, flags: Frames.endHeaders, stream: 1,
        Frames.literals([
          (":method", "POST"), (":scheme", "http"), (":authority", "a.example"), (":path", "/slow"),
          ("expect", "100-continue"),
        ]))
      for _ in 0..<9000 { frames.add(0, stream: 1, [1]) }
    },
    Attack("CONTINUATION without an end") { frames in
      frames.add(1, flags: Frames.endStream, stream: 1, Frames.get("/"))
      for number in 0..<1000 { frames.add(9, stream: 1, Frames.literals([("x-\(number)", "1")])) }
    },
    Attack("Empty CONTINUATION without an end") { frames in
      frames.add(1, flags: Frames.endStream, stream: 1, Frames.get("/"))
      for _ in 0..<1000 { frames.add(9, stream: 1) }
    },
    Attack("Fields of 10 MB") { frames in
      frames.add(1, flags: Frames.endStream, stream: 1, Frames.get("/"))
      for number in 0..<640 {
        let more = Frames.literals([("x-\(number)", String(repeating: "a", count: 16_000))])
        frames.add(9, flags: number == 639 ? Frames.endHeaders : 0, stream: 1, more)
      }
    },
    Attack("Fields that a table makes large") { frames in
      // One entry of 4,000 bytes, referred to 10,000 times (RFC 7541 §6.1, §6.2.1).
      let entry = [0x40] + Frames.text("x") + Frames.text(String(repeating: "a", count: 4000))
      frames.add(
        1, flags: Frames.endStream | Frames.endHeaders, stream: 1,
        Frames.get("/") + entry + Array(repeating: 0x80 | 62, count: 10_000))
    },
    Attack("A table of another size than announced") { frames in
      frames.add(
        1, flags: Frames.endStream | Frames.endHeaders, stream: 1, [0x3F, 0xE1, 0xFF, 0x03] + Frames.get("/"))
    },
    Attack("An index that no table has") { frames in
      frames.add(
        1, flags: Frames.endStream | Frames.endHeaders, stream: 1, Frames.get("/") + [0xFF, 0x80, 0x01])
    },
    Attack("A stream of the server") { frames in frames.addGet("/", stream: 2) },
    Attack("A stream with a lower number", requests: 1) { frames in
      frames.addGet("/1", stream: 5)
      frames.addGet("/2", stream: 3)
    },
    Attack("Fields on the connection") { frames in frames.addGet("/", stream: 0) },
    Attack("DATA on a stream that does not exist") { frames in frames.add(0, stream: 1, [1]) },
    Attack("A window beyond its limit") { frames in frames.add(8, stream: 0, Frames.number(0x7FFF_FFFF)) },
    Attack("A window that grows by nothing") { frames in frames.add(8, stream: 0, Frames.number(0)) },
    Attack("A push from the client") { frames in
      frames.add(5, flags: Frames.endHeaders, stream: 1, Frames.number(2) + Frames.get("/"))
    },
    Attack("A frame that is larger than agreed") { frames in
      frames.add(0, stream: 1, Array(repeating: 0, count: 20_000))
    },
    Attack("A table of two gigabytes", settings: [(1, 0x7FFF_FFFF)]) { _ in },
    Attack("SETTINGS with an impossible window", settings: [(4, 0x8000_0000)]) { _ in },
    Attack("SETTINGS with an impossible frame size", settings: [(5, 1)]) { _ in },
    Attack("SETTINGS of a strange length") { frames in frames.add(4, stream: 0, [1, 2, 3]) },
    Attack("A PING of a strange length") { frames in frames.add(6, stream: 0, [1]) },
    Attack("HTTP/1.1 behind the preface") { frames in
      frames.bytes += Array("GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    },
  ]

  private static func run(
    _ configure: @escaping (inout ProxyConfiguration) -> Void = { _ in },
    _ body: (ProxyFixture) async throws -> Void
  ) async throws {
    try await ProxyFixture.run({
      $0.http2 = .always
      // A thousand requests before the limit of resets have both ends of their connections in this process.
      $0.origin.limits.connections = 100
      configure(&$0)
    }) { request, connection in
      if request.hasPrefix("POST /slow ") { return true }
      try await connection.send(ok("hello", "Cache-Control: max-age=3600\r\n"))
      return true
    } _: { (proxy: ProxyFixture) async throws in
      try await body(proxy)
    }
  }

  @Test("A client that makes the proxy work in vain loses its connection", arguments: attacks)
  func attack(_ attack: Attack) async throws {
    try await Self.run { proxy in
      var frames = Frames()
      frames.addSettings(attack.settings)
      attack.build(&frames)
      let bytes = frames.bytes
      let client = try await RawClient.connect(to: proxy.port)
      try await client.talk { conversation in
        // The proxy may close at any point.
        for start in stride(from: 0, to: bytes.count, by: 1 << 16) {
          do {
            try await conversation.send(bytes: Array(bytes[start..<min(bytes.count, start + 1 << 16)]))
          } catch {
            break
          }
        }
        _ = await conversation.readAll()
      }
      try await eventually { proxy.proxy.statistics.http2Failures.value == 1 }
      #expect(proxy.origin.requests.count <= attack.requests)
      #expect(!proxy.origin.requests.contains { $0.contains("smuggled") })
      // Others are served.
      let other = try await HTTP2Client.connect(port: proxy.port)
      #expect(try await other.send(HTTP2Client.request("/")).status == 200)
      await other.close()
      try await eventually { proxy.proxy.statistics.openStreams == 0 }
    }
  }

  @Test("A client whose windows are closed occupies no more than its streams, until they have stalled")
  func closedWindows() async throws {
    try await Self.run({ $0.timeouts.stall = .milliseconds(500) }) { proxy in
      let filling = try await HTTP2Client.connect(port: proxy.port)
      #expect(try await filling.send(HTTP2Client.request("/")).status == 200)
      await filling.close()
      try await eventually { proxy.proxy.statistics.openConnections == 0 }
      var frames = Frames()
      frames.addSettings([(4, 0)])
      for number in 0..<100 as Range<UInt32> { frames.addGet("/", stream: 2 * number + 1) }
      let bytes = frames.bytes
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send(bytes: bytes)
        try await eventually { proxy.proxy.statistics.streams.value == 101 }
        try await eventually { proxy.proxy.statistics.openStreams == 0 }
        #expect(proxy.proxy.statistics.openConnections == 1)
      }
      #expect(proxy.origin.requests.count == 1)
    }
  }

  @Test(
    "A client that shrinks its windows loses its streams, and not the connection", arguments: [false, true])
  func shrunkWindows(isTunnel: Bool) async throws {
    let go = Gate()
    try await ProxyFixture.run({ $0.http2 = .always }) { request, connection in
      if request.hasPrefix("GET /other ") {
        try await connection.send(ok("other"))
        return true
      }
      if isTunnel {
        try await connection.send(
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello")
        await go.pass()
        return false
      }
      try await connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
      await go.pass()
      try await connection.send("0\r\n\r\n")
      return true
    } _: { (proxy: ProxyFixture) async throws in
      var frames = Frames()
      frames.addSettings()
      if isTunnel {
        frames.add(
          1, flags: Frames.endHeaders, stream: 1,
          Frames.literals([
            (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"),
            (":authority", "a.example"), (":path", "/chat"),
          ]))
      } else {
        frames.addGet("/", stream: 1)
      }
      let begin = frames.bytes
      frames.bytes = []
      // The window of the stream is now -5.
      frames.addSettings([(4, 0)])
      frames.addSettings([(4, 65_535)])
      let shrink = frames.bytes
      frames.bytes = []
      frames.addGet("/other", stream: 3)
      let other = frames.bytes
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send(bytes: begin)
        #expect(await conversation.read(until: "hello").contains("hello"))
        try await conversation.send(bytes: shrink)
        try await eventually { proxy.proxy.statistics.openStreams == 0 }
        go.open()
        try await conversation.send(bytes: other)
        #expect(await conversation.read(until: "other").contains("other"))
      }
    }
  }

  @Test("Frames of unknown types and settings of unknown names are ignored (RFC 9113 §4.1, §6.5.2)")
  func unknown() async throws {
    try await Self.run { proxy in
      var frames = Frames()
      frames.addSettings([(99, 1)])
      frames.add(200, flags: 255, stream: 0, [1, 2, 3])
      frames.add(200, flags: 255, stream: 1, [1, 2, 3])
      frames.addGet("/", stream: 1)
      let bytes = frames.bytes
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send(bytes: bytes)
        _ = await conversation.read(until: "hello")
      }
      #expect(proxy.origin.requests.count == 1)
    }
  }
}
