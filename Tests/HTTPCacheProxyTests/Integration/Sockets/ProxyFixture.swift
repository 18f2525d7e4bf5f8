// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import HTTPCaching
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import TestSupport
import Testing

/// A proxy in front of an origin, for one test.
struct ProxyFixture: Sendable {
  let port: Int
  let adminPort: Int
  /// The port that redirects to https, if there is one.
  let redirectPort: Int
  let origin: RawOrigin
  let proxy: CachingProxy
  let running: Task<Void, any Error>

  static func run(
    _ configure: (inout ProxyConfiguration) -> Void = { _ in },
    rules setRules: (inout CacheEngine.Configuration) -> Void = { _ in },
    cache configureCache: (inout HTTPCache.Configuration) -> Void = { _ in },
    logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
    encryption: (@Sendable () throws -> NIOSSLContext)? = nil,
    lookup: @escaping HostLookup = systemHostLookup,
    origin answering: @escaping RawOrigin.Answering,
    _ body: (ProxyFixture) async throws -> Void
  ) async throws {
    let origin = try await RawOrigin.start(encryption: encryption, answering)
    do {
      var configuration = ProxyConfiguration(
        listen: ProxyConfiguration.Address(host: "127.0.0.1", port: 0),
        origin: ProxyConfiguration.Address(host: "127.0.0.1", port: origin.port))
      configuration.setPatience()
      // A client that closes its half ends a conversation without a time-out.
      configuration.allowsHalfClosure = true
      // Many origins of tests fail on purpose.
      configuration.origin.limits.failures = nil
      configure(&configuration)
      var settings = HTTPCache.Configuration(kind: .shared, memoryCapacity: 32 << 20)
      settings.name = "test"
      settings.followerTimeout = .patient
      setRules(&settings.rules)
      configureCache(&settings)
      let cache = try HTTPCache(settings)
      defer { cache.close() }
      // One loop, so that lines of the access log are in order. A thread for each proxy would cost the tests their time.
      let proxy = CachingProxy(
        configuration, cache: cache, eventLoopGroup: MultiThreadedEventLoopGroup.singleton.next(),
        logger: logger, lookup: lookup)
      let running = Task { try await proxy.run() }
      guard let endpoints = await proxy.endpoints() else {
        try await running.value
        throw CancellationError()
      }
      let fixture = ProxyFixture(
        port: endpoints[0].port ?? 0, adminPort: endpoints.dropFirst().first?.port ?? 0,
        redirectPort: endpoints.last?.port ?? 0, origin: origin, proxy: proxy, running: running)
      do {
        try await body(fixture)
      } catch {
        Issue.record(error)
      }
      running.cancel()
      try await running.value
    } catch {
      Issue.record(error)
    }
    await origin.stop()
  }

  /// One request, and everything until the connection ends.
  func exchange(_ text: String) async throws -> String {
    try await RawClient.connect(to: port).exchange(text, closesHalf: true)
  }

  /// The response of the admin port to a request.
  func ask(_ line: String, _ fields: String = "") async throws -> String {
    try await RawClient.connect(to: adminPort).exchange(
      "\(line) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\(fields)\r\n")
  }

  func get(_ path: String, _ fields: String = "") async throws -> String {
    try await exchange("GET \(path) HTTP/1.1\r\nHost: a.example\r\n\(fields)Connection: close\r\n\r\n")
  }
}

extension Duration {
  /// As long as a test may take.
  static let patient = Duration.seconds(600)
}

extension ProxyConfiguration {
  /// Makes the proxy wait as long as a test may take: an idle connection, say, is there still when the test gets its next
  /// turn.
  mutating func setPatience() {
    for path in [\Timeouts.head, \.idle, \.stall, \.drain] { timeouts[keyPath: path] = .patient }
    origin.timeouts = .patient
  }
}

extension ProxyConfiguration.Origin.Timeouts {
  static var patient: Self {
    var timeouts = Self()
    for path in [\Self.connect, \.firstByte, \.betweenBytes, \.queue, \.probe, \.expect, \.resolve] {
      timeouts[keyPath: path] = .patient
    }
    timeouts.idle = .patient
    return timeouts
  }
}

/// A protocol of an upgraded connection, in which each direction ends by itself.
enum EchoProtocol {
  /// Switches protocols, and sends back what the client sends until it closes its half.
  static let origin: RawOrigin.Answering = { _, connection in
    try await connection.send(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\nhello ")
    let text = await connection.readAll()
    try await connection.send(String(text.split(separator: "\r\n\r\n").last ?? "") + " bye")
    return false
  }

  /// Expects that bytes pass in both directions of a connection to ``origin``.
  static func check(_ client: RawClient) async throws {
    let answer = try await client.talk { (conversation: inout Conversation) async throws -> String in
      try await conversation.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
      await conversation.read(until: "hello ")
      try await conversation.send("there")
      try await conversation.closeHalf()
      return await conversation.readAll()
    }
    expect(answer, endsWith: "\r\n\r\nhello there bye")
  }
}

/// A response of an origin that keeps the connection.
func ok(_ body: String, _ fields: String = "") -> String {
  "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
}

func expect(_ text: String, startsWith prefix: String, sourceLocation: SourceLocation = #_sourceLocation) {
  #expect(text.hasPrefix(prefix), "\(text)", sourceLocation: sourceLocation)
}

func expect(_ text: String, contains part: String, sourceLocation: SourceLocation = #_sourceLocation) {
  #expect(text.contains(part), "\(text)", sourceLocation: sourceLocation)
}

func expect(_ text: String, endsWith suffix: String, sourceLocation: SourceLocation = #_sourceLocation) {
  #expect(text.hasSuffix(suffix), "\(text)", sourceLocation: sourceLocation)
}
