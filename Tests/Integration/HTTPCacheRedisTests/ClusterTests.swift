// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import LoopbackRedis
import TestSupport
import Testing

@testable import HTTPCacheRedis

@Suite("Slots and redirections of a cluster")
struct SlotTests {
  @Test(
    "The slot of a key is that of its hash tag",
    arguments: [
      ("123456789", 0x31C3), ("{123456789}x", 0x31C3), ("a{123456789}{b}", 0x31C3), ("", 0), ("foo", 12182),
      ("{}foo", nil), ("foo{", nil), ("foo}{bar}", 5061), ("bar", 5061), ("foo{{bar}}", 4015), ("{bar", 4015),
    ] as [(String, Int?)])
  func tags(key: String, slot: Int?) {
    let computed = ClusterSlot.of(Array(key.utf8))
    #expect(computed == slot ?? Int(ClusterSlot.crc16(Array(key.utf8)[...])) % 16384)
  }

  static let server = RedisAddress.tcp(host: "10.0.0.1", port: 1)

  @Test(
    "Redirections are read, and malformed ones are not",
    arguments: [
      ("MOVED 3999 127.0.0.1:6381", .moved(slot: 3999, to: .tcp(host: "127.0.0.1", port: 6381))),
      ("MOVED 3999 ::1:6381", .moved(slot: 3999, to: .tcp(host: "::1", port: 6381))),
      ("MOVED 3999 :6381", .moved(slot: 3999, to: .tcp(host: "10.0.0.1", port: 6381))),
      ("MOVED 3999 ?:6381", .moved(slot: 3999, to: .tcp(host: "10.0.0.1", port: 6381))),
      ("ASK 1 h.example:2", .ask(.tcp(host: "h.example", port: 2))), ("TRYAGAIN Multiple keys", .tryAgain),
      ("MOVED", nil), ("MOVED x h:1", nil), ("MOVED 16384 h:1", nil), ("MOVED -1 h:1", nil),
      ("MOVED 1 h", nil),
      ("MOVED 1 h:0", nil), ("MOVED 1 h:65536", nil), ("MOVED 1 h:x", nil), ("ASK 1 h:1 x", nil),
      ("ERR", nil), ("", nil),
    ] as [(String, Redirection?)])
  func redirections(message: String, expected: Redirection?) {
    #expect(Redirection(.error(message), from: Self.server) == expected)
    #expect(Redirection(.string(Array(message.utf8)), from: Self.server) == nil)
  }

  @Test("A map is read, and malformed ones are not")
  func map() throws {
    func range(_ first: Int64, _ last: Int64, _ host: RedisValue, _ port: Int64) -> RedisValue {
      .array([.integer(first), .integer(last), .array([host, .integer(port), .string([])])])
    }
    let host = RedisValue.string(Array("h".utf8))
    let map = try #require(
      SlotMap(.array([range(0, 99, host, 7), range(101, 16383, .null, 8)]), from: Self.server))
    #expect(map[0] == .tcp(host: "h", port: 7))
    #expect(map[99] == .tcp(host: "h", port: 7))
    #expect(map[100] == nil)
    #expect(map[16383] == .tcp(host: "10.0.0.1", port: 8))
    #expect(map[16384] == nil)
    #expect(map[-1] == nil)
    for invalid: RedisValue in [
      .null, .array([]), .array([.null]), .array([range(5, 4, host, 7)]), .array([range(0, 16384, host, 7)]),
      .array([range(-1, 4, host, 7)]), .array([range(0, 4, host, 70000)]), .array([range(0, 4, host, -1)]),
    ] {
      #expect(SlotMap(invalid, from: Self.server) == nil)
    }
  }
}

@Suite("A cluster of three nodes", .needsRedis, .serialized, .timeLimit(.minutes(5)))
struct ClusterTests {
  @Test("Each key reaches its node, and hash tags keep keys together")
  func keys() async throws {
    try await RedisClusterServers.with { (servers: RedisClusterServers) async throws in
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
    try await RedisClusterServers.with { (servers: RedisClusterServers) async throws in
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

        let from = slot * 3 / 16384
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
    try await RedisClusterServers.with(["appendonly yes"]) { (servers: RedisClusterServers) async throws in
      try await withClient(servers.endpoint) { (client: RedisClient) async throws in
        let keys = ["a", "b", "c", "d", "e", "f"]
        for key in keys { _ = try await client.send(words("SET \(key) 1"), key: Array(key.utf8)) }
        let gone = 2
        func isGone(_ key: String) -> Bool { ClusterSlot.of(Array(key.utf8)) * 3 / 16384 == gone }
        await servers.nodes[gone].kill()
        for key in keys {
          let failure = try await code {
            _ = try await client.send(words("GET \(key)"), key: Array(key.utf8))
          }
          #expect((failure != nil) == isGone(key))
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
    try await RedisClusterServers.with { (servers: RedisClusterServers) async throws in
      try await withClient(servers.endpoint) { (client: RedisClient) async throws in
        for key in ["a", "b", "c", "d"] {
          // Follows the redirections until the map is there.
          var reply = RedisValue.error("MOVED")
          while reply.errorCode == "MOVED" {
            _ = try await client.send(words("SET \(key) \(key)"), key: Array(key.utf8))
            reply = try await client.withConnection(key: Array(key.utf8)) {
              try await $0.send(words("GET \(key)"), timeout: .seconds(60))
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
    try await SentinelServers.with { (servers: SentinelServers) async throws in
      try await withClient(servers.endpoint) { (client: RedisClient) async throws in
        #expect(try await client.send(words("SET a 1")).text == "OK")
        try await servers.replicaIsReady()
        try await withClient(servers.replica.endpoint) { (replica: RedisClient) async throws in
          while try await replica.send(words("GET a")) == .null {}
        }
        await servers.primary.kill()
        var reply = RedisValue.null
        while reply.text != "OK" { reply = try await sendUntilAnswered(client, "SET b 2") }
        try await withClient(servers.replica.endpoint) { (replica: RedisClient) async throws in
          #expect(try await replica.send(words("ROLE")).elements?.first?.text == "master")
          #expect(try await replica.send(words("MGET a b")).elements?.map(\.integer) == [1, 2])
        }
      }
    }
  }

  @Test("An unknown name is reported")
  func unknownName() async throws {
    try await SentinelServers.with { (servers: SentinelServers) async throws in
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
    try await SentinelServers.with { (servers: SentinelServers) async throws in
      await servers.sentinel.kill()
      try await withClient(servers.endpoint) { (client: RedisClient) async throws in
        #expect(try await code { _ = try await client.send(words("PING")) } == .unreachable)
      }
    }
  }
}
