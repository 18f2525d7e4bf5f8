// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import Synchronization

/// A client of Redis or Valkey: of one server, of the primary that Sentinel knows, or of a cluster.
///
/// ```swift
/// let client = try RedisClient(.init(RedisEndpoint("redis://127.0.0.1")))
/// let reply = try await client.send(["GET", "key"].map { Array($0.utf8) })
/// await client.close()
/// ```
///
/// Commands of all tasks share a few connections. What several tasks send at the same time goes out in one write, and
/// each reply reaches its own caller. A caller waits for the time limit of its command at most, and no longer than its
/// task runs; the connection stays usable for the others. While a server cannot be reached, commands fail at once.
///
/// The client sends a command once. After ``RedisError/Code/timedOut``, ``RedisError/Code/connectionLost`` or
/// ``RedisError/Code/protocolViolation`` the server may have executed it.
package final class RedisClient: Sendable {
  private enum Topology {
    case node(RedisNode)
    case cluster(RedisCluster)
  }

  /// The configuration that the client was made with.
  package let configuration: RedisSharedTier.Configuration
  private let settings: ConnectionSettings
  private let topology: Topology
  private let locate: RedisLink.Locator
  private let isClosed = Atomic(false)

  /// Makes a client. The first command makes the first connection.
  ///
  /// - Parameter configuration: the servers, and the limits of the connections to them.
  /// - Throws: ``RedisError`` if the addresses are missing, or if a certificate or a key cannot be used.
  package init(_ configuration: RedisSharedTier.Configuration) throws(RedisError) {
    guard let address = configuration.endpoint.addresses.first else {
      throw RedisError(.invalidEndpoint, "the endpoint has no address; set at least one")
    }
    let settings = try configuration.settings(RedisCounters())
    self.configuration = configuration
    self.settings = settings
    switch configuration.endpoint.mode {
    case .single:
      locate = { () throws(RedisError) in address }
      topology = .node(RedisNode(configuration, settings, locate: locate))
    case .sentinel(let name):
      let sentinels = Sentinels(configuration, settings, name: name)
      locate = { () async throws(RedisError) in try await sentinels.primary() }
      topology = .node(RedisNode(configuration, settings, locate: locate))
    case .cluster:
      let cluster = RedisCluster(configuration, settings)
      locate = { () throws(RedisError) in cluster.anyAddress }
      topology = .cluster(cluster)
    }
  }

  deinit { end() }

  /// Sends a command and waits for its reply.
  ///
  /// - Parameters:
  ///   - arguments: the command and its arguments.
  ///   - key: the key that selects the node of a cluster, by the part in braces if it has one; `nil` for any node.
  ///   - timeout: how long to wait; `nil` for `requestTimeout` of the configuration.
  /// - Returns: the reply, which may be an error.
  /// - Throws: ``RedisError``, or `CancellationError` if the task is cancelled; then the reply is ignored.
  package func send(
    _ arguments: [[UInt8]], key: [UInt8]? = nil, timeout: Duration? = nil
  ) async throws -> RedisValue {
    try await pipeline([arguments], key: key, timeout: timeout)[0]
  }

  /// Sends commands to one server in one write, and waits for all replies.
  ///
  /// The server executes the commands in their order. In a cluster, all keys must have the same slot. Redirected commands
  /// (`MOVED`, `ASK`) are sent again, after the others.
  ///
  /// - Parameters:
  ///   - commands: the commands with their arguments.
  ///   - key: the key that selects the node of a cluster, by the part in braces if it has one; `nil` for any node.
  ///   - timeout: how long to wait; `nil` for `requestTimeout` of the configuration.
  /// - Returns: one reply for each command; each may be an error.
  /// - Throws: ``RedisError``, or `CancellationError` if the task is cancelled; then the replies are ignored.
  package func pipeline(
    _ commands: [[[UInt8]]], key: [UInt8]? = nil, timeout: Duration? = nil
  ) async throws -> [RedisValue] {
    let timeout = timeout ?? configuration.requestTimeout
    return switch topology {
    case .node(let node): try await node.pipeline(commands, timeout: timeout)
    case .cluster(let cluster): try await cluster.pipeline(commands, key: key, timeout: timeout)
    }
  }

  /// Makes a connection for one task, for commands that block such as `XREAD BLOCK`. It ends when `body` returns.
  ///
  /// Cancelling the task ends the waiting for a reply at once, and with it usually `body` and the connection.
  ///
  /// - Parameters:
  ///   - key: the key that selects the node of a cluster; `nil` for any node.
  ///   - body: uses the connection.
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws.
  package func withConnection<Result>(
    key: [UInt8]? = nil, _ body: (RedisConnection) async throws -> Result
  ) async throws -> Result {
    let connection = try makeConnection(key: key)
    do {
      let result = try await body(connection)
      await connection.close()
      return result
    } catch {
      await connection.close()
      throw error
    }
  }

  /// Makes a connection for commands that block. It ends when it is closed or released; ``close()`` does not end it.
  ///
  /// - Parameter key: the key that selects the node of a cluster; `nil` for any node.
  /// - Returns: the connection, which is being made.
  /// - Throws: ``RedisError`` if the client is closed.
  package func makeConnection(key: [UInt8]? = nil) throws(RedisError) -> RedisConnection {
    guard !isClosed.load(ordering: .acquiring) else { throw .clientClosed }
    let connection = RedisConnection(on: configuration.eventLoopGroup.next(), settings)
    if case .cluster(let cluster) = topology, let address = cluster.address(of: key) {
      connection.open { () throws(RedisError) in address }
    } else {
      connection.open(locate)
    }
    return connection
  }

  /// Closes all connections, and waits until their sockets are closed. Commands without a reply fail with
  /// ``RedisError/Code/closed``, and so do later ones.
  package func close() async {
    for connection in end() { await connection.close() }
  }

  @discardableResult
  private func end() -> [RedisConnection] {
    isClosed.store(true, ordering: .releasing)
    return switch topology {
    case .node(let node): node.end()
    case .cluster(let cluster): cluster.end()
    }
  }

  /// What the client did so far, and what it holds now.
  package var statistics: RedisStatistics { settings.counters.snapshot }
}
