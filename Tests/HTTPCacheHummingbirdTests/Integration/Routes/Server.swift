// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheHummingbird
import HTTPCacheStore
import HTTPCaching
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import TestSupport
import Testing

/// A running Hummingbird application on loopback, for one test.
struct Server: Sendable {
  let port: Int

  /// Runs an application until `body` returns.
  static func run(
    _ responder: some HTTPResponder<BasicRequestContext>, _ body: (Server) async throws -> Void
  ) async throws {
    let (ports, continuation) = AsyncStream<Int>.makeStream()
    let app = Application(
      responder: responder, configuration: .init(address: .hostname("127.0.0.1", port: 0), backlog: 2048),
      onServerRunning: { channel in
        continuation.yield(channel.localAddress?.port ?? 0)
      }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let running = Task {
      defer { continuation.finish() }
      try await app.run()
    }
    var iterator = ports.makeAsyncIterator()
    let port = try #require(await iterator.next())
    do {
      try await body(Server(port: port))
    } catch {
      Issue.record(error)
    }
    running.cancel()
    _ = await running.result
  }

  /// Sends one request on a new connection, and reads all of the response.
  @discardableResult
  func send(
    _ method: HTTPRequest.Method = .get, _ path: String, _ fields: [(String, String)] = [], body: String = ""
  ) async throws -> Reply {
    try await Client.connect(to: port).talk { client in
      try await client.send(method, path, fields, body: body)
      return try await client.reply()
    }
  }
}

/// A response as a client gets it.
struct Reply: Sendable {
  var status: Int
  var fields: HTTPHeaders
  var body = ByteBuffer()
  var trailers: HTTPHeaders?

  var text: String { String(buffer: body) }
  var cacheStatus: String { fields["cache-status"].joined(separator: ", ") }
  var isHit: Bool { cacheStatus.contains("; hit") }
  subscript(name: String) -> String? { fields.first(name: name) }
}

/// A client with one connection.
struct Client {
  typealias Channel = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

  private let channel: Channel

  static func connect(to port: Int) async throws -> Client {
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      // Small, so that a server notices a client that does not read.
      .channelOption(.socketOption(.so_rcvbuf), value: 64 << 10)
      .connectTimeout(.minutes(5))
      .connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHTTPClientHandlers()
          return try Channel(
            wrappingChannelSynchronously: channel,
            configuration: .init(backPressureStrategy: .init(lowWatermark: 1, highWatermark: 2)))
        }
      }
    return Client(channel: channel)
  }

  func talk<Result: Sendable>(
    _ body: @Sendable (inout Conversation) async throws -> Result
  ) async throws -> Result {
    try await channel.executeThenClose { inbound, outbound in
      var conversation = Conversation(input: inbound.makeAsyncIterator(), output: outbound)
      return try await body(&conversation)
    }
  }

  struct Conversation {
    var input: NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator
    let output: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>

    func send(
      _ method: HTTPRequest.Method = .get, _ path: String, _ fields: [(String, String)] = [],
      body: String = ""
    ) async throws {
      var headers = HTTPHeaders(fields)
      if !headers.contains(name: "host") { headers.add(name: "host", value: "a.example") }
      if !body.isEmpty { headers.add(name: "content-length", value: "\(body.utf8.count)") }
      try await output.write(
        .head(
          .init(version: .http1_1, method: HTTPMethod(rawValue: method.rawValue), uri: path, headers: headers)
        ))
      if !body.isEmpty { try await output.write(.body(.byteBuffer(ByteBuffer(string: body)))) }
      try await output.write(.end(nil))
    }

    /// Reads the head of a response.
    mutating func head() async throws -> Reply {
      guard case .head(let head)? = try await input.next() else { throw NoResponse() }
      return Reply(status: Int(head.status.code), fields: head.headers)
    }

    /// Reads the next part of the content; `nil` at the end.
    mutating func chunk() async throws -> ByteBuffer? {
      guard let part = try await input.next() else { throw NoResponse() }
      if case .body(let buffer) = part { return buffer }
      return nil
    }

    mutating func reply() async throws -> Reply {
      var reply = try await head()
      while true {
        switch try await input.next() {
        case .body(var buffer): reply.body.writeBuffer(&buffer)
        case .end(let trailers):
          reply.trailers = trailers
          return reply
        case .head, nil: throw NoResponse()
        }
      }
    }
  }

  struct NoResponse: Error {}
}

/// A cache with a clock that stands still, its middleware, and a router.
struct Setting {
  let clock = ManualClock(Timestamp(seconds: 1_700_000_000))
  let cache: HTTPCache
  let router: Router<BasicRequestContext>

  init(
    options: RouterOptions = .autoGenerateHeadEndpoints,
    configure: (inout HTTPCache.Configuration) -> Void = { _ in }
  ) throws {
    router = Router(options: options)
    var configuration = HTTPCache.Configuration(kind: .shared)
    configuration.name = "test"
    configure(&configuration)
    cache = HTTPCache(
      store: try CacheStore(.init(memoryCapacity: 32 << 20)), configuration: configuration, clock: clock)
  }

  /// Adds the middleware.
  @discardableResult
  func caching(
    validator: ResponseValidator = .strong, defaultAuthority: String = "localhost",
    publicOrigin: String? = nil,
    partition: (@Sendable (Request, BasicRequestContext) -> String?)? = nil,
    shouldIntercept: (@Sendable (Request, BasicRequestContext) -> Bool)? = nil
  ) -> Setting {
    router.add(
      middleware: CacheMiddleware(
        cache: cache, validator: validator, defaultAuthority: defaultAuthority, publicOrigin: publicOrigin,
        partition: partition, shouldIntercept: shouldIntercept))
    return self
  }

  func run(revalidates: Bool = true, _ body: (Server) async throws -> Void) async throws {
    if revalidates {
      try await Server.run(router.buildCachingResponder(), body)
    } else {
      try await Server.run(router.buildResponder(), body)
    }
  }
}

/// Counts the runs of a handler.
typealias Runs = EventCount

extension Response {
  init(_ text: String, _ status: HTTPResponse.Status = .ok, _ fields: HTTPFields = [:]) {
    self.init(status: status, headers: fields, body: .init(byteBuffer: ByteBuffer(string: text)))
  }
}

/// A context for requests that do not come through a server.
enum TestContext {
  static func make() async throws -> BasicRequestContext {
    let channel = try await DatagramBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .bind(host: "127.0.0.1", port: 0).get()
    defer { channel.close(promise: nil) }
    return BasicRequestContext(
      source: .init(channel: channel, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
  }
}
