// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if Redis
  import HTTPCacheRedis

  /// A cluster of primaries without replicas; the slots are divided evenly at first.
  package struct RedisClusterServers: Sendable {
    package let nodes: [RedisServer]

    /// The first node only: the client must find the others.
    package var endpoint: RedisEndpoint { RedisEndpoint([nodes[0].address], mode: .cluster) }

    /// A cluster of three nodes for all tests. A slot that a test moves stays where it is: see ``owner(ofSlot:)``.
    package static let inTurn = SharedServers(start: { try await RedisClusterServers() }) { cluster in
      for node in cluster.nodes { try await node.reset() }
      try await cluster.isReady()
      return cluster
    }

    private static let slots = 16384

    private init() async throws {
      var nodes: [RedisServer] = []
      for _ in 0..<3 {
        // Longer than any test: a node that gets no processor time for some seconds would count as failed, and its slots as
        // lost. There is no replica that could take them over.
        let lines = [
          "cluster-enabled yes", "cluster-node-timeout 3600000", "cluster-require-full-coverage no",
        ]
        // The nodes talk to each other at the port plus 10000.
        nodes.append(
          try await RedisServer.started(lines, port: try RedisServer.freePort(offset: 10000)))
      }
      self.nodes = nodes
      for number in nodes.indices {
        let (first, next) = (
          Self.slots * number / nodes.count, Self.slots * (number + 1) / nodes.count
        )
        try await nodes[number].expectOK("CLUSTER ADDSLOTSRANGE \(first) \(next - 1)")
        guard number > 0, case .tcp(let host, let port) = nodes[0].address else { continue }
        try await nodes[number].expectOK("CLUSTER MEET \(host) \(port)")
      }
      try await isReady()
    }

    /// Sends a command to one node, without following redirections.
    ///
    /// - Parameters:
    ///   - command: the command, its words divided by spaces.
    ///   - node: the position of the node.
    package func send(_ command: String, to node: Int) async throws -> RedisValue {
      try await nodes[node].send(command)
    }

    /// The position of the node that has a slot.
    package func owner(ofSlot slot: Int) async throws -> Int {
      for range in try await send("CLUSTER SLOTS", to: 0).elements ?? [] {
        guard let parts = range.elements, parts.count > 2, let first = parts[0].integer,
          let last = parts[1].integer, (first...last).contains(Int64(slot)),
          let port = parts[2].elements?.dropFirst().first?.integer
        else { continue }
        let owner = nodes.firstIndex { $0.address == .tcp(host: "127.0.0.1", port: Int(port)) }
        if let owner { return owner }
      }
      throw RedisServer.Failure(description: "no node has the slot \(slot)")
    }

    /// Waits until each node knows all others and who has which slots. Nothing announces it.
    private func isReady() async throws {
      for number in nodes.indices {
        while true {
          let information = try await send("CLUSTER INFO", to: number).text ?? ""
          if information.contains("cluster_state:ok"), information.contains("cluster_slots_ok:\(Self.slots)"),
            information.contains("cluster_known_nodes:\(nodes.count)")
          {
            break
          }
          try await Task.sleep(for: .milliseconds(5))
        }
      }
    }
  }

  /// A primary, a replica, and a Sentinel that watches them under the name `main`.
  package struct SentinelServers: Sendable {
    package let primary: RedisServer
    package let replica: RedisServer
    package let sentinel: RedisServer

    package var endpoint: RedisEndpoint { RedisEndpoint([sentinel.address], mode: .sentinel(name: "main")) }

    /// Servers for all tests; after a failover, others take their place.
    package static let inTurn = SharedServers(start: { try await SentinelServers() }) { servers in
      guard servers.primary.processIdentifier != nil else {
        for server in [servers.sentinel, servers.replica, servers.primary] { await server.end() }
        return nil
      }
      try await servers.primary.reset()
      return servers
    }

    private init() async throws {
      primary = try await RedisServer.started(["repl-diskless-sync-delay 0"])
      guard case .tcp(_, let port) = primary.address else {
        throw RedisServer.Failure(description: "the primary has no port")
      }
      replica = try await RedisServer.started(["replicaof 127.0.0.1 \(port)"])
      sentinel = try await RedisServer.started(
        [
          "sentinel monitor main 127.0.0.1 \(port) 1", "sentinel down-after-milliseconds main 500",
          "sentinel failover-timeout main 2000",
        ], mode: "--sentinel")
    }
  }
#endif
