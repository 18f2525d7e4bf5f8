// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheRedis
import HTTPCaching
import HTTPTypes
import Loopback
import SystemPackage
import TestSupport
import Testing

@Suite(
  "Responses of every shape in a tier on real servers", .needsRedis, .serialized, .timeLimit(.minutes(10)))
struct RedisShapeTests {
  /// What the caches have done so far with one path after another.
  private struct Progress {
    let fleet: RedisFleet
    var stores = [0, 0]

    /// Sends a request for each variant, and waits until a response of the origin is in the tier.
    mutating func get(
      _ path: String, at node: Int, from origin: MemoryOrigin, is source: CachedResponse.Source,
      version: Int = 1
    ) async throws {
      let variants = origin.shape.variation == .none ? ["de"] : ["de", "fr"]
      for language in variants {
        let answer = try await fleet.get(path, at: node, from: origin, fields: [.acceptLanguage: language])
        #expect(answer.source == source, "\(origin.shape)")
        #expect(answer.text == "\(version)", "\(origin.shape)")
        if source == .hit { #expect(answer.head.headerFields[.age].flatMap { Int($0) } != nil) }
      }
      guard source != .hit else { return }
      stores[node] += variants.count
      try await fleet.stored(stores[node], by: node)
    }

    /// Stores, finds, revalidates, finds again, removes, and finds a new version.
    mutating func check(_ shape: ResponseShape, _ path: String) async throws {
      let origin = MemoryOrigin(shape)
      try await get(path, at: 0, from: origin, is: .network)
      try await get(path, at: 1, from: origin, is: .hit)

      fleet.caches[0].expire(.target(of: RedisFleet.request(path)))
      #expect(await fleet.caches[0].confirmRemovals(within: .seconds(60)) == .everywhere)
      try await get(path, at: 1, from: origin, is: shape.isConfirmable ? .validated : .network)
      try await get(path, at: 0, from: origin, is: .hit)

      origin.change()
      fleet.caches[1].remove(.target(of: RedisFleet.request(path)))
      #expect(await fleet.caches[1].confirmRemovals(within: .seconds(60)) == .everywhere)
      try await get(path, at: 0, from: origin, is: .network, version: 2)
      try await get(path, at: 1, from: origin, is: .hit, version: 2)
      fleet.caches[0].remove(.target(of: RedisFleet.request(path)))
      // A response that is requested before its cache's removal is in the log does not go to the tier.
      #expect(await fleet.caches[0].confirmRemovals(within: .seconds(60)) == .everywhere)
    }
  }

  @Test("The same over TLS, by a user with few rights", .needsCertificates)
  func shapesOverTLS() async throws { try await shapes(topology: .tlsWithUser) }

  @Test(
    "A response comes back as it was stored, is revalidated and removed, and leaves nothing behind",
    arguments: RedisTopology.withoutTLS)
  func shapes(topology: RedisTopology) async throws {
    try await topology.with { servers in
      try await withTemporaryFolder { folder in
        // One cache on disk, one in memory.
        let fleet = try RedisFleet(servers.endpoint, directories: [nil, FilePath(folder.path)]) {
          // The server executes what a node sends in this order: no heartbeat comes after the node has left.
          $0.connections = 1
          $0.inlineLimit = ResponseShape.tierLimit
          $0.pieceSize = 1500
        }
        try await fleet.reachable()
        var progress = Progress(fleet: fleet)
        // Seven shares no factor with the numbers of validators, framings and sizes: each appears.
        let step = topology == .port ? usually(7, long: 1) : 7
        for number in stride(from: 0, to: ResponseShape.table.count, by: step) {
          try await progress.check(ResponseShape.table[number], "/\(number)")
        }
        for node in [0, 1] {
          #expect(fleet.statistics(node).errors == 0)
          #expect(fleet.statistics(node).damaged == 0)
        }
        await fleet.close()
        try await servers.expectNothingLeft()
      }
    }
  }

  @Test("After a failover the new primary is used, and nothing older is")
  func failover() async throws {
    try await RedisTopology.sentinel.with { servers in
      let sentinel = try #require(servers.sentinel)
      let fleet = try RedisFleet(servers.endpoint)
      try await fleet.reachable()
      let german: HTTPFields = [.acceptLanguage: "de"]
      let origins = ResponseShape.few.enumerated().map { ("/\($0)", MemoryOrigin($1)) }
      for (path, origin) in origins {
        #expect(try await fleet.get(path, at: 0, from: origin, fields: german).text == "1")
      }
      try await fleet.stored(origins.count, by: 0)
      try await sentinel.replicaIsReady()
      let restarts = [0, 1].map { fleet.statistics($0).restarts }
      await sentinel.primary.kill()
      // The origin changes while no removal can be told.
      for (_, origin) in origins { origin.change() }
      try await eventually { [0, 1].allSatisfy { fleet.statistics($0).restarts > restarts[$0] } }
      try await fleet.reachable()
      // An entry of the old log is not used.
      for (path, origin) in origins {
        for node in [0, 1] {
          #expect(try await fleet.get(path, at: node, from: origin, fields: german).text == "2")
        }
      }
      for (path, origin) in origins {
        let path = path + "/after"
        // What was requested before may still be on its way to the tier.
        try await eventually { fleet.statistics(1).queuedBytes == 0 }
        let stores = fleet.statistics(1).stores
        #expect(try await fleet.get(path, at: 1, from: origin).source == .network)
        try await fleet.stored(stores + 1, by: 1)
        #expect(try await fleet.get(path, at: 0, from: origin).source == .hit)
        fleet.caches[0].remove(.target(of: RedisFleet.request(path)))
        #expect(await fleet.caches[0].confirmRemovals(within: .seconds(60)) == .everywhere)
        #expect(try await fleet.get(path, at: 1, from: origin).source == .network)
      }
      await fleet.close()
    }
  }
}
