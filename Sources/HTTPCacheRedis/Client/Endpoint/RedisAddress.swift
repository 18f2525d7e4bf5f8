// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

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

  /// The name that the server's certificate must have; `nil` for an IP address, which TLS does not announce.
  var nameForTLS: String? {
    guard case .tcp(let host, _) = self, (try? SocketAddress(ipAddress: host, port: 0)) == nil else {
      return nil
    }
    return host
  }
}
