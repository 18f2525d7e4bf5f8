// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import NIOCore
import NIOHTTP2
import NIOPosix

/// A server on 127.0.0.1 with a task for each connection, from the moment it is accepted.
///
/// An asynchronous channel must be run, or the process ends. A channel that waited in a sequence of accepted
/// connections while the server stopped would never run.
package final class LoopbackServer: Sendable {
  package let port: Int
  /// Runs a connection, or a stream.
  package typealias Serving<Inbound: Sendable, Outbound: Sendable> =
    @Sendable (
      NIOAsyncChannelInboundStream<Inbound>, NIOAsyncChannelOutboundWriter<Outbound>, any Channel
    ) async throws -> Void

  private let channel: any Channel
  /// The socket that listens, until the channel is closed.
  private let listening: Int32
  private let connections: Connections
  /// Keeps the port after the server has been stopped, without a moment in which it is free.
  private let place: PortHolder?

  /// The tasks of the open connections.
  private final class Connections: Sendable {
    private struct State {
      var tasks: [ObjectIdentifier: Task<Void, Never>] = [:]
      var isStopped = false
    }

    private let state = Mutex(State())

    /// Runs a connection until it ends. After the server has been stopped, it starts the connection and ends it at
    /// once.
    func run(_ channel: any Channel, _ serve: @escaping @Sendable () async -> Void) {
      let id = ObjectIdentifier(channel)
      state.withLock { state in
        // The task waits for this lock before it removes itself.
        let task = Task {
          await serve()
          self.state.withLock { state in _ = state.tasks.removeValue(forKey: id) }
        }
        state.tasks[id] = task
        if state.isStopped { task.cancel() }
      }
    }

    func stop() async {
      let tasks = state.withLock { state in
        state.isStopped = true
        return Array(state.tasks.values)
      }
      for task in tasks { task.cancel() }
      for task in tasks { await task.value }
    }
  }

  private init(_ channel: any Channel, _ listening: Int32, _ connections: Connections) {
    self.channel = channel
    self.listening = listening
    self.connections = connections
    port = channel.localAddress?.port ?? 0
    place = PortHolder(port, isShared: true)
  }

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - port: the port; 0 for any free one.
  ///   - configure: adds the handlers of a connection.
  ///   - serve: runs a connection until it must be closed; an error has no other effect.
  package static func start<Inbound: Sendable, Outbound: Sendable>(
    port: Int = 0, configure: @escaping @Sendable (any Channel) throws -> Void,
    serve: @escaping Serving<Inbound, Outbound>
  ) async throws -> LoopbackServer {
    try await start(port: port) { channel, connections in
      try configure(channel)
      try run(channel, connections, serve)
    }
  }

  /// The frames that a stream receives.
  package typealias Frames = NIOAsyncChannelInboundStream<HTTP2Frame.FramePayload>
  package typealias FrameWriter = NIOAsyncChannelOutboundWriter<HTTP2Frame.FramePayload>

  /// Starts a server of HTTP/2 that sends what it is told, also what no server should.
  ///
  /// - Parameters:
  ///   - port: the port; 0 for any free one.
  ///   - settings: what the server announces.
  ///   - encrypt: adds the handlers of TLS to a connection. `ready` adds those of HTTP/2, when they are wanted.
  ///   - configure: adds the handlers of a stream.
  ///   - serve: runs a stream until it must be closed; the parent of its channel is the connection.
  package static func startHTTP2<Inbound: Sendable, Outbound: Sendable>(
    port: Int = 0, settings: HTTP2Settings = [],
    encrypt:
      @escaping @Sendable (_ channel: any Channel, _ ready: @escaping () throws -> Void) throws -> Void = {
        try $1()
      },
    configure: @escaping @Sendable (any Channel) throws -> Void = { _ in },
    serve: @escaping Serving<Inbound, Outbound>
  ) async throws -> LoopbackServer {
    try await start(port: port) { channel, connections in
      var connection = NIOHTTP2Handler.ConnectionConfiguration()
      connection.initialSettings = settings
      // Always writable: NIOHTTP2 may meet its own assertion when a connection becomes writable again while streams end
      // (`ControlFrameBuffer`). The windows bound what waits.
      try channel.syncOptions?.setOption(.writeBufferWaterMark, value: .init(low: 1 << 29, high: 1 << 30))
      connection.headerBlockValidation = .disabled
      connection.contentLengthValidation = .disabled
      connections.run(channel) {
        await withTaskCancellationHandler {
          try? await channel.closeFuture.get()
        } onCancel: {
          channel.close(promise: nil)
        }
      }
      try encrypt(channel) { [connection] in
        let handler = NIOHTTP2Handler(
          mode: .server, eventLoop: channel.eventLoop, connectionConfiguration: connection,
          streamConfiguration: NIOHTTP2Handler.StreamConfiguration()
        ) { stream in
          stream.eventLoop.makeCompletedFuture {
            try configure(stream)
            try run(stream, connections, serve)
          }
        }
        try channel.pipeline.syncOperations.addHandler(handler)
      }
    }
  }

  private static func run<Inbound: Sendable, Outbound: Sendable>(
    _ channel: any Channel, _ connections: Connections,
    _ serve: @escaping Serving<Inbound, Outbound>
  ) throws {
    let wrapped = try NIOAsyncChannel<Inbound, Outbound>(wrappingChannelSynchronously: channel)
    connections.run(channel) {
      // A broken connection is the client's problem, or the purpose of the test.
      try? await wrapped.executeThenClose { inbound, outbound in
        try await serve(inbound, outbound, channel)
      }
    }
  }

  private static func start(
    port: Int, _ configure: @escaping @Sendable (any Channel, Connections) throws -> Void
  ) async throws -> LoopbackServer {
    let connections = Connections()
    let listening = try PortHolder.boundSocket(port, isShared: true)
    let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .serverChannelOption(.backlog, value: 4096)
      .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try configure(channel, connections) }
      }
      .withBoundSocket(listening).get()
    return LoopbackServer(channel, listening, connections)
  }

  /// Closes the port and all connections. The port stays closed as long as this object exists.
  package func stop() async {
    // Once closed, the number may be that of another file.
    if channel.isActive { PortHolder.endListening(listening) }
    try? await channel.close()
    await connections.stop()
  }
}
