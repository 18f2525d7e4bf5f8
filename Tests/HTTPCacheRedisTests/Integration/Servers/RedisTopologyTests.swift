// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheRedis
import HTTPCaching
import Loopback
import TestSupport
import Testing

/// Calls each method of a tier once or more, and checks the results.
struct TierExercise {
  let tier: RedisSharedTier
  let other: RedisSharedTier
  let isCluster: Bool

  private let key = Array("https://a.example/".utf8)
  private let scope = Array("https://a.example".utf8)
  private let node = SharedNode(id: 1, applied: nil, lifetime: .seconds(600))

  /// - Parameter endpoint: the servers; each of the two tiers has its own connections.
  init(_ endpoint: RedisEndpoint) throws {
    (tier, other) = (try Self.tier(endpoint), try Self.tier(endpoint))
    isCluster = endpoint.mode == .cluster
  }

  private static func tier(_ endpoint: RedisEndpoint) throws -> RedisSharedTier {
    var configuration = RedisSharedTier.Configuration.patient(endpoint)
    configuration.inlineLimit = 64
    configuration.pieceSize = 100
    return try RedisSharedTier(configuration)
  }

  private func entry(_ size: Int, variant: UInt8 = 0, at position: SharedLogPosition) -> SharedEntry {
    SharedEntry(
      key: key, variant: [variant], head: [1, 2, 3],
      body: (0..<size).map { UInt8(truncatingIfNeeded: $0 &+ Int(variant)) }, scopes: [scope],
      position: position, lifetime: .seconds(600))
  }

  private func removal(keys: [[UInt8]] = [], scopes: [[UInt8]] = []) -> SharedRemoval {
    SharedRemoval(payload: [7, 0, 255], keys: keys, scopes: scopes, isBroad: false)
  }

  func run() async throws {
    try await checkEntries()
    try await checkLog()
    try await checkLeases()
    try await tier.leave(node)
    await tier.close()
    await other.close()
  }

  private func checkEntries() async throws {
    let position = try await tier.heartbeat(node).last
    for size in [0, 64, 65, 1000, 250, 3] {
      for variant: UInt8 in [1, 2] {
        #expect(try await tier.store(entry(size, variant: variant, at: position)) == .stored)
      }
      let found = try await other.find(key)
      #expect(found.count == 2)
      #expect(
        Set(found.map(\.body)) == Set([1, 2].map { entry(size, variant: $0, at: position).body }))
      #expect(found.allSatisfy { $0.head == [1, 2, 3] && $0.elapsed >= .zero })
    }
    // The server keeps a number of variants, and takes no further ones.
    for variant in 0..<140 as Range<UInt8> {
      #expect(
        try await tier.store(entry(65, variant: variant, at: position)) == (variant < 8 ? .stored : .full))
    }
    #expect(try await other.find(key).count == 8)
    // The entries of a cluster are left to expire.
    #expect(try await tier.reclaim { $0 == [1, 2, 3] } == (isCluster ? 0 : 8))
    #expect(try await other.find(key).count == (isCluster ? 8 : 0))
  }

  private func checkLog() async throws {
    let start = try await tier.heartbeat(node).last
    let waiting = Task { [other] in try await other.records(after: start, waiting: .seconds(300)) }
    let end = try await tier.append(removal(keys: [key]))
    #expect(end == SharedLogPosition(epoch: start.epoch, number: start.number + 1))
    let page = try await waiting.value
    #expect(page.epoch == start.epoch)
    #expect(page.records.map(\.number) == [end.number])
    #expect(page.records.first?.payload == [7, 0, 255])
    #expect(try await other.find(key).isEmpty)
    #expect(try await other.records(after: end, waiting: .zero).records.isEmpty)
    #expect(try await other.records(after: end, waiting: .milliseconds(1)).records.isEmpty)
    // A cluster cannot compare the position: the other node does.
    let late = try await tier.store(entry(65, at: start))
    #expect(late == (isCluster ? .stored : .removedSince))
    #expect(try await other.find(key).count == (isCluster ? 1 : 0))
    let scoped = try await tier.append(removal(scopes: [scope]))
    #expect(try await tier.store(entry(65, at: scoped)) == .stored)
    let head = try await other.heartbeat(SharedNode(id: 2, applied: scoped, lifetime: .seconds(600)))
    #expect(head.last == scoped)
    #expect(head.appliedByAll < scoped.number)
    try await other.leave(SharedNode(id: 2, applied: nil, lifetime: .zero))
    _ = try await tier.append(removal(keys: [key]))
  }

  /// A lease has one owner, and its release wakes those that wait on other connections.
  func checkLeases() async throws {
    let mine = SharedLease(key: key, owner: 1, lifetime: .seconds(600))
    let theirs = SharedLease(key: key, owner: 2, lifetime: .seconds(600))
    #expect(try await tier.acquire(mine))
    #expect(try await !other.acquire(theirs))
    let waiting = Task { [other, key] in try await other.waitForRelease(of: key, atMost: .seconds(300)) }
    // Not that of another owner.
    try await other.release(theirs)
    #expect(try await !other.acquire(theirs))
    // The other connection reads by now, or finds that there is no lease.
    try await tier.release(mine)
    try await waiting.value
    #expect(try await other.acquire(theirs))
    try await other.release(theirs)
    // There is none, so there is nothing to wait for.
    try await tier.waitForRelease(of: key, atMost: .seconds(300))
    // It ends by itself.
    #expect(try await tier.acquire(SharedLease(key: key, owner: 3, lifetime: .milliseconds(20))))
    try await eventually {
      // The news of the release before may arrive only now, and end the waiting early.
      try await other.waitForRelease(of: key, atMost: .seconds(300))
      return try await other.acquire(theirs)
    }
    try await other.release(theirs)
  }
}

@Suite(
  "The shared tier on each topology of servers", .needsRedis, .serialized, .timeLimit(.minutes(10)))
struct RedisTopologyTests {
  @Test("Each method of the tier works over TLS, and leaves nothing behind", .needsCertificates)
  func methodsOverTLS() async throws { try await methods(topology: .tlsWithUser) }

  @Test(
    "Each method of the tier works, and leaves nothing behind", arguments: RedisTopology.withoutTLS)
  func methods(topology: RedisTopology) async throws {
    try await topology.with { servers in
      try await TierExercise(servers.endpoint).run()
      try await servers.expectNothingLeft()
    }
  }

  @Test(
    "The documented user has exactly the rights that the tier needs",
    arguments: [RedisTopology.port, .cluster, .sentinel])
  func rights(topology: RedisTopology) async throws {
    let user = try DocumentedUser(for: topology)
    func check(_ servers: Servers) async throws {
      var servers = servers
      servers.endpoint.credentials = DocumentedUser.credentials
      _ = try await servers.send(words("CONFIG RESETSTAT"))
      _ = try await servers.send(words("ACL LOG RESET"))
      try await TierExercise(servers.endpoint).run()
      var used: Set<String> = []
      for reply in try await servers.send(words("INFO commandstats")) {
        for line in (reply.text ?? "").split(whereSeparator: \.isNewline) where line.hasPrefix("cmdstat_") {
          used.insert(String(line.dropFirst(8).prefix { $0 != ":" }).uppercased())
        }
      }
      // Every user may log in. The others are those of the test and the servers.
      used.subtract([
        "AUTH", "CONFIG|RESETSTAT", "INFO|COMMANDSTATS", "REPLCONF", "PUBLISH", "PSYNC", "SUBSCRIBE",
        "CLIENT|SETNAME", "CLIENT|KILL", "ACL|LOG",
      ])
      // Only a slot that moves makes a node say ASK. The entries of a cluster are not searched for.
      #expect(used == Set(user.commands).subtracting(topology == .cluster ? ["ASKING", "SCAN"] : []))
      for reply in try await servers.send(words("ACL LOG")) {
        let refused = (reply.elements ?? []).map { $0.elements?.compactMap(\.text) ?? [] }
        #expect(refused == [])
      }
    }
    if topology == .port {
      // The server counts the commands of all databases.
      try await RedisServer.inTurn.with { server in
        try await check(try await topology.withUser(Servers(server.endpoint), on: [server]))
      }
    } else {
      try await topology.with(check)
    }
  }

  @Test("A node reads the log and waits for leases after the log has moved to another node of the cluster")
  func movedLog() async throws {
    try await RedisClusterServers.inTurn.with { cluster in
      let exercise = try TierExercise(cluster.endpoint)
      let (tier, other) = (exercise.tier, exercise.other)
      let node = SharedNode(id: 1, applied: nil, lifetime: .seconds(600))
      let start = try await tier.heartbeat(node).last
      _ = try await tier.append(SharedRemoval(payload: [1], keys: [], scopes: [], isBroad: true))
      // The connection for the log is at the first node.
      #expect(try await other.records(after: start, waiting: .zero).records.count == 1)
      try await cluster.move("httpcache:{log}:log")
      // The number of the run is another: the log begins again.
      let head = try await tier.heartbeat(node)
      #expect(head.last.epoch != start.epoch)
      _ = try await tier.append(SharedRemoval(payload: [2], keys: [], scopes: [], isBroad: true))
      let page = try await other.records(after: head.last, waiting: .zero)
      #expect(page.records.map(\.payload) == [[2]])
      try await exercise.run()
    }
  }
}
