// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Loopback
import TestSupport
import Testing

@testable import HTTPCacheRedis

@Suite("A cluster of three nodes", .needsRedis, .serialized, .timeLimit(.minutes(5)))
struct ClusterTests {
  @Test("Each key reaches its node, and hash tags keep keys together")
  func keys() async throws {
    try await RedisClusterServers.inTurn.with { (servers: RedisClusterServers) async throws in
      try await withClient(servers.endpoint) { (client: RedisClient) async throws in
        for number in 0..<300 {
          let key = "key\(number)"
          #expect(try await client.send(words("SET \(key) \(number)"), key: Array(key.utf8)).text == "OK")
          let slot = try await client.send(words("CLUSTER KEYSLOT \(key)")).integer
          #expect(slot == Int64(ClusterSlot.of(Array(key.utf8))))
        }
        for number in 0..<300 {
          let key = "key\(number)"
          #expect(try await client.send(words("GET \(key)"), key: Array(key.utf8)).integer == Int64(number))
        }
        let tagged = try await client.pipeline(
          [words("MSET {t}a 1 {t}b 2"), words("MGET {t}a {t}b")], key: Array("{t}".utf8))
        #expect(tagged.map(\.errorCode) == [nil, nil])
        var sizes: [Int64] = []
        for node in 0..<3 { sizes.append(try await servers.send("DBSIZE", to: node).integer ?? 0) }
        #expect(sizes.allSatisfy { $0 > 0 })
        #expect(sizes.reduce(0, +) == 302)
        // The map came after the first redirection.
        #expect(client.statistics.redirections < 300)
      }
    }
  }

  @Test("Keys are found while their slot moves from node to node, and afterwards")
  func migration() async throws {
    try await RedisClusterServers.inTurn.with { (servers: RedisClusterServers) async throws in
      try await withClient(servers.endpoint) { (client: RedisClient) async throws in
        let tag = Array("{moving}".utf8)
        let slot = ClusterSlot.of(tag)
        for number in 0..<100 {
          _ = try await client.send(words("SET {moving}\(number) \(number)"), key: tag)
        }
        func check() async throws {
          let commands = (0..<100).map { words("GET {moving}\($0)") }
          let replies = try await client.pipeline(commands, key: tag)
          #expect(replies.map(\.integer) == (0..<100).map { Int64($0) })
        }
        try await check()

        let from = try await servers.owner(ofSlot: slot)
        let to = (from + 1) % 3
        var names: [String] = []
        for node in [from, to] { names.append(try await servers.send("CLUSTER MYID", to: node).text ?? "") }
        #expect(try await servers.send("CLUSTER SETSLOT \(slot) IMPORTING \(names[0])", to: to).text == "OK")
        #expect(
          try await servers.send("CLUSTER SETSLOT \(slot) MIGRATING \(names[1])", to: from).text == "OK")
        try await check()

        guard case .tcp(let host, let port) = servers.nodes[to].address else { return }
        let moved = (0..<50).map { "{moving}\($0)" }.joined(separator: " ")
        let migrate = try await servers.send("MIGRATE \(host) \(port)  0 5000 KEYS \(moved)", to: from)
        // Two spaces leave out the empty key that MIGRATE needs.
        if migrate.errorCode != nil {
          for number in 0..<50 {
            #expect(
              try await servers.send("MIGRATE \(host) \(port) {moving}\(number) 0 5000", to: from).text
                == "OK")
          }
        }
        let before = client.statistics.redirections
        try await check()
        #expect(client.statistics.redirections >= before + 50)
        // New keys are made on the node to which the slot moves.
        #expect(try await client.send(words("SET {moving}new x"), key: tag).text == "OK")
        #expect(try await servers.send("CLUSTER COUNTKEYSINSLOT \(slot)", to: to) == .integer(51))

        for number in 50..<100 {
          #expect(
            try await servers.send("MIGRATE \(host) \(port) {moving}\(number) 0 5000", to: from).text == "OK")
        }
        for node in [to, from] {
          #expect(try await servers.send("CLUSTER SETSLOT \(slot) NODE \(names[1])", to: node).text == "OK")
        }
        try await check()
        // The client learned where the slot is.
        let settled = client.statistics.redirections
        try await check()
        #expect(client.statistics.redirections == settled)
      }
    }
  }

  @Test("A node that is gone fails its own keys only, and works again when it is back")
  func killedNode() async throws {
    try await RedisClusterServers.inTurn.with { (servers: RedisClusterServers) async throws in
      try await withClient(servers.endpoint) { (client: RedisClient) async throws in
        let keys = ["a", "b", "c", "d", "e", "f"]
        for key in keys { _ = try await client.send(words("SET \(key) 1"), key: Array(key.utf8)) }
        let gone = 2
        var lost: Set<String> = []
        for key in keys where try await servers.owner(ofSlot: ClusterSlot.of(Array(key.utf8))) == gone {
          lost.insert(key)
        }
        #expect(!lost.isEmpty)
        await servers.nodes[gone].kill()
        for key in keys {
          let failure = try await code {
            _ = try await client.send(words("GET \(key)"), key: Array(key.utf8))
          }
          #expect((failure != nil) == lost.contains(key))
        }
        try await servers.nodes[gone].start()
        for key in keys {
          #expect(try await sendUntilAnswered(client, "GET \(key)", key: key).errorCode != "ERR")
        }
      }
    }
  }

  @Test("A connection of its own goes to the node of its key")
  func dedicated() async throws {
    try await RedisClusterServers.inTurn.with { (servers: RedisClusterServers) async throws in
      try await withClient(servers.endpoint) { (client: RedisClient) async throws in
        for key in ["a", "b", "c", "d"] {
          // Follows the redirections until the map is there.
          var reply = RedisValue.error("MOVED")
          while reply.errorCode == "MOVED" {
            _ = try await client.send(words("SET \(key) \(key)"), key: Array(key.utf8))
            reply = try await client.withConnection(key: Array(key.utf8)) {
              try await $0.send(words("GET \(key)"), timeout: .seconds(3600))
            }
          }
          #expect(reply.text == key)
        }
      }
    }
  }
}

@Suite("A primary that Sentinel knows", .needsRedis, .serialized, .timeLimit(.minutes(5)))
struct SentinelTests {
  @Test("The client finds the primary, and the new one after a failover")
  func failover() async throws {
    try await SentinelServers.inTurn.with { (servers: SentinelServers) async throws in
      try await withClient(servers.endpoint) { (client: RedisClient) async throws in
        #expect(try await client.send(words("SET a 1")).text == "OK")
        try await servers.replicaIsReady()
        try await withClient(servers.replica.endpoint) { (replica: RedisClient) async throws in
          try await eventually { try await replica.send(words("GET a")) != .null }
        }
        await servers.primary.kill()
        try await eventually { try await sendUntilAnswered(client, "SET b 2").text == "OK" }
        try await withClient(servers.replica.endpoint) { (replica: RedisClient) async throws in
          #expect(try await replica.send(words("ROLE")).elements?.first?.text == "master")
          #expect(try await replica.send(words("MGET a b")).elements?.map(\.integer) == [1, 2])
        }
      }
    }
  }

  @Test("An unknown name is reported")
  func unknownName() async throws {
    try await SentinelServers.inTurn.with { (servers: SentinelServers) async throws in
      var endpoint = servers.endpoint
      endpoint.mode = .sentinel(name: "other")
      try await withClient(endpoint) { (client: RedisClient) async throws in
        let error = await #expect(throws: RedisError.self) { _ = try await client.send(words("PING")) }
        #expect(error?.code == .unreachable)
        #expect(error?.message.contains("'other'") == true)
      }
    }
  }

  @Test("Commands fail while no Sentinel answers")
  func noSentinel() async throws {
    let sentinel = RedisAddress.tcp(host: "127.0.0.1", port: try RedisServer.freePort())
    let endpoint = RedisEndpoint([sentinel], mode: .sentinel(name: "main"))
    try await withClient(endpoint) { (client: RedisClient) async throws in
      #expect(try await code { _ = try await client.send(words("PING")) } == .unreachable)
    }
  }
}
