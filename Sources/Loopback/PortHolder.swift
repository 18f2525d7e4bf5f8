// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Keeps a port of 127.0.0.1 without listening, so that connections to it are refused. Otherwise the system could give
/// the port to the next server of another test, which would answer.
final class PortHolder: Sendable {
  /// The option of a server that listens at a port that is held.
  static let sharing = NIOBSDSocket.Option(rawValue: SO_REUSEPORT)

  private let descriptor: Int32

  /// Takes a port; `nil` if it is in use.
  ///
  /// - Parameter isShared: whether a server of this user may listen at the port, and closed connections may still exist.
  init?(_ port: Int, isShared: Bool) {
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { return nil }
    self.descriptor = descriptor
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    if isShared {
      var yes: Int32 = 1
      for option in [SO_REUSEADDR, SO_REUSEPORT] {
        setsockopt(descriptor, SOL_SOCKET, option, &yes, socklen_t(MemoryLayout<Int32>.size))
      }
    }
    guard let address = try? SocketAddress(ipAddress: "127.0.0.1", port: port) else { return nil }
    if address.withSockAddr({ address, size in bind(descriptor, address, socklen_t(size)) }) != 0 {
      return nil
    }
  }

  deinit { close(descriptor) }
}
