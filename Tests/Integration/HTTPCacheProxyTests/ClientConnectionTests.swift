// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import Synchronization
import Testing

@testable import HTTPCacheProxy

@Suite("Client connections without sockets", .timeLimit(.minutes(10)))
struct ClientConnectionTests {
  /// In place of the socket: counts the reads, and takes what is written, if it takes anything.
  private final class Wire: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    let takes: Bool
    private(set) var reads = 0
    private(set) var sent = ""
    private(set) var outputIsClosed = false
    private var promises: [EventLoopPromise<Void>] = []

    init(takes: Bool) { self.takes = takes }

    func read(context: ChannelHandlerContext) { reads += 1 }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      sent += String(buffer: unwrapOutboundIn(data))
      if takes { promise?.succeed() } else if let promise { promises.append(promise) }
    }

    func flush(context: ChannelHandlerContext) {}

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      if mode == .output {
        outputIsClosed = true
        promise?.succeed()
        return
      }
      for promise in promises { promise.fail(ChannelError.ioOnClosedChannel) }
      context.close(mode: mode, promise: promise)
    }
  }

  private struct Fixture {
    let channel: EmbeddedChannel
    let connection: ClientConnection
    let wire: Wire

    init(
      takes: Bool = true, cache: HTTPCache? = nil,
      _ configure: (inout ProxyConfiguration) throws -> Void = { _ in }
    ) throws {
      var configuration = ProxyConfiguration(
        listen: ProxyConfiguration.Address(host: "127.0.0.1", port: 0),
        origin: ProxyConfiguration.Address(host: "127.0.0.1", port: 9))
      configuration.timeouts = .patient
      try configure(&configuration)
      let cache = try cache ?? HTTPCache(.init(memoryCapacity: 1 << 20))
      let (settings, statistics) = (CurrentConfiguration(configuration), ProxyStatistics())
      let origin = OriginClient(
        settings, group: MultiThreadedEventLoopGroup.singleton, statistics: statistics,
        transit: cache.transit)
      let context = ProxyContext(
        settings, cache: cache, origin: origin, group: MultiThreadedEventLoopGroup.singleton,
        statistics: statistics,
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      connection = ClientConnection(context)
      wire = Wire(takes: takes)
      channel = EmbeddedChannel(handlers: [wire, connection])
      channel.embeddedEventLoop.advanceTime(to: .now())
      channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
    }

    /// Delivers bytes, at once or one at a time, as far as the connection asks for them.
    func receive(_ text: String, isWhole: Bool = true) throws {
      for part in isWhole ? [ByteBuffer(string: text)] : text.utf8.map({ ByteBuffer(integer: $0) }) {
        try channel.writeInbound(part)
      }
    }

    func finish() { _ = try? channel.finish() }
  }

  /// A cache with `hello` under two names.
  private static func filledCache() async throws -> HTTPCache {
    let cache = try HTTPCache(.init(kind: .shared, memoryCapacity: 1 << 20))
    for path in ["/1", "/2"] {
      let request = HTTPRequest(method: .get, scheme: "http", authority: "a", path: path)
      let response = try await cache.respond(to: request) { _, _ in
        let head = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=3600"])
        return TransportResponse(head: head, body: MessageBody(Array("hello \(path)".utf8)[...]))
      }
      for try await _ in response.body {}
    }
    return cache
  }

  private static func get(_ path: String, _ fields: String = "") -> String {
    "GET \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
  }

  @Test(
    "Pipelined requests are answered from memory in order, however their bytes arrive",
    arguments: [true, false])
  func pipelining(isWhole: Bool) async throws {
    let cache = try await Self.filledCache()
    try inOneThread {
      let fixture = try Fixture(cache: cache)
      let requests =
        "\r\n" + Self.get("/1") + "HEAD /2 HTTP/1.1\r\nHost: a\r\n\r\n"
        + "OPTIONS /3 HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n"
        + "TRACE /4 HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n" + Self.get("/2", "Connection: close\r\n")
      try fixture.receive(requests + Self.get("/1"), isWhole: isWhole)
      let sent = fixture.wire.sent
      #expect(sent.ranges(of: "HTTP/1.1 ").count == 5, "\(sent)")
      let order = ["hello /1", "HTTP/1.1 200", "TRACE /4 HTTP/1.1", "Connection: close\r\n", "hello /2"]
      var rest = sent[...]
      for text in order {
        let range = try #require(rest.firstRange(of: text), "\(text) in \(rest)")
        rest = rest[range.upperBound...]
      }
      #expect(rest.isEmpty)
      // Bytes that have already arrived show that the client may still send (RFC 9112 §9.6).
      #expect(isWhole ? fixture.wire.outputIsClosed : !fixture.channel.isActive)
      fixture.finish()
    }
  }

  @Test("No request is read or answered while the client does not accept responses")
  func backPressure() async throws {
    let cache = try await Self.filledCache()
    try inOneThread {
      let fixture = try Fixture(cache: cache)
      fixture.channel.isWritable = false
      let reads = fixture.wire.reads
      try fixture.receive(Self.get("/1") + Self.get("/2"))
      #expect(fixture.wire.sent.isEmpty)
      #expect(fixture.wire.reads == reads)
      fixture.channel.isWritable = true
      fixture.channel.pipeline.fireChannelWritabilityChanged()
      #expect(fixture.wire.sent.ranges(of: "hello /").count == 2)
      #expect(fixture.wire.reads > reads)
      fixture.finish()
    }
  }

  @Test(
    "Invalid requests are refused, however their bytes arrive, and the rest is discarded",
    arguments: [true, false])
  func refusals(isWhole: Bool) throws {
    for (request, status) in RequestTests.refused {
      // Where content follows, a task waits for it.
      let hasContent = request.contains("HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
      if hasContent { continue }
      let fixture = try Fixture {
        $0.limits.headLineBytes = 1000
        $0.limits.headFields = 20
        $0.limits.requestBytes = 1000
      }
      try fixture.receive(request + Self.get("/smuggled"), isWhole: isWhole)
      let sent = fixture.wire.sent
      #expect(sent.hasPrefix("HTTP/1.1 \(status) "), "\(request.debugDescription): \(sent)")
      #expect(sent.ranges(of: "\r\nVia: ").count == 1, "\(request.debugDescription): \(sent)")
      #expect(fixture.wire.outputIsClosed)
      fixture.finish()
    }
  }

  @Test("The PROXY header precedes the first request", arguments: [true, false])
  func proxyHeader(isWhole: Bool) async throws {
    let cache = try await Self.filledCache()
    try inOneThread {
      let fixture = try Fixture(cache: cache) {
        $0.expectsProxyHeader = true
        $0.trustedPeers = [try ProxyConfiguration.AddressRange(parsing: "127.0.0.1")]
      }
      try fixture.receive("PROXY TCP4 192.0.2.1 192.0.2.2 4711 80\r\n" + Self.get("/1"), isWhole: isWhole)
      #expect(fixture.wire.sent.hasSuffix("hello /1"))
      #expect(fixture.connection.clientAddress == IPAddress("192.0.2.1"))
      fixture.finish()
    }
  }

  @Test("A stopping proxy ends idle connections at once, and others after a started request")
  func stopping() async throws {
    let cache = try await Self.filledCache()
    try inOneThread {
      for begun in ["", "GET /1 HT"] {
        let fixture = try Fixture(cache: cache)
        try fixture.receive(begun)
        fixture.connection.context.isDraining.store(true, ordering: .relaxed)
        fixture.connection.drain()
        #expect(fixture.wire.outputIsClosed == begun.isEmpty)
        if !begun.isEmpty {
          try fixture.receive("TP/1.1\r\nHost: a\r\n\r\n" + Self.get("/2"))
          #expect(fixture.wire.sent.hasSuffix("Connection: close\r\n\r\nhello /1"))
          #expect(fixture.wire.outputIsClosed)
        }
        fixture.finish()
      }
    }
  }

  @Test("After its last response, a connection waits two seconds for the client to close")
  func lingering() throws {
    let fixture = try Fixture()
    try fixture.receive("nonsense\r\n\r\n")
    #expect(fixture.wire.outputIsClosed)
    fixture.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1999))
    #expect(fixture.channel.isActive)
    fixture.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(!fixture.channel.isActive)
    fixture.finish()
  }

  @Test(
    "A client that does not read a refusal is disconnected after the stall timeout",
    arguments: ["GET / HT", "nonsense\r\n\r\n"])
  func refusalUnread(request: String) throws {
    let fixture = try Fixture(takes: false) {
      // The head has had its time as soon as it begins.
      $0.timeouts.head = .zero
      $0.timeouts.stall = .milliseconds(1000)
    }
    try fixture.receive(request)
    fixture.channel.embeddedEventLoop.advanceTime(by: .milliseconds(500))
    #expect(!fixture.wire.sent.isEmpty)
    #expect(fixture.channel.isActive)
    fixture.channel.embeddedEventLoop.advanceTime(by: .milliseconds(600))
    #expect(!fixture.channel.isActive)
    fixture.finish()
  }
}

/// An embedded channel is used in the thread that has made it: nothing is awaited inside.
func inOneThread(_ body: () throws -> Void) rethrows { try body() }
