// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The servers to connect to, and as which user.
///
/// ```swift
/// let endpoint = try RedisEndpoint("rediss://cache:secret@redis.example:6380/1")
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
public struct RedisEndpoint: Hashable, Sendable {
  /// How the addresses lead to the server of a command.
  public enum Mode: Hashable, Sendable {
    /// One server.
    case single
    /// The primary that Sentinel knows by a name. The addresses are Sentinel's.
    case sentinel(name: String)
    /// The node of a cluster that has the slot of the key. The addresses are those of some nodes.
    case cluster
  }

  /// Where the servers listen; at least one.
  public var addresses: [RedisAddress]
  /// How the addresses lead to the server of a command.
  public var mode: Mode
  /// The user and the password; `nil` to send neither.
  public var credentials: RedisCredentials?
  /// The user and the password for Sentinel itself.
  public var sentinelCredentials: RedisCredentials?
  /// The number of the database (default: 0).
  public var database: Int
  /// How connections are encrypted; `nil` for unencrypted connections.
  public var tls: RedisTLS?

  /// Makes an endpoint.
  ///
  /// - Parameters:
  ///   - addresses: where the servers listen.
  ///   - mode: how the addresses lead to the server of a command.
  ///   - credentials: the user and the password.
  ///   - database: the number of the database.
  ///   - tls: how connections are encrypted; `nil` for unencrypted connections.
  public init(
    _ addresses: [RedisAddress], mode: Mode = .single, credentials: RedisCredentials? = nil,
    database: Int = 0,
    tls: RedisTLS? = nil
  ) {
    self.addresses = addresses
    self.mode = mode
    self.credentials = credentials
    self.database = database
    self.tls = tls
  }
}

extension RedisEndpoint: CustomStringConvertible {
  /// The endpoint as a URL without passwords and options.
  public var description: String {
    let isUnix = if case .unix? = addresses.first { true } else { false }
    let scheme = tls == nil ? "redis" : "rediss"
    let user = credentials?.user.map { "\($0)@" } ?? ""
    let list = addresses.map(\.description).joined(separator: ",")
    let base =
      switch mode {
      case .single: "\(scheme)\(isUnix ? "+unix" : "")://\(user)\(list)"
      case .sentinel(let name): "\(scheme)+sentinel://\(user)\(list)/\(name)"
      case .cluster: "\(scheme)+cluster://\(user)\(list)"
      }
    guard database != 0 else { return base }
    return base + (isUnix ? "?db=\(database)" : "/\(database)")
  }
}
