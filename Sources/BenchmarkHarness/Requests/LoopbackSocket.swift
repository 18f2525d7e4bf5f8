// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What the system's sockets need on 127.0.0.1.
package enum LoopbackSocket {
  /// Returns a new socket; negative after an error.
  package static func make() -> Int32 {
    #if canImport(Glibc)
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    if descriptor >= 0 { prepare(descriptor) }
    return descriptor
  }

  /// Keeps a socket from child processes, and sends without delay and without SIGPIPE.
  package static func prepare(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    #if canImport(Darwin)
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  /// Sends all bytes. Returns `false` after an error.
  package static func send(_ bytes: [UInt8], on descriptor: Int32) -> Bool {
    send(bytes[...], on: descriptor)
  }

  /// Sends all bytes. Returns `false` after an error.
  package static func send(_ bytes: ArraySlice<UInt8>, on descriptor: Int32) -> Bool {
    #if canImport(Darwin)
      let flags: Int32 = 0
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    return bytes.withUnsafeBytes { all in
      var sent = 0
      while sent < all.count {
        let rest = UnsafeRawBufferPointer(rebasing: all[sent...])
        #if canImport(Darwin)
          let count = Darwin.send(descriptor, rest.baseAddress, rest.count, flags)
        #elseif canImport(Musl)
          let count = Musl.send(descriptor, rest.baseAddress, rest.count, flags)
        #else
          let count = Glibc.send(descriptor, rest.baseAddress, rest.count, flags)
        #endif
        guard count > 0 else { return false }
        sent += count
      }
      return true
    }
  }

  /// - Parameter port: the port; 0 for any free one.
  package static func withAddress<Result>(
    _ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(clamping: port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  /// The port of a bound socket.
  package static func port(of descriptor: Int32) -> Int? {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
    }
    return result == 0 ? Int(UInt16(bigEndian: address.sin_port)) : nil
  }
}
