// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if Redis
  import CacheMutex

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
      func isFree(_ port: Int) -> Bool { PortHolder(port, isShared: false) != nil }
      for _ in 0..<1000 {
        let port = Int.random(in: 12_000..<22_000)
        guard isFree(port), offset.map({ isFree(port + $0) }) ?? true,
          given.withLock({ $0.insert(port).inserted })
        else { continue }
        return port
      }
      throw Failure(description: "there is no free port from 12000 to 21999 on 127.0.0.1")
    }
  }
#endif
