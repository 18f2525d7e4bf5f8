// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

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
