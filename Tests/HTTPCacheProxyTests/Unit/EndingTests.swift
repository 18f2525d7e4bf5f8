// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCaching
import HTTPTypes
import Logging
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import HTTPCacheProxy

/// Random walks of bytes, ends and failing writes. After each, nothing of a connection may be left: neither a promise nor a timer
/// may keep it.
@Suite("Ends of connections", .timeLimit(.minutes(10)))
struct EndingTests {
  private final class Reference {
    weak var object: AnyObject?
    init(_ object: AnyObject) { self.object = object }
  }

  /// A channel whose wire breaks, and what has belonged to its connection.
  private struct Line {
    let channel: EmbeddedChannel
    private let wire: BreakingWire
    var references: [Reference] = []

    init(_ loop: EmbeddedEventLoop, _ random: inout SplitMix64) throws {
      wire = BreakingWire(
        failingAfter: Int.random(in: 0..<12, using: &random), takes: Bool.random(using: &random))
      channel = EmbeddedChannel(handler: wire, loop: loop)
    }

    func connect() throws {
      channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
    }

    func receive(_ bytes: some Sequence<UInt8>) {
      guard let context = try? channel.pipeline.syncOperations.context(handler: wire) else { return }
      wire.receive(ByteBuffer(bytes: bytes), context)
    }

    /// Delivers bytes in random pieces.
    func receive(_ bytes: [UInt8], _ random: inout SplitMix64) {
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Bool.random(using: &random) ? rest.count : Int.random(in: 1...rest.count, using: &random)
        receive(rest.prefix(count))
        rest = rest.dropFirst(count)
        if Int.random(in: 0..<4, using: &random) == 0 { channel.embeddedEventLoop.run() }
        if Int.random(in: 0..<8, using: &random) == 0 {
          channel.embeddedEventLoop.advanceTime(by: .milliseconds(600))
        }
      }
    }

    /// Ends the connection in one of the ways in which peers and errors do.
    func end(_ random: inout SplitMix64) {
      switch Int.random(in: 0..<4, using: &random) {
      case 0: channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
      case 1: channel.pipeline.fireErrorCaught(IOError(errnoCode: 104, reason: "read"))
      case 2: channel.embeddedEventLoop.run()
      default: break
      }
      channel.close(promise: nil)
      channel.embeddedEventLoop.run()
    }
  }

  private static func frame(_ random: inout SplitMix64, last: Int) -> WireFrame {
    let stream = 2 * Int.random(in: 0...max(0, last / 2), using: &random) + 1
    return switch Int.random(in: 0..<10, using: &random) {
    case 0: WireFrame(type: 0, stream: 0, payload: [1])
    case 1: WireFrame.opening(0, by: 0)
    case 2: WireFrame.opening(stream, by: 0)
    case 3: WireFrame.opening(0, by: 1 << 20)
    case 4: WireFrame.opening(stream, by: 1 << 20)
    case 5: WireFrame(type: 3, stream: stream, payload: [0, 0, 0, 8])
    case 6: WireFrame(type: 6, stream: 0, payload: Array(repeating: 7, count: 8))
    case 7: WireFrame(type: 7, stream: 0, payload: [0, 0, 0, 1, 0, 0, 0, 0])
    case 8: WireFrame.settings(window: Int.random(in: 0..<1 << 18, using: &random))
    default: WireFrame(type: 9, stream: stream, payload: [0])
    }
  }

  /// What a client sends over HTTP/2: requests, and other frames, right and wrong.
  private static func frames(_ random: inout SplitMix64) -> [UInt8] {
    var bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    bytes += WireFrame.settings(window: Bool.random(using: &random) ? 1 << 20 : 0).bytes
    var last = -1
    for _ in 0..<Int.random(in: 0..<24, using: &random) {
      if Int.random(in: 0..<3, using: &random) > 0 {
        last += 2
        let path = paths.randomElement(using: &random) ?? ""
        let fields = [0x82, 0x86, 0x04, UInt8(path.utf8.count)] + Array(path.utf8) + [0x01, 0x01, 0x61]
        bytes += WireFrame(type: 1, flags: 5, stream: last, payload: fields).bytes
      } else {
        bytes += frame(&random, last: last).bytes
      }
    }
    return bytes
  }

  private static let paths = ["/1", "/2", "/long"]

  /// The same over HTTP/1.1.
  private static func requests(_ random: inout SplitMix64) -> [UInt8] {
    var text = ""
    for _ in 0..<Int.random(in: 0..<8, using: &random) {
      let path = paths.randomElement(using: &random) ?? ""
      switch Int.random(in: 0..<6, using: &random) {
      case 0: text += "GET \(path)"
      case 1: text += "GET \(path) HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"
      case 2: text += "GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
      default: text += "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n"
      }
    }
    return Array(text.utf8)
  }

  @Test(
    "Nothing of a client's connection is left at its end",
    arguments: [false, true].flatMap { isHTTP2 in [false, true].map { (isHTTP2, $0) } },
    0..<20 as Range<UInt64>)
  func clients(kind: (isHTTP2: Bool, inFiles: Bool), seed: UInt64) async throws {
    try await HTTPCache.withContents(["/1": 10, "/2": 20_000, "/long": 90_000], inFiles: kind.inFiles) {
      cache, _ in
      try inOneThread {
        var random = SplitMix64(seed: seed)
        for _ in 0..<25 {
          let loop = EmbeddedEventLoop()
          let context = try ProxyContext.embedded(on: loop, cache: cache) { $0.http2 = .always }
          let references = try Self.client(kind.isHTTP2, context, loop, &random)
          #expect(references.allSatisfy { $0.object == nil })
          #expect(context.statistics.openStreams == 0 && cache.transit.used == 0)
        }
      }
    }
  }

  private static func client(
    _ isHTTP2: Bool, _ context: ProxyContext, _ loop: EmbeddedEventLoop, _ random: inout SplitMix64
  ) throws -> [Reference] {
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let table = ConnectionTable(.init(connections: 1), of: "connections", statistics: nil, logger: logger)
    var line = try Line(loop, &random)
    var made: [Reference] = []
    var http2: () -> ClientHTTP2Connection? = { nil }
    let opening = ConnectionOpening(context, encryption: nil, service: .answers) {
      channel, client, service, version, _ in
      guard version == .http2 else {
        let connection = ClientConnection(context, on: loop, service: service, client: client)
        made.append(Reference(connection))
        try channel.pipeline.syncOperations.addHandler(connection)
        return connection
      }
      let connection = try ClientHTTP2Connection.add(to: channel, context, client: client, log: nil)
      made.append(Reference(connection))
      http2 = { [weak connection] in connection }
      return connection
    }
    try line.channel.pipeline.syncOperations.addHandler(opening)
    let place = table.add(line.channel, opening)
    opening.place = place
    line.references = [Reference(opening), Reference(place)]
    try line.connect()
    line.receive(isHTTP2 ? frames(&random) : requests(&random), &random)
    line.references += http2()?.streams.values.map { Reference($0) } ?? []
    if Int.random(in: 0..<4, using: &random) == 0 { http2()?.drain(isPatient: false) }
    line.end(&random)
    return line.references + made
  }

  @Test(
    "Nothing of a connection of HTTP/2 to the origin is left at its end", arguments: 0..<40 as Range<UInt64>)
  func origins(seed: UInt64) throws {
    try inOneThread {
      var random = SplitMix64(seed: seed)
      for _ in 0..<25 {
        let (loop, transit) = (EmbeddedEventLoop(), TransitBudget(capacity: 64 << 20))
        let (references, answered, sent) = try Self.origin(loop, transit, &random)
        #expect(references.allSatisfy { $0.object == nil })
        #expect(answered == sent && transit.used == 0)
      }
    }
  }

  /// - Returns: what has belonged to the connection, and the numbers of requests that were answered, or failed, and sent.
  private static func origin(
    _ loop: EmbeddedEventLoop, _ transit: TransitBudget, _ random: inout SplitMix64
  ) throws -> ([Reference], answered: Int, sent: Int) {
    var line = try Line(loop, &random)
    try line.connect()
    let answered = Recorder<Int>()
    var sent = 0
    var opened: OriginHTTP2Connection?
    try OriginHTTP2Connection.add(
      to: line.channel, by: loop.now + .seconds(60), limits: .init(), timeouts: .init(), transit: transit,
      scheme: "http", report: { _, _ in }
    ).assumeIsolated().whenSuccess { opened = $0.connection.value }
    line.receive(WireFrame.settings(window: Bool.random(using: &random) ? 1 << 20 : 0).bytes, &random)
    if let opened {
      line.references.append(Reference(opened))
      for number in 0..<Int.random(in: 1..<6, using: &random) {
        let stream = OriginStream(opened)
        line.references.append(Reference(stream))
        let content = [UInt8](repeating: 1, count: Bool.random(using: &random) ? 0 : 90_000)
        let request = HTTPRequest(method: .post, scheme: nil, authority: "a.example", path: "/")
        stream.start(OriginRequest(request: request, body: MessageBody(content), via: "1.1 x")) { result in
          answered.add(number)
          if case .success(let reply) = result, case .arriving(let feed, _) = reply.content { feed.abandon() }
        }
        sent += 1
        if Bool.random(using: &random) { loop.run() }
      }
    }
    var bytes: [UInt8] = []
    for _ in 0..<Int.random(in: 0..<12, using: &random) {
      let stream = 2 * Int.random(in: 0..<6, using: &random) + 1
      switch Int.random(in: 0..<5, using: &random) {
      // 200, and its end.
      case 0: bytes += WireFrame(type: 1, flags: 5, stream: stream, payload: [0x88]).bytes
      // 200, and content.
      case 1: bytes += WireFrame(type: 1, flags: 4, stream: stream, payload: [0x88]).bytes
      case 2: bytes += WireFrame(type: 0, stream: stream, payload: Array(repeating: 1, count: 10_000)).bytes
      default: bytes += frame(&random, last: 11).bytes
      }
    }
    opened = nil
    line.receive(bytes, &random)
    line.end(&random)
    return (line.references, answered.all.count, sent)
  }
}
