// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import HTTPCacheEngine
import HTTPCacheRedis
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import Loopback
import TestSupport
import Testing

@Suite(
  "Caches with a shared tier on Redis",
  .enabled(if: RedisServer.isInstalled, .init(rawValue: RedisServer.howToInstall)), .timeLimit(.minutes(10)))
struct RedisFleetTests {
  @Test(
    "What one cache stores, another finds, and a removal that is confirmed is gone from both",
    arguments: ResponseShape.few)
  func shares(shape: ResponseShape) async throws {
    try await withDatabase { endpoint in
      let fleet = try RedisFleet(endpoint)
      try await fleet.reachable()
      let origin = MemoryOrigin(shape)
      #expect(try await fleet.get(at: 0, from: origin).source == .network)
      try await fleet.stored(1, by: 0)
      let found = try await fleet.get(at: 1, from: origin)
      #expect(found.source == .hit, "\(fleet.statistics(1))")
      #expect(found.text == "1")
      origin.change()
      fleet.caches[0].remove(.target(of: RedisFleet.request("/")))
      #expect(await fleet.caches[0].confirmRemovals(within: .seconds(60)) == .everywhere)
      #expect(try await fleet.get(at: 1, from: origin).text == "2")
      await fleet.close()
    }
  }

  @Test("A removal of everything deletes the entries from the server, and one of a target only its own")
  func reclaims() async throws {
    try await withDatabase { endpoint in
      let fleet = try RedisFleet(endpoint)
      try await fleet.reachable()
      let origin = MemoryOrigin(ResponseShape())
      let client = try RedisClient(.patient(endpoint))
      func entries() async throws -> Int {
        try await client.send(words("KEYS *:e")).elements?.count ?? -1
      }
      for number in 0..<300 { _ = try await fleet.get("/\(number)", at: number % 2, from: origin) }
      try await fleet.stored(150, by: 0)
      try await fleet.stored(150, by: 1)
      #expect(try await entries() == 300)
      fleet.caches[0].remove(.target(of: RedisFleet.request("/7")))
      #expect(await fleet.caches[0].confirmRemovals(within: .seconds(60)) == .everywhere)
      #expect(try await entries() == 299)
      fleet.caches[1].remove(.all)
      try await eventually { fleet.statistics(1).reclaimed == 299 }
      #expect(try await entries() == 0)
      await client.close()
      await fleet.close()
    }
  }

  @Test("A fleet that begins empty sends one request for each URL to the origin")
  func fleet() async throws {
    try await withDatabase { endpoint in
      let fleet = try RedisFleet(
        endpoint, directories: [nil, nil, nil, nil], lease: UnhurriedTier.long)
      try await fleet.reachable()
      var random = SplitMix64(seed: 1)
      let (count, requests) = (300, 3000)
      // Each URL has its own origin, without variants: the tier leases a URL.
      let origins = (0..<count).map { _ in
        var shape = ResponseShape(drawnBy: &random)
        shape.variation = .none
        shape.size = min(shape.size, 5000)
        return MemoryOrigin(shape)
      }
      // By Zipf's law: the weight of a URL is 1 / its rank.
      let weights = (1...count).map { 1 / Double($0) }
      let total = weights.reduce(0, +)
      var plans: [[Int]] = [[], [], [], []]
      for number in 0..<requests {
        var point = Double.random(in: 0..<total, using: &random)
        let url = weights.firstIndex { weight in
          point -= weight
          return point < 0
        }
        plans[number % 4].append(url ?? count - 1)
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (node, plan) in plans.enumerated() {
          for lane in 0..<4 {
            group.addTask {
              for index in stride(from: lane, to: plan.count, by: 4) {
                let url = plan[index]
                let answer = try await fleet.get("/\(url)", at: node, from: origins[url])
                #expect(answer.text == "1")
              }
            }
          }
        }
        try await group.waitForAll()
      }
      let distinct = Set(plans.joined()).count
      let sent = origins.reduce(0) { $0 + $1.requests.count }
      #expect(sent <= distinct + distinct / 50 + 1, "\(sent) requests for \(distinct) URLs")
      #expect(fleet.caches.indices.allSatisfy { fleet.statistics($0).errors == 0 })
      await fleet.close()
    }
  }

  /// What happens to the server.
  enum Outage: CaseIterable {
    case killed, stopped

    func begin(_ server: RedisServer) async {
      switch self {
      case .killed: await server.kill()
      case .stopped: server.stop()
      }
    }

    func end(_ server: RedisServer) async throws {
      switch self {
      case .killed:
        try server.removeData()
        try await server.start()
      case .stopped: server.resume()
      }
    }
  }

  @Test(
    "An outage fails no request, stored responses are validated, and the cache returns by itself",
    arguments: Outage.allCases)
  func outage(outage: Outage) async throws {
    try await RedisServer.inTurn.with { server in
      let fleet = try RedisFleet(server.endpoint, directories: [nil], wait: .milliseconds(20))
      try await fleet.reachable()
      let origins = ResponseShape.few.enumerated().map { ("/\($0)", MemoryOrigin($1)) }
      for (path, origin) in origins { _ = try await fleet.get(path, at: 0, from: origin) }
      await outage.begin(server)
      // The cache still trusts what it knew. A request for anything else waits for the tier, and then for the origin.
      #expect(try await fleet.get("/other", at: 0, from: MemoryOrigin(ResponseShape())).text == "1")
      fleet.clock.advance(by: fleet.trust)
      #expect(!fleet.statistics(0).isInStep)
      for (path, origin) in origins {
        origin.change()
        #expect(try await fleet.get(path, at: 0, from: origin).text == "2")
        #expect(try await fleet.get(path + "/new", at: 0, from: origin).text == "2")
      }
      try await outage.end(server)
      try await fleet.reachable()
      for (path, origin) in origins {
        // What was stored while the tier was away is validated, or trusted because the log goes on.
        _ = try await fleet.get(path + "/new", at: 0, from: origin)
        #expect(try await fleet.get(path + "/new", at: 0, from: origin).source == .hit)
      }
      await fleet.close()
    }
  }
}
