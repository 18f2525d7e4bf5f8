// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Responses of every kind in a shared tier, and what stays when all has ended", .timeLimit(.minutes(5)))
struct SharedShapeTests {
  @Test(
    "A response comes back from the tier as it was stored, and is revalidated and removed",
    arguments: ResponseShape.table, [false, true])
  func shapes(shape: ResponseShape, isOnDisk: Bool) async throws {
    try await withTemporaryDirectory { directory in try await check(shape, in: isOnDisk ? directory : nil) }
  }

  private func check(_ shape: ResponseShape, in directory: FilePath?) async throws {
    var fleet = try await SharedFleet(0, origin: MemoryOrigin(shape))
    for name in ["0", "1"] {
      fleet.nodes.append(try fleet.makeNode(directory: directory?.appending(name)))
    }
    await fleet.step()
    let variants = shape.variation == .none ? 1 : 2
    /// Sends a request for each variant.
    func get(at node: Int, is source: CachedResponse.Source, version: Int = 1, requests: Int) async throws {
      for language in ["de", "fr"].prefix(variants) {
        let answer = try await fleet.get(at: node, fields: [.acceptLanguage: language])
        #expect(answer.source == source)
        #expect(answer.text == "\(version)")
        // The next variant waits for the lease of this one.
        await fleet.step()
      }
      #expect(fleet.origin.requests.count == requests * variants)
    }
    try await get(at: 0, is: .network, requests: 1)
    try await get(at: 1, is: .hit, requests: 1)

    fleet.clock.advance(seconds: shape.lifetime + 1)
    await fleet.step()
    try await get(at: 1, is: shape.isConfirmable ? .validated : .network, requests: 2)
    // The other node has a stale one, and finds the confirmed one.
    try await get(at: 0, is: .hit, requests: 2)

    fleet.origin.change()
    fleet.nodes[0].cache.remove(.target(of: .get("/")))
    await fleet.step()
    try await get(at: 1, is: .network, version: 2, requests: 3)
    try await get(at: 0, is: .hit, version: 2, requests: 3)
    for node in fleet.nodes { node.cache.close() }
    for node in fleet.nodes { await node.link.stopped() }
    #expect(fleet.server.nodeCount == 0)
    try await fleet.server.wait { $0.leases == 0 }
  }

  @Test(
    "A client that leaves before the end of its response leaves no lease behind", arguments: [true, false],
    [true, false])
  func leaves(hasLength: Bool, isStored: Bool) async throws {
    let fleet = try await SharedFleet(2) { $0.sharedTier?.lease = .seconds(3600) }
    let fields: HTTPFields = [.cacheControl: isStored ? "max-age=600" : "no-store"]
    let (pieces, source) = ByteStream.makeStream()
    source.yield([1, 2, 3])
    do {
      let response = try await fleet.nodes[0].cache.respond(to: .get("/")) { _, _ in
        .streamed(pieces, fields, length: hasLength ? 100 : nil)
      }
      var iterator = response.body.makeAsyncIterator()
      #expect(try await iterator.next() == [1, 2, 3])
    }
    let second = fleet.nodes[1].cache
    // A fetch of which little is missing goes on for a second, and keeps its lease for that long.
    let other = try await fleet.clock.endingSleeps(upTo: .seconds(1)) {
      try await second.respond(to: .get("/")) { _, _ in .ok("own") }
    }
    #expect(try await other.body.collect(upTo: 10) == Array("own".utf8)[...])
    await fleet.step()
    try await fleet.server.wait { $0.leases == 0 }
    source.finish()
  }

  @Test(
    "A cache that follows the log by itself is released when its owner releases it", arguments: [true, false])
  func released(isOnDisk: Bool) async throws {
    try await withTemporaryDirectory { directory in try await checkRelease(isOnDisk ? directory : nil) }
  }

  private func checkRelease(_ directory: FilePath?) async throws {
    let fleet = try await SharedFleet(0)
    let released = Recorder<Void>()
    func use() async throws {
      let witness = Witness { released.add(()) }
      let node = try fleet.makeNode(directory: directory, isStarted: true) { configuration in
        configuration.observe { [witness] _ in withExtendedLifetime(witness) {} }
      }
      // After the first heartbeat, which finds the log, two loops sleep. The second one confirms the position.
      try await fleet.clock.sleepers(2)
      fleet.clock.advance(by: .milliseconds(500))
      try await node.events.reach(1) { $0 == .inStep }
      let response = try await node.cache.respond(to: .get("/")) { _, _ in
        .ok("1", [.cacheControl: "max-age=600"])
      }
      _ = try await response.body.collect(upTo: 10)
      try await fleet.server.wait { $0.entries == 1 }
    }
    try await use()
    try await released.reach(1)
    try await fleet.server.wait { $0.nodes == 0 && $0.leases == 0 }
  }
}
