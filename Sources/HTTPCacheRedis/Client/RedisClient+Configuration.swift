// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore
import NIOPosix

extension RedisClient {
  /// The servers, and the limits of the connections to them.
  public struct Configuration: Sendable {
    /// The servers to connect to, and as which user.
    public var endpoint: RedisEndpoint
    /// Connections to each server (default: 2).
    public var connections = 2
    /// Time limit for a connection, TLS and the first commands together (default: 1 s).
    public var connectTimeout: Duration = .seconds(1)
    /// Time limit for the replies to a command or a pipeline (default: 1 s).
    public var requestTimeout: Duration = .seconds(1)
    /// A connection is closed if the server owes a reply, the request's time is over, and the server has sent nothing for
    /// this long (default: 2 s).
    public var silenceTimeout: Duration = .seconds(2)
    /// First pause after a failed attempt to connect (default: 50 ms). Each further pause is twice as long.
    public var minimumPause: Duration = .milliseconds(50)
    /// Longest pause between attempts to connect (default: 2 s).
    public var maximumPause: Duration = .seconds(2)
    /// Maximum bytes of a reply (default: 64 MiB). A larger one ends the connection.
    public var maximumReplyBytes = 64 << 20
    /// Maximum commands without a reply on a connection (default: 16384). Further ones fail at once.
    public var maximumWaitingCommands = 16384
    /// Maximum bytes of commands without a reply on a connection (default: 64 MiB). Further ones fail at once.
    public var maximumWaitingBytes = 64 << 20
    /// The event loops of the connections (default: those that SwiftNIO shares).
    public var eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton

    /// The clock of pauses, and of limits that several round trips share. The limit of one round trip is a task of its
    /// event loop.
    package var clock: any CacheClock = SystemCacheClock.shared

    /// Makes the default configuration for an endpoint.
    ///
    /// - Parameter endpoint: the servers to connect to, and as which user.
    public init(_ endpoint: RedisEndpoint) { self.endpoint = endpoint }

    var backoff: Backoff {
      Backoff(
        minimum: max(TimeAmount(minimumPause), .milliseconds(1)),
        maximum: max(TimeAmount(maximumPause), .milliseconds(1)))
    }

    func settings(_ counters: RedisCounters) throws(RedisError) -> ConnectionSettings {
      let requiresPrimary = if case .sentinel = endpoint.mode { true } else { false }
      let tls: ConnectionSettings.TLS? =
        if let tls = endpoint.tls { .init(context: try tls.makeContext(), serverName: tls.serverName) } else {
          nil
        }
      return ConnectionSettings(
        credentials: endpoint.credentials,
        database: endpoint.database,
        requiresPrimary: requiresPrimary,
        tls: tls,
        connectTimeout: TimeAmount(connectTimeout),
        silence: TimeAmount(silenceTimeout),
        maximumReplyBytes: maximumReplyBytes,
        maximumWaitingCommands: maximumWaitingCommands,
        maximumWaitingBytes: maximumWaitingBytes,
        counters: counters)
    }
  }
}
