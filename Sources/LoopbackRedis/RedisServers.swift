// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheRedis

/// A cluster of primaries without replicas; the slots are divided evenly.
package struct RedisClusterServers: Sendable {
  package let nodes: [RedisServer]

  /// The first node only: the client must find the others.
  package var endpoint: RedisEndpoint { RedisEndpoint([nodes[0].address], mode: .cluster) }

  /// Runs a function with a cluster, and ends its nodes.
  package static func with<Result>(
    nodes count: Int = 3, _ lines: [String] = [], _ body: (RedisClusterServers) async throws -> Result
  ) async throws -> Result {
    try await RedisServer.withFolder { folder in
      var nodes: [RedisServer] = []
      do {
        for number in 0..<count {
          let own = folder.appendingPathComponent("\(number)")
          try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
          let cluster = [
            "cluster-enabled yes", "cluster-node-timeout 5000", "cluster-require-full-coverage no",
          ]
          // The nodes talk to each other at the port plus 10000.
          nodes.append(
            try await RedisServer(in: own, cluster + lines, port: try RedisServer.freePort(offset: 10000)))
        }
        let servers = RedisClusterServers(nodes: nodes)
        try await servers.join()
        let result = try await body(servers)
        for node in nodes { await node.kill() }
        return result
      } catch {
        for node in nodes { await node.kill() }
        throw error
      }
    }
  }

  /// Sends a command to one node, without following redirections.
  ///
  /// - Parameters:
  ///   - command: the command, its words divided by spaces.
  ///   - node: the position of the node.
  package func send(_ command: String, to node: Int) async throws -> RedisValue {
    let client = try RedisClient(.init(nodes[node].endpoint))
    defer { Task { await client.close() } }
    let words = command.split(separator: " ").map { Array($0.utf8) }
    return try await client.send(words, timeout: .seconds(60))
  }

  private func join() async throws {
    let slots = 16384
    for number in nodes.indices {
      let (first, next) = (slots * number / nodes.count, slots * (number + 1) / nodes.count)
      try await expectOK("CLUSTER ADDSLOTSRANGE \(first) \(next - 1)", from: number)
      guard number > 0, case .tcp(let host, let port) = nodes[0].address else { continue }
      try await expectOK("CLUSTER MEET \(host) \(port)", from: number)
    }
    let deadline = ContinuousClock.now + .seconds(120)
    for number in nodes.indices {
      while true {
        let information = try await send("CLUSTER INFO", to: number).text ?? ""
        if information.contains("cluster_state:ok"), information.contains("cluster_slots_ok:\(slots)"),
          information.contains("cluster_known_nodes:\(nodes.count)")
        {
          break
        }
        guard ContinuousClock.now < deadline else {
          throw RedisServer.Failure(description: "the cluster is not ready: \(information)")
        }
        try await Task.sleep(for: .milliseconds(10))
      }
    }
  }

  private func expectOK(_ command: String, from node: Int) async throws {
    let reply = try await send(command, to: node)
    guard reply.text == "OK" else { throw RedisServer.Failure(description: "\(command): \(reply)") }
  }
}

/// A primary, a replica, and a Sentinel that watches them under the name `main`.
package struct SentinelServers: Sendable {
  package let primary: RedisServer
  package let replica: RedisServer
  package let sentinel: RedisServer

  package var endpoint: RedisEndpoint { RedisEndpoint([sentinel.address], mode: .sentinel(name: "main")) }

  /// Runs a function with the servers, and ends them.
  ///
  /// - Parameters:
  ///   - lines: lines of the configuration of primary and replica.
  ///   - body: the function.
  package static func with<Result>(
    _ lines: [String] = [], _ body: (SentinelServers) async throws -> Result
  ) async throws -> Result {
    try await RedisServer.withFolder { folder in
      var started: [RedisServer] = []
      do {
        func start(_ name: String, _ lines: [String], mode: String? = nil) async throws -> RedisServer {
          let own = folder.appendingPathComponent(name)
          try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
          let server = try await RedisServer(in: own, lines, mode: mode)
          started.append(server)
          return server
        }
        let primary = try await start("primary", ["repl-diskless-sync-delay 0"] + lines)
        guard case .tcp(_, let port) = primary.address else {
          throw RedisServer.Failure(description: "the primary has no port")
        }
        let replica = try await start("replica", ["replicaof 127.0.0.1 \(port)"] + lines)
        let sentinel = try await start(
          "sentinel",
          [
            "sentinel monitor main 127.0.0.1 \(port) 1", "sentinel down-after-milliseconds main 500",
            "sentinel failover-timeout main 2000",
          ], mode: "--sentinel")
        let result = try await body(SentinelServers(primary: primary, replica: replica, sentinel: sentinel))
        for server in started { await server.kill() }
        return result
      } catch {
        for server in started { await server.kill() }
        throw error
      }
    }
  }
}
