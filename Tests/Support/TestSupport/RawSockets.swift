// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Loopback
import NIOCore
import NIOPosix
import NIOSSL

package typealias RawChannel = NIOAsyncChannel<ByteBuffer, ByteBuffer>

/// A client that sends these bytes and no others.
package struct RawClient: Sendable {
  private let channel: RawChannel

  /// - Parameters:
  ///   - encryption: encrypts the connection, if there is one.
  ///   - name: the name that the server is asked for.
  ///   - bytes: what is sent before the handshake.
  package static func connect(
    to port: Int, encryption: NIOSSLContext? = nil, name: String? = nil, after bytes: String = ""
  ) async throws -> RawClient {
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          if let encryption {
            if !bytes.isEmpty { try channel.pipeline.syncOperations.addHandler(Preface(bytes)) }
            let handler = try NIOSSLClientHandler(context: encryption, serverHostname: name)
            try channel.pipeline.syncOperations.addHandler(handler)
          }
          return try RawChannel(wrappingChannelSynchronously: channel)
        }
      }
    return RawClient(channel: channel)
  }

  /// - Parameter path: the path of a socket in the file system.
  package static func connect(toUnix path: String) async throws -> RawClient {
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .connect(unixDomainSocketPath: path) { channel in
        channel.eventLoop.makeCompletedFuture { try RawChannel(wrappingChannelSynchronously: channel) }
      }
    return RawClient(channel: channel)
  }

  /// Sends bytes before all others.
  private final class Preface: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let bytes: String

    init(_ bytes: String) { self.bytes = bytes }

    func channelActive(context: ChannelHandlerContext) {
      context.writeAndFlush(NIOAny(ByteBuffer(string: bytes)), promise: nil)
      context.fireChannelActive()
    }
  }

  /// Returns the bytes of the certificate that a server presents.
  package static func certificate(at port: Int) async throws -> [UInt8] {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.certificateVerification = .none
    let client = try await connect(to: port, encryption: NIOSSLContext(configuration: configuration))
    let certificate = try await client.peerCertificate()
    _ = try? await client.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    return try certificate?.toDERBytes() ?? []
  }

  /// The server's certificate, once the handshake has got so far.
  package func peerCertificate() async throws -> NIOSSLCertificate? {
    let channel = channel.channel
    // Written after the handshake.
    try await channel.writeAndFlush(ByteBuffer())
    return try await channel.nioSSL_peerCertificate().get()
  }

  /// Runs with a conversation over the connection, and closes it.
  package func talk<Result: Sendable>(_ body: @Sendable (inout Conversation) async throws -> Result)
    async throws
    -> Result
  {
    try await channel.executeThenClose { inbound, outbound in
      var conversation = Conversation(
        channel: channel.channel, input: inbound.makeAsyncIterator(), output: outbound)
      return try await body(&conversation)
    }
  }

  /// Sends everything, and reads until the server closes.
  ///
  /// - Parameter sent: called when the request is on its way.
  package func exchange(
    _ text: String, closesHalf: Bool = false, sent: @Sendable () async throws -> Void = {}
  ) async throws -> String {
    try await talk { conversation in
      try await conversation.send(text)
      // The server may have answered, and closed, by now.
      if closesHalf { try? await conversation.closeHalf() }
      try await sent()
      return await conversation.readAll()
    }
  }
}

package struct Conversation {
  package let channel: any Channel
  package var input: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
  package let output: NIOAsyncChannelOutboundWriter<ByteBuffer>
  package private(set) var received = ""

  init(
    channel: any Channel, input: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator,
    output: NIOAsyncChannelOutboundWriter<ByteBuffer>
  ) {
    self.channel = channel
    self.input = input
    self.output = output
  }

  package func send(_ text: String) async throws {
    try await output.write(ByteBuffer(string: text))
  }

  package func send(bytes: [UInt8]) async throws {
    try await output.write(ByteBuffer(bytes: bytes))
  }

  /// Has the connection end with RST instead of FIN.
  package func resetsWhenClosed() async throws {
    try await (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
  }

  /// Closes the socket of an encrypted connection without a word in TLS.
  package func cutOff() async throws {
    try await channel.eventLoop.submit { [channel] in
      try channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self).close(promise: nil)
    }.get()
  }

  package func closeHalf() async throws {
    try await channel.close(mode: .output)
  }

  /// Reads until this has come, as often as said, or the connection ends.
  @discardableResult
  package mutating func read(until text: String, times: Int = 1) async -> String {
    while received.ranges(of: text).count < times, let next = try? await input.next() {
      received += String(decoding: next.readableBytesView.map { $0 }, as: UTF8.self)
    }
    return received
  }

  /// Reads what comes next; `false` at the end of the connection.
  package mutating func readMore() async -> Bool {
    guard let next = try? await input.next() else { return false }
    received += String(decoding: next.readableBytesView, as: UTF8.self)
    return true
  }

  package mutating func readAll() async -> String {
    while let next = try? await input.next() {
      received += String(decoding: next.readableBytesView, as: UTF8.self)
    }
    return received
  }
}

/// An origin that answers with the bytes it is told.
package final class RawOrigin: Sendable {
  /// Answers a request; `false` closes the connection.
  package typealias Answering =
    @Sendable (_ request: String, _ connection: inout Conversation) async throws -> Bool

  private let server: LoopbackServer
  private let log: Recorder<String>
  private let connections: EventCount

  /// - Parameter encryption: returns what encrypts a new connection; `nil` if nothing does.
  package static func start(
    encryption: (@Sendable () throws -> NIOSSLContext)? = nil, _ answering: @escaping Answering
  ) async throws -> RawOrigin {
    let (log, connections) = (Recorder<String>(), EventCount())
    let server = try await LoopbackServer.start { channel in
      try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
      guard let encryption else { return }
      try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: encryption()))
    } serve: { inbound, outbound, channel in
      connections.next()
      let conversation = Conversation(channel: channel, input: inbound.makeAsyncIterator(), output: outbound)
      try await serve(conversation, log, answering)
    }
    return RawOrigin(server, log, connections)
  }

  private init(_ server: LoopbackServer, _ log: Recorder<String>, _ connections: EventCount) {
    self.server = server
    self.log = log
    self.connections = connections
  }

  private static func serve(
    _ conversation: consuming Conversation, _ log: Recorder<String>, _ answering: Answering
  ) async throws {
    var seen = 0
    while true {
      let text = await conversation.read(until: "\r\n\r\n", times: seen + 1)
      let heads = text.split(separator: "\r\n\r\n", omittingEmptySubsequences: false)
      guard heads.count > seen + 1 else { return }
      let request = String(heads[seen]) + "\r\n\r\n"
      seen += 1
      log.add(request)
      guard try await answering(request, &conversation) else { return }
    }
  }

  package var port: Int { server.port }
  package var requests: [String] { log.all }
  /// Returns when so many requests have come.
  package func arrived(_ count: Int) async { try? await log.reach(count) }
  package var connectionCount: Int { connections.count }

  package func stop() async { await server.stop() }
}
