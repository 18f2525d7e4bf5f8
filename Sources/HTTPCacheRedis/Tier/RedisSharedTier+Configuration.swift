// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore
import NIOPosix

extension RedisSharedTier {
  /// The servers of a tier, the limits of the connections to them, and how the tier uses them.
  ///
  /// ```swift
  /// var configuration = try RedisSharedTier.Configuration("rediss://cache:secret@redis.example:6380/1")
  /// configuration.requestTimeout = .milliseconds(500)
  /// ```
  ///
  /// | URL | Server |
  /// |---|---|
  /// | `redis://[user[:password]@]host[:port][/database]` | one server, unencrypted |
  /// | `rediss://…` | the same over TLS |
  /// | `redis+unix:///path/to/socket[?db=1]` | one server on a Unix domain socket |
  /// | `redis+sentinel://host[:port][,host[:port]…]/name[/database]` | the primary that Sentinel knows by a name |
  /// | `redis+cluster://host[:port][,host[:port]…]` | a cluster; the hosts are some of its nodes |
  ///
  /// `rediss+sentinel` and `rediss+cluster` use TLS. `unix` is short for `redis+unix`; `valkey` and `valkeys` mean the same
  /// as `redis` and `rediss`. User, password, name and path are percent-decoded.
  ///
  /// Options follow a `?`: `db` for the database, `cluster=1` for a cluster. With TLS: `ca`, `cert` and `key` for files,
  /// `verify` (`full`, `issuer` or `none`), and `name` for the name in the server's certificate. With Sentinel:
  /// `sentinel-user` and `sentinel-password`.
  public struct Configuration: Sendable {
    /// The servers to connect to, and as which user.
    package var endpoint: RedisEndpoint
    /// The beginning of all keys (default: `httpcache:`). Caches with the same prefix and server share the tier.
    public var prefix = "httpcache:"
    /// Content of more bytes is stored in pieces, apart from its head (default: 256 KiB). A lookup then takes two round
    /// trips.
    public var inlineLimit = 256 << 10
    /// Bytes of a piece (default: 512 KiB).
    public var pieceSize = 512 << 10
    /// Number of removals that the log keeps, approximately (default: 100,000). A node that was away for longer validates
    /// all that it has.
    public var logLimit = 100_000
    /// Whether the server loses no write by a restart or failover (default: `false`): set it only with `appendfsync always`,
    /// and without replicas that may take over.
    public var isDurable = false
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

    /// Makes the default configuration for a server.
    ///
    /// - Parameters:
    ///   - url: the URL of the server; see ``RedisSharedTier/Configuration``.
    ///   - password: a password that replaces the URL's, for example from a file or from the environment.
    /// - Throws: ``RedisError`` with ``RedisError/Code/invalidEndpoint``. Its message contains no part of the URL that
    ///   could be a password.
    public init(_ url: String, password: String? = nil) throws(RedisError) {
      self.init(try RedisEndpoint(url, password: password))
    }

    package init(_ endpoint: RedisEndpoint) { self.endpoint = endpoint }
  }
}
