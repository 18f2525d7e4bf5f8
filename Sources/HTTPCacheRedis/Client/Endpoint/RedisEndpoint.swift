// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import TransportSecurity

/// The servers to connect to, and as which user.
package struct RedisEndpoint: Hashable, Sendable {
  /// How the addresses lead to the server of a command.
  package enum Mode: Hashable, Sendable {
    /// One server.
    case single
    /// The primary that Sentinel knows by a name. The addresses are Sentinel's.
    case sentinel(name: String)
    /// The node of a cluster that has the slot of the key. The addresses are those of some nodes.
    case cluster
  }

  /// Where the servers listen; at least one.
  package var addresses: [RedisAddress]
  /// How the addresses lead to the server of a command.
  package var mode: Mode
  /// The user and the password; `nil` to send neither.
  package var credentials: RedisCredentials?
  /// The user and the password for Sentinel itself.
  package var sentinelCredentials: RedisCredentials?
  /// The number of the database (default: 0).
  package var database: Int
  /// How connections are encrypted; `nil` for unencrypted connections.
  package var tls: ClientTLS?

  package init(
    _ addresses: [RedisAddress], mode: Mode = .single, credentials: RedisCredentials? = nil,
    database: Int = 0, tls: ClientTLS? = nil
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
  package var description: String {
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

/// Where a server listens.
package enum RedisAddress: Hashable, Sendable, CustomStringConvertible {
  /// A host, by name or by IP address without brackets, and a TCP port.
  case tcp(host: String, port: Int)
  /// The path of a Unix domain socket.
  case unix(path: String)

  package var description: String {
    switch self {
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix(let path): path
    }
  }

  /// The name or the address of a host; `nil` for a socket of this machine.
  var host: String? { if case .tcp(let host, _) = self { host } else { nil } }
}

/// A user of the server's access control list (ACL), and a password. Descriptions do not contain the password.
package struct RedisCredentials: Hashable, Sendable {
  /// The user; `nil` for the default user.
  package var user: String?
  /// The password.
  package var password: String

  package init(user: String? = nil, password: String) {
    self.user = user
    self.password = password
  }
}

extension RedisCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The name of the user, without the password.
  package var description: String { user ?? "default" }
  /// The same: the password appears in no log.
  package var debugDescription: String { description }
  /// The name of the user as the only child.
  package var customMirror: Mirror { Mirror(self, children: ["user": description]) }
}
