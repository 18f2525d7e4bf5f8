// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOPosix

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Returns the addresses of a host, in the order in which they should be used (RFC 6724).
package typealias HostLookup = @Sendable (String, _ port: Int) async throws -> [SocketAddress]

/// What the system's resolver says about a host that has no address.
struct HostLookupFailure: Error, CustomStringConvertible {
  var description: String
}

/// Asks the system's resolver, in a thread that may wait for the network.
@Sendable package func systemHostLookup(_ host: String, _ port: Int) async throws -> [SocketAddress] {
  try await NIOThreadPool.singleton.runIfActive {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    #if canImport(Glibc)
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #else
      hints.ai_socktype = SOCK_STREAM
    #endif
    var first: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, "\(port)", &hints, &first)
    guard status == 0 else { throw HostLookupFailure(description: String(cString: gai_strerror(status))) }
    defer { freeaddrinfo(first) }
    var found: [SocketAddress] = []
    var next = first
    while let info = next?.pointee {
      switch info.ai_family {
      case AF_INET:
        info.ai_addr?.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
          found.append(SocketAddress($0.pointee))
        }
      case AF_INET6:
        info.ai_addr?.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
          found.append(SocketAddress($0.pointee))
        }
      default: break
      }
      next = info.ai_next
    }
    return found
  }
}
