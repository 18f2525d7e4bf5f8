// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if Redis
  import CacheMutex
  import Foundation
  import NIOCore

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
        guard try isFree(port), try offset.map({ try isFree(port + $0) }) ?? true,
          given.withLock({ $0.insert(port).inserted })
        else { continue }
        return port
      }
      throw Failure(description: "there is no free port from 12000 to 21999 on 127.0.0.1")
    }

    /// Binds a port, and frees it again.
    private static func isFree(_ port: Int) throws -> Bool {
      #if canImport(Glibc)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      #else
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
      #endif
      guard descriptor >= 0 else { return false }
      defer { close(descriptor) }
      let address = try SocketAddress(ipAddress: "127.0.0.1", port: port)
      return address.withSockAddr { bind(descriptor, $0, socklen_t($1)) == 0 }
    }
  }
#endif
