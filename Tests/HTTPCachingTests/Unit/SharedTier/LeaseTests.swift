// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("One request to the origin for all nodes", .timeLimit(.minutes(5)))
struct LeaseTests {
  private let gate = Gate()

  /// An origin that holds its responses back, and numbers them.
  private func origin(_ fields: HTTPFields) -> MemoryOrigin {
    MemoryOrigin(holding: [gate]) { _, number in .ok("\(number)", fields) }
  }

  private func get(_ node: SharedFleet.Node, _ transport: @escaping Transport) -> Task<String, any Error> {
    Task {
      try await node.cache.respond(to: .get("/"), transport: transport).text
    }
  }

  @Test("The other nodes wait for the entry, and use it", arguments: ResponseShape.few)
  func waits(shape: ResponseShape) async throws {
    let fleet = try await SharedFleet(3)
    let origin = MemoryOrigin(shape, holding: [gate])
    func get(_ node: Int) -> Task<String, any Error> {
      Task { [node = fleet.nodes[node]] in try await node.get("/", from: origin).text }
    }
    let first = get(0)
    await gate.arrived(1)
    let others = [get(1), get(2)]
    // Each sleeps until the lease would end.
    try await fleet.clock.sleepers(2)
    gate.open()
    #expect(try await first.value == "1")
    await fleet.nodes[0].link.drainWrites()
    for other in others { #expect(try await other.value == "1") }
    #expect(origin.requests.count == 1)
    try await fleet.server.wait { $0.leases == 0 }
  }

  @Test(
    "Requests of one node for what the tier has are coalesced: they ask it once, and all are answered",
    arguments: ResponseShape.few, [false, true])
  func coalesced(shape: ResponseShape, isOnDisk: Bool) async throws {
    try await withTemporaryDirectory { directory in
      var fleet = try await SharedFleet(1, origin: MemoryOrigin(shape))
      _ = try await fleet.get(at: 0)
      fleet.nodes.append(try fleet.makeNode(directory: isOnDisk ? directory : nil))
      await fleet.step()
      let (node, origin) = (fleet.nodes[1], fleet.origin)
      let calls = node.tier.callCount
      node.tier.fault = .holding
      let requests = (0..<8).map { _ in Task { try await node.get("/", from: origin) } }
      try await node.cache.fetches.followers(7)
      node.tier.fault = .none
      for request in requests {
        let answer = try await request.value
        #expect(answer.text == "1")
        #expect(answer.source == .hit)
      }
      #expect(node.tier.callCount == calls + 1)
      #expect(node.cache.fetches.count == 0)
      #expect(fleet.origin.requests.count == 1)
    }
  }

  @Test(
    "A response that is not shared lets the other nodes send their own requests",
    arguments: [
      HTTPFields(dictionaryLiteral: (.cacheControl, "no-store")), [.cacheControl: "private"],
      [.cacheControl: "max-age=0"],
      [.cacheControl: "max-age=60", .vary: "*"],
    ])
  func notShared(fields: HTTPFields) async throws {
    let fleet = try await SharedFleet(2)
    let origin = origin(fields)
    let first = get(fleet.nodes[0], origin.transport)
    await gate.arrived(1)
    let other = get(fleet.nodes[1], origin.transport)
    try await fleet.clock.sleepers()
    gate.open()
    #expect(try await first.value == "1")
    // By itself, if the response is not stored at all.
    if fields[.cacheControl] == "max-age=0" || fields[.vary] != nil {
      await fleet.nodes[0].link.drainWrites()
    }
    #expect(try await other.value == "2")
  }

  @Test(
    "A stream that no other request can use frees the lease with its head, and later requests for it ask no tier"
  )
  func stream() async throws {
    let fleet = try await SharedFleet(2)
    func head(_ node: Int) async throws -> CachedResponse {
      try await fleet.nodes[node].cache.respond(to: .get("/")) { _, _ in
        let (stream, feed) = ByteStream.makeStream()
        feed.yield([1])
        return .streamed(stream, [.cacheControl: "no-cache"])
      }
    }
    let first = try await head(0)
    #expect(fleet.nodes[0].tier.callCount > 0)
    try await fleet.server.wait { $0.leases == 0 }
    let calls = fleet.nodes[0].tier.callCount
    let (second, other) = (try await head(0), try await head(1))
    #expect(fleet.nodes[0].tier.callCount == calls)
    for response in [first, second, other] { #expect(response.source == .network) }
  }

  @Test("A failed request lets the other nodes send their own")
  func fails() async throws {
    let fleet = try await SharedFleet(2)
    let first = get(fleet.nodes[0]) { [gate] _, _ in
      await gate.wait()
      throw Unreachable()
    }
    await gate.arrived(1)
    let other = get(fleet.nodes[1]) { _, _ in .ok("2") }
    try await fleet.clock.sleepers()
    gate.open()
    await #expect(throws: Unreachable.self) { try await first.value }
    #expect(try await other.value == "2")
  }

  @Test("A node that dies leaves a lease that ends by itself")
  func dies() async throws {
    let fleet = try await SharedFleet(2)
    let key = try #require(CacheKey(.get("/"))).bytes
    _ = fleet.server.acquire(SharedLease(key: key, owner: 7, lifetime: .seconds(10)))
    let other = get(fleet.nodes[1]) { _, _ in .ok("2") }
    try await fleet.clock.sleepers()
    fleet.clock.advance(seconds: 11)
    #expect(try await other.value == "2")
  }

  @Test("When the tier fails, a node that waits for another one sends its own request")
  func failingTier() async throws {
    let fleet = try await SharedFleet(2)
    let key = try #require(CacheKey(.get("/"))).bytes
    _ = fleet.server.acquire(SharedLease(key: key, owner: 7, lifetime: .seconds(3600)))
    let other = get(fleet.nodes[1]) { _, _ in .ok("2") }
    try await fleet.clock.sleepers()
    fleet.nodes[1].tier.fault = .failing
    await fleet.nodes[1].link.heartbeat()
    #expect(try await other.value == "2")
    #expect(!fleet.nodes[1].statistics.isAvailable)
  }

  @Test("Without leases, each node sends its own request")
  func without() async throws {
    let fleet = try await SharedFleet(2) { $0.sharedTier?.lease = nil }
    let origin = origin([.cacheControl: "max-age=60"])
    let tasks = [0, 1].map { get(fleet.nodes[$0], origin.transport) }
    await gate.arrived(2)
    gate.open()
    for task in tasks { _ = try await task.value }
    #expect(fleet.server.leaseCount == 0)
  }

  @Test("Stale content is revalidated in the background by one node")
  func background() async throws {
    let fleet = try await SharedFleet(2)
    let fields: HTTPFields = [.cacheControl: "max-age=10, stale-while-revalidate=100"]
    _ = try await get(fleet.nodes[0]) { _, _ in .ok("1", fields) }.value
    await fleet.step()
    _ = try await get(fleet.nodes[1]) { _, _ in .ok("x", fields) }.value
    fleet.clock.advance(seconds: 20)
    await fleet.step()
    let origin = origin(fields)
    for node in fleet.nodes { #expect(try await get(node, origin.transport).value == "1") }
    await gate.arrived(1)
    // One for the first request, and one for the revalidation.
    #expect(fleet.nodes[0].statistics.leases + fleet.nodes[1].statistics.leases == 2)
    gate.open()
    for node in fleet.nodes { try await node.cache.fetches.emptied() }
    #expect(origin.requests.count == 1)
  }
}
