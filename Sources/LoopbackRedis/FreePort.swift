// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation

extension RedisServer {
  /// Ports that this process was given: a port is free again before its server uses it, and while that restarts.
  private static let given = Mutex<Set<Int>>([])

  /// Returns a port of 127.0.0.1 that nothing listens at.
  ///
  /// The system takes the ports of outgoing connections from 32768 on. A server that restarts there may find its port in
  /// use: by a client that connects to it meanwhile, even by the connection to itself.
  ///
  /// - Parameter offset: a second port that must be free too: a node of a cluster uses the port plus 10000.
  package static func freePort(offset: Int? = nil) throws -> Int {
    for _ in 0..<1000 {
      let port = Int.random(in: 12_000..<22_000)
      guard isFree(port), offset.map({ isFree(port + $0) }) ?? true,
        given.withLock({ $0.insert(port).inserted })
      else { continue }
      return port
    }
    throw Failure(description: "there is no free port from 12000 to 21999 on 127.0.0.1")
  }

  /// Binds a port, and frees it again.
  private static func isFree(_ port: Int) -> Bool {
    #if canImport(Glibc)
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
}
