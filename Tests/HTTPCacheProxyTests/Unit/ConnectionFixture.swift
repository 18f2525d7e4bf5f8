// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import Logging
import NIOCore
import NIOEmbedded
import TestSupport

@testable import HTTPCacheProxy

/// A client's connection without a socket, on an event loop whose time the test sets.
struct ConnectionFixture {
  /// In place of the socket: counts the reads, and takes what is written, if it takes anything.
  final class Wire: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    let takes: Bool
    private(set) var reads = 0
    private(set) var sentBytes: [UInt8] = []
    var sent: String { String(decoding: sentBytes, as: UTF8.self) }
    private(set) var outputIsClosed = false
    private var promises: [EventLoopPromise<Void>] = []

    init(takes: Bool) { self.takes = takes }

    func read(context: ChannelHandlerContext) { reads += 1 }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      sentBytes += unwrapOutboundIn(data).readableBytesView
      if takes { promise?.succeed() } else if let promise { promises.append(promise) }
    }

    func flush(context: ChannelHandlerContext) {}

    /// Takes what was written; `false` if nothing was.
    @discardableResult
    func takeAll() -> Bool {
      let taken = promises
      promises = []
      for promise in taken { promise.succeed() }
      return !taken.isEmpty
    }

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

  /// The connection, which an opening may have made.
  private final class Made {
    var connection: ClientConnection
    init(_ connection: ClientConnection) { self.connection = connection }
  }

  let channel: EmbeddedChannel
  private let made: Made
  let wire: Wire
  var connection: ClientConnection { made.connection }

  init(
    takes: Bool = true, cache: HTTPCache? = nil,
    _ configure: (inout ProxyConfiguration) throws -> Void = { _ in }
  ) throws {
    let loop = EmbeddedEventLoop()
    let context = try ProxyContext.embedded(on: loop, cache: cache, configure)
    let made = Made(ClientConnection(context, on: loop))
    self.made = made
    wire = Wire(takes: takes)
    let first: any ChannelHandler =
      context.configuration.expectsProxyHeader
      ? ConnectionOpening(context, encryption: nil, service: .answers) {
        channel, client, service, _, _ in
        made.connection = ClientConnection(context, on: loop, service: service, client: client)
        try channel.pipeline.syncOperations.addHandler(made.connection)
        return made.connection
      } : made.connection
    channel = EmbeddedChannel(handlers: [wire, first], loop: loop)
    channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
  }

  /// Delivers bytes, at once or one at a time, as far as the connection asks for them.
  func receive(_ bytes: some Sequence<UInt8>, isWhole: Bool = true) throws {
    for part in isWhole ? [ByteBuffer(bytes: bytes)] : bytes.map({ ByteBuffer(integer: $0) }) {
      try channel.writeInbound(part)
    }
  }

  func receive(_ text: String, isWhole: Bool = true) throws {
    try receive(text.utf8, isWhole: isWhole)
  }

  func pass(_ time: TimeAmount) { channel.embeddedEventLoop.advanceTime(by: time) }

  /// Lets the client take what was written; `false` if nothing was.
  @discardableResult
  func takeAll() -> Bool {
    defer { channel.embeddedEventLoop.run() }
    return wire.takeAll()
  }

  func finish() { _ = try? channel.finish() }

  /// A cache with `hello` under two names, and more.
  static func filledCache(_ more: [String: String] = [:]) async throws -> HTTPCache {
    let cache = try HTTPCache.embedded()
    for (path, content) in more.merging(["/1": "hello /1", "/2": "hello /2"], uniquingKeysWith: { $1 }) {
      let request = HTTPRequest(method: .get, scheme: "http", authority: "a", path: path)
      let response = try await cache.respond(to: request) { _, _ in
        let head = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=3600"])
        return TransportResponse(head: head, body: MessageBody(Array(content.utf8)))
      }
      for try await _ in response.body {}
    }
    return cache
  }
}

extension ProxyContext {
  /// What the connections of a proxy share, without an origin: no request may need it.
  static func embedded(
    on loop: EmbeddedEventLoop, cache: HTTPCache? = nil,
    clock: any CacheClock = ManualClock(Timestamp(seconds: 1_000_000)),
    _ configure: (inout ProxyConfiguration) throws -> Void = { _ in }
  ) throws -> ProxyContext {
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "127.0.0.1", port: 0),
      origin: ProxyConfiguration.Address(host: "127.0.0.1", port: 9))
    try configure(&configuration)
    let cache = try cache ?? .embedded()
    return ProxyContext(
      CurrentConfiguration(configuration), cache: cache, group: loop, statistics: ProxyStatistics(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, clock: clock)
  }
}

extension HTTPCache {
  /// A cache in memory whose clock stands.
  static func embedded() throws -> HTTPCache {
    try HTTPCache(
      store: CacheStore(.init(memoryCapacity: 16 << 20)),
      configuration: .init(kind: .shared, memoryCapacity: 16 << 20),
      clock: ManualClock(Timestamp(seconds: 1_000_000)))
  }
}

/// An embedded channel is used in the thread that has made it: nothing is awaited inside.
func inOneThread(_ body: () throws -> Void) rethrows { try body() }
