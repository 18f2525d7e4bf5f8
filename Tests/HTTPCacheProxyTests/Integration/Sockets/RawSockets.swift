// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Loopback
import NIOCore
import NIOPosix
import TestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

typealias RawChannel = NIOAsyncChannel<ByteBuffer, ByteBuffer>

/// A client that sends these bytes and no others.
struct RawClient {
  private let channel: RawChannel

  static func connect(to port: Int) async throws -> RawClient {
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture { try RawChannel(wrappingChannelSynchronously: channel) }
      }
    return RawClient(channel: channel)
  }

  /// Runs with a conversation over the connection, and closes it.
  func talk<Result: Sendable>(_ body: @Sendable (inout Conversation) async throws -> Result) async throws
    -> Result
  {
    try await channel.executeThenClose { inbound, outbound in
      var conversation = Conversation(
        channel: channel.channel, input: inbound.makeAsyncIterator(), output: outbound)
      return try await body(&conversation)
    }
  }

  /// Sends everything, and reads until the proxy closes.
  static func exchange(_ text: String, port: Int, closesHalf: Bool = false) async throws -> String {
    try await connect(to: port).talk { conversation in
      try await conversation.send(text)
      // The proxy may have answered, and closed, by now.
      if closesHalf { try? await conversation.closeHalf() }
      return await conversation.readAll()
    }
  }
}

struct Conversation {
  let channel: any Channel
  var input: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
  let output: NIOAsyncChannelOutboundWriter<ByteBuffer>
  private(set) var received = ""

  init(
    channel: any Channel, input: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator,
    output: NIOAsyncChannelOutboundWriter<ByteBuffer>
  ) {
    self.channel = channel
    self.input = input
    self.output = output
  }

  func send(_ text: String) async throws {
    try await output.write(ByteBuffer(string: text))
  }

  func send(bytes: [UInt8]) async throws {
    try await output.write(ByteBuffer(bytes: bytes))
  }

  /// Has the connection end with RST instead of FIN.
  func resetsWhenClosed() async throws {
    try await (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
  }

  func closeHalf() async throws {
    try await channel.close(mode: .output)
  }

  /// Reads until this has come, as often as said, or the connection ends.
  @discardableResult
  mutating func read(until text: String, times: Int = 1) async -> String {
    while received.ranges(of: text).count < times, let next = try? await input.next() {
      received += String(decoding: next.readableBytesView.map { $0 }, as: UTF8.self)
    }
    return received
  }

  mutating func readAll() async -> String {
    while let next = try? await input.next() {
      received += String(decoding: next.readableBytesView, as: UTF8.self)
    }
    return received
  }
}

/// An origin that answers with the bytes it is told.
final class RawOrigin: Sendable {
  /// Answers a request; `false` closes the connection.
  typealias Answering = @Sendable (_ request: String, _ connection: inout Conversation) async throws -> Bool

  private let server: LoopbackServer
  private let log: Log

  private final class Log: Sendable {
    let requests = Mutex<[String]>([])
    let connections = Atomic(0)
    /// Open: it counts the requests.
    let arrivals = Gate()

    init() { arrivals.open() }
  }

  static func start(_ answering: @escaping Answering) async throws -> RawOrigin {
    let log = Log()
    let server = try await LoopbackServer.start { _ in
    } serve: { inbound, outbound, channel in
      log.connections.wrappingAdd(1, ordering: .relaxed)
      let conversation = Conversation(channel: channel, input: inbound.makeAsyncIterator(), output: outbound)
      try await serve(conversation, log, answering)
    }
    return RawOrigin(server, log)
  }

  private init(_ server: LoopbackServer, _ log: Log) {
    self.server = server
    self.log = log
  }

  private static func serve(
    _ conversation: consuming Conversation, _ log: Log, _ answering: Answering
  ) async throws {
    var seen = 0
    while true {
      let text = await conversation.read(until: "\r\n\r\n", times: seen + 1)
      let heads = text.split(separator: "\r\n\r\n", omittingEmptySubsequences: false)
      guard heads.count > seen + 1 else { return }
      let request = String(heads[seen]) + "\r\n\r\n"
      seen += 1
      log.requests.withLock { $0.append(request) }
      await log.arrivals.wait()
      guard try await answering(request, &conversation) else { return }
    }
  }

  var port: Int { server.port }
  var requests: [String] { log.requests.withLock { $0 } }
  /// Returns when so many requests have come.
  func arrived(_ count: Int) async { await log.arrivals.arrived(count) }
  var connectionCount: Int { log.connections.load(ordering: .relaxed) }

  func stop() async { await server.stop() }
}
