// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOPosix
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A server on 127.0.0.1 with a task for each connection, from the moment it is accepted.
///
/// An asynchronous channel has to be run, or the process ends: one that waited in a sequence of accepted connections while
/// the server was stopped would never be.
package final class LoopbackServer: Sendable {
  package let port: Int
  private let channel: any Channel
  private let connections: Connections
  /// Holds the port once the server has been stopped.
  private let place = Mutex<PortHolder?>(nil)

  /// The tasks of the connections there are.
  private final class Connections: Sendable {
    private struct State {
      var tasks: [ObjectIdentifier: Task<Void, Never>] = [:]
      var isStopped = false
    }

    private let state = Mutex(State())

    /// Runs a connection until it ends; at once, and to be over at once, where the server has been stopped.
    func run(_ channel: any Channel, _ serve: @escaping @Sendable () async -> Void) {
      let id = ObjectIdentifier(channel)
      state.withLock { state in
        // It waits for this lock before it forgets itself.
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

  private init(_ channel: any Channel, _ connections: Connections) {
    self.channel = channel
    self.connections = connections
    port = channel.localAddress?.port ?? 0
  }

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - port: 0 for any that is free.
  ///   - configure: adds the handlers of a connection.
  ///   - serve: runs a connection until it is to be closed; what it throws says only that.
  package static func start<Inbound: Sendable, Outbound: Sendable>(
    port: Int = 0, configure: @escaping @Sendable (any Channel) throws -> Void,
    serve:
      @escaping @Sendable (
        NIOAsyncChannelInboundStream<Inbound>, NIOAsyncChannelOutboundWriter<Outbound>, any Channel
      ) async throws -> Void
  ) async throws -> LoopbackServer {
    let connections = Connections()
    let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .serverChannelOption(.backlog, value: 4096)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try configure(channel)
          let connection = try NIOAsyncChannel<Inbound, Outbound>(wrappingChannelSynchronously: channel)
          connections.run(channel) {
            // What breaks off is the client's affair, or the test's purpose.
            try? await connection.executeThenClose { inbound, outbound in
              try await serve(inbound, outbound, channel)
            }
          }
        }
      }
      .bind(host: "127.0.0.1", port: port).get()
    return LoopbackServer(channel, connections)
  }

  /// Closes the port and all connections. Nobody listens at the port again while this object is there.
  package func stop() async {
    try? await channel.close()
    let port = port
    place.withLock { if $0 == nil { $0 = PortHolder(port) } }
    await connections.stop()
  }
}

/// Keeps a port of 127.0.0.1 without listening, so that who connects is refused: the system would give it to the next server
/// of another test, which would answer.
private final class PortHolder: Sendable {
  private let descriptor: Int32

  init?(_ port: Int) {
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { return nil }
    self.descriptor = descriptor
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    // Connections that the server has closed are about still.
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    guard let address = try? SocketAddress(ipAddress: "127.0.0.1", port: port) else { return nil }
    let failed = address.withSockAddr { address, size in bind(descriptor, address, socklen_t(size)) } != 0
    // Another was faster: who connects gets its answer, as before.
    if failed { return nil }
  }

  deinit { close(descriptor) }
}
