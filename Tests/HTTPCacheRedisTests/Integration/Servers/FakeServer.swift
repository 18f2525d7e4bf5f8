// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheRedis
import HTTPCaching
import NIOCore
import NIOPosix

/// A server that greets like Redis and then does what a test tells it.
final class FakeServer: Sendable {
  /// What the server does with what it receives after the greeting.
  enum Reaction: Sendable {
    case nothing
    case send([UInt8])
    case sendAndClose([UInt8])
  }

  struct State {
    fileprivate var channels: [any Channel] = []
    /// The number of open connections.
    var connections: Int { channels.count }
    /// The number of connections that were greeted.
    fileprivate(set) var greetings = 0
    /// The number of commands after the greeting.
    fileprivate(set) var received = 0
  }

  private let channel: any Channel
  private let state: Monitor<State>

  private init(_ channel: any Channel, _ state: Monitor<State>) {
    self.channel = channel
    self.state = state
  }

  /// Runs a test with a server.
  ///
  /// - Parameters:
  ///   - greeting: what answers the first bytes of a connection.
  ///   - react: what is done with later bytes.
  ///   - body: the test.
  static func with<Result>(
    greeting: String = "+PONG\r\n", _ react: @escaping @Sendable () -> Reaction = { .nothing },
    _ body: (FakeServer) async throws -> Result
  ) async throws -> Result {
    let state = Monitor(State())
    let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            Responder(state, greeting: Array(greeting.utf8), react))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let server = FakeServer(channel, state)
    do {
      let result = try await body(server)
      try await server.close()
      return result
    } catch {
      try? await server.close()
      throw error
    }
  }

  var endpoint: RedisEndpoint {
    RedisEndpoint([.tcp(host: "127.0.0.1", port: channel.localAddress?.port ?? 0)])
  }

  /// The number of open connections.
  var connections: Int { state.withLock { $0.connections } }

  /// Waits until a condition holds.
  func wait(until condition: @escaping @Sendable (State) -> Bool) async throws {
    try await state.wait(until: condition)
  }

  /// Sends bytes to all connections.
  func send(_ text: String) {
    for connection in state.withLock({ $0.channels }) {
      connection.writeAndFlush(ByteBuffer(string: text), promise: nil)
    }
  }

  private func close() async throws {
    try await channel.close()
    for connection in state.withLock({ $0.channels }) { try? await connection.close() }
  }
}

private final class Responder: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let state: Monitor<FakeServer.State>
  private let greeting: [UInt8]
  private let react: @Sendable () -> FakeServer.Reaction
  private var isGreeted = false

  init(
    _ state: Monitor<FakeServer.State>, greeting: [UInt8],
    _ react: @escaping @Sendable () -> FakeServer.Reaction
  ) {
    self.state = state
    self.greeting = greeting
    self.react = react
  }

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    state.withLock { $0.channels.append(channel) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    let channel = context.channel
    state.withLock { $0.channels.removeAll { $0 === channel } }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard isGreeted else {
      isGreeted = true
      state.withLock { $0.greetings += 1 }
      return send(greeting, context)
    }
    // Each command begins with a star, and the tests send none in arguments.
    let commands = unwrapInboundIn(data).readableBytesView.count { $0 == UInt8(ascii: "*") }
    state.withLock { $0.received += commands }
    for _ in 0..<commands {
      switch react() {
      case .nothing: break
      case .send(let bytes): send(bytes, context)
      case .sendAndClose(let bytes):
        send(bytes, context)
        context.close(promise: nil)
      }
    }
  }

  private func send(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
  }
}
