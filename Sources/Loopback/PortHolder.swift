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
  private let descriptor: Int32

  /// Takes a port; `nil` if it is in use.
  ///
  /// - Parameter isShared: whether a server of this user may listen at the port, and closed connections may still exist.
  init?(_ port: Int, isShared: Bool) {
    guard let descriptor = try? Self.boundSocket(port, isShared: isShared) else { return nil }
    self.descriptor = descriptor
  }

  /// Makes a socket at a port; 0 is any free one.
  static func boundSocket(_ port: Int, isShared: Bool) throws -> Int32 {
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: port)
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "make a socket") }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    if isShared {
      var yes: Int32 = 1
      for option in [SO_REUSEADDR, SO_REUSEPORT] {
        setsockopt(descriptor, SOL_SOCKET, option, &yes, socklen_t(MemoryLayout<Int32>.size))
      }
    }
    if address.withSockAddr({ address, size in bind(descriptor, address, socklen_t(size)) }) != 0 {
      let error = IOError(errnoCode: errno, reason: "bind a server to port \(port)")
      close(descriptor)
      throw error
    }
    return descriptor
  }

  /// Ends a socket that listens: from now on, connections are refused.
  ///
  /// If it is closed only, it listens on while another process has it: a program that was just started, until it has replaced its
  /// image. A connection that is made meanwhile is reset.
  static func endListening(_ descriptor: Int32) { _ = shutdown(descriptor, CInt(SHUT_RDWR)) }

  deinit { close(descriptor) }
}
