// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Synchronization

extension RedisServer {
  /// Ports that this process was given: the system may give out a free port twice before the first is in use.
  private static let given = Mutex<Set<Int>>([])

  /// Returns a port of 127.0.0.1 that nothing listens at.
  ///
  /// - Parameter offset: a second port that must be free too: a node of a cluster uses the port plus 10000.
  package static func freePort(offset: Int? = nil) throws -> Int {
    for _ in 0..<100 {
      let port = try bindPort(0)
      guard port < 50000, given.withLock({ $0.insert(port).inserted }) else { continue }
      guard let offset else { return port }
      if (try? bindPort(port + offset)) != nil { return port }
    }
    throw Failure(description: "there is no free port on 127.0.0.1")
  }

  /// Binds a port and frees it. Returns its number.
  private static func bindPort(_ port: Int) throws -> Int {
    #if canImport(Glibc)
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    guard descriptor >= 0 else { throw Failure(description: "cannot make a socket (errno \(errno))") }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
      }
    }
    guard status == 0 else { throw Failure(description: "cannot use port \(port) (errno \(errno))") }
    return Int(UInt16(bigEndian: address.sin_port))
  }
}
