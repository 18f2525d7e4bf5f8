// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheRedis
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import LoopbackRedis
import Synchronization
import TestSupport
import Testing

@Suite(
  "Caches with a shared tier on Redis",
  .enabled(if: RedisServer.isInstalled, .init(rawValue: RedisServer.howToInstall)), .timeLimit(.minutes(10)))
struct RedisFleetTests {
  /// An origin that counts its requests, and whose responses name their version.
  private final class Origin: Sendable {
    private let state = Mutex((version: 1, requests: 0))
    private let size: Int

    init(size: Int = 1) {
      self.size = size
    }

    var requests: Int { state.withLock { $0.requests } }
    func change() { state.withLock { $0.version += 1 } }

    var transport: Transport {
      { [self] request, _ in
        let version = state.withLock { state in
          state.requests += 1
          return state.version
        }
        return TransportResponse(
          head: HTTPResponse(
            status: .ok, headerFields: [.cacheControl: "max-age=600", .eTag: "\"\(version)\""]),
          body: MessageBody(Array(String(repeating: "\(version)", count: size).utf8)))
      }
    }
  }

  private func cache(
    _ server: RedisServer, wait: Duration = .seconds(20),
    configure: (inout RedisSharedTier.Configuration) -> Void = { _ in }
  ) throws -> HTTPCache {
    var tier = RedisSharedTier.Configuration(server.endpoint)
    tier.client.minimumPause = .milliseconds(5)
    tier.client.maximumPause = .milliseconds(20)
    configure(&tier)
    var configuration = HTTPCache.Configuration(kind: .shared)
    var options = HTTPCache.SharedTierOptions(try RedisSharedTier(tier))
    options.wait = wait
    configuration.sharedTier = options
    return try HTTPCache(configuration)
  }

  private func get(_ path: String, _ cache: HTTPCache, _ origin: Origin) async throws -> (
    source: CachedResponse.Source, text: String
  ) {
    let request = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: path)
    let response = try await cache.respond(to: request, transport: origin.transport)
    return (response.source, String(decoding: try await response.body.collect(upTo: .max), as: UTF8.self))
  }

  private func isReady(_ cache: HTTPCache) -> Bool {
    let statistics = cache.sharedTierStatistics
    return statistics?.isInStep == true && statistics?.isAvailable == true
  }

  private func reachable(_ caches: [HTTPCache]) async throws {
    try await eventually { caches.allSatisfy { isReady($0) } }
  }

  @Test(
    "What one cache stores, another finds, and a removal that is confirmed is gone from both",
    arguments: [1, 600_000])
  func shares(size: Int) async throws {
    try await RedisServer.with { server in
      let caches = [try cache(server), try cache(server)]
      try await reachable(caches)
      let origin = Origin(size: size)
      #expect(try await get("/", caches[0], origin).source == .network)
      try await eventually { caches[0].sharedTierStatistics?.stores == 1 }
      let found = try await get("/", caches[1], origin)
      #expect(found.source == .hit, "\(caches.map(\.sharedTierStatistics))")
      #expect(found.text == String(repeating: "1", count: size))
      origin.change()
      caches[0].removeResponses(
        for: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/"))
      #expect(await caches[0].confirmRemovals(within: .seconds(60)) == .everywhere)
      #expect(try await get("/", caches[1], origin).text == String(repeating: "2", count: size))
      for cache in caches { cache.close() }
    }
  }

  @Test("A fleet that begins empty sends one request for each URL to the origin")
  func fleet() async throws {
    try await RedisServer.with { server in
      let caches = try (0..<4).map { _ in try cache(server) }
      try await reachable(caches)
      let origin = Origin(size: 1000)
      var random = SeededGenerator(seed: 1)
      let (count, requests) = (300, 3000)
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
        for (cache, plan) in zip(caches, plans) {
          for lane in 0..<4 {
            group.addTask {
              for index in stride(from: lane, to: plan.count, by: 4) {
                _ = try await get("/\(plan[index])", cache, origin)
              }
            }
          }
        }
        try await group.waitForAll()
      }
      let distinct = Set(plans.joined()).count
      #expect(
        origin.requests <= distinct + distinct / 50 + 1, "\(origin.requests) requests for \(distinct) URLs")
      #expect(caches.allSatisfy { $0.sharedTierStatistics?.errors == 0 })
      for cache in caches { cache.close() }
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
    try await RedisServer.with { server in
      let cache = try cache(server, wait: .milliseconds(20))
      try await reachable([cache])
      let origin = Origin()
      _ = try await get("/", cache, origin)
      await outage.begin(server)
      try await eventually { cache.sharedTierStatistics?.isInStep == false }
      origin.change()
      #expect(try await get("/", cache, origin).text == "2")
      #expect(try await get("/1", cache, origin).text == "2")
      try await outage.end(server)
      try await reachable([cache])
      // What was stored while the tier was away is validated, or trusted because the log goes on.
      _ = try await get("/1", cache, origin)
      try await reachable([cache])
      #expect(try await get("/1", cache, origin).source == .hit)
      cache.close()
    }
  }
}
