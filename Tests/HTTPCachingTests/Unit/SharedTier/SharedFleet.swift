// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import SystemPackage
import TestSupport

@testable import HTTPCaching

/// Caches with one shared tier in memory. A test moves the clock and takes each step of each node by hand.
struct SharedFleet {
  let clock = ManualClock(Timestamp(seconds: 1_700_000_000))
  let server: InMemorySharedServer
  var nodes: [Node] = []
  let origin: MemoryOrigin

  struct Node {
    let cache: HTTPCache
    let tier: InMemorySharedTier
    let events: Recorder<CacheEvent.Action>

    var link: SharedTierLink {
      guard let link = cache.shared else { preconditionFailure("the cache of a node has a shared tier") }
      return link
    }

    var statistics: HTTPCache.SharedTierStatistics { link.statistics }

    /// Takes all steps that a running node takes by itself.
    func step() async {
      await link.deliverRemovals()
      await link.heartbeat()
      await catchUp()
      await link.drainWrites()
      await link.heartbeat()
    }

    /// Applies all records that the tier has now.
    func catchUp() async {
      var last: SharedLogPosition?
      repeat {
        last = link.state.withLock { $0.step.applied }
        await link.follow(waiting: .zero)
      } while link.state.withLock({ $0.step.applied }) != last
    }

    /// - Returns: the response, and its version as the text.
    func get(_ path: String, from origin: MemoryOrigin, fields: HTTPFields = [:]) async throws -> Answer {
      let request = HTTPRequest.get(path, fields: fields)
      let response = try await cache.respond(to: request, transport: origin.transport)
      let content = try await response.body.collect(upTo: .max)
      return Answer(response: response, text: origin.shape.read(response.head, content, for: request))
    }
  }

  init(
    _ count: Int, kind: CacheEngine.Configuration.Kind = .shared,
    origin: MemoryOrigin = MemoryOrigin(ResponseShape()),
    fault: InMemorySharedTier.Fault = .none, configure: (inout HTTPCache.Configuration) -> Void = { _ in }
  ) async throws {
    server = InMemorySharedServer(clock: clock)
    self.origin = origin
    for _ in 0..<count { nodes.append(try makeNode(kind: kind, configure: configure)) }
    for node in nodes { node.tier.fault = fault }
    await step()
  }

  func makeNode(
    kind: CacheEngine.Configuration.Kind = .shared, directory: FilePath? = nil, sync: DiskSync = .removals,
    clock: ManualClock? = nil, isStarted: Bool = false,
    configure: (inout HTTPCache.Configuration) -> Void = { _ in }
  ) throws -> Node {
    let tier = InMemorySharedTier(
      server, emptyRecord: Removal(HTTPCache.Selection(.scopes([]))).payload(node: 0))
    let events = Recorder<CacheEvent.Action>()
    var configuration = HTTPCache.Configuration(kind: kind)
    configuration.sharedTier = HTTPCache.SharedTierOptions(tier)
    configuration.observe([.sharedTierUnavailable, .sharedTierAvailable, .outOfStep, .inStep]) {
      events.add($0.action)
    }
    configure(&configuration)
    var disk = CacheStore.Configuration(
      memoryCapacity: 4 << 20, diskCapacity: directory == nil ? 0 : 16 << 20, directory: directory)
    disk.sync = sync
    let store = try CacheStore(disk)
    let cache = HTTPCache(unstarted: configuration, store: store, clock: clock ?? self.clock)
    if isStarted { cache.shared?.start() }
    return Node(cache: cache, tier: tier, events: events)
  }

  /// All nodes take all steps, so that everything that one of them did has reached the others.
  func step() async {
    for _ in 0..<2 {
      for node in nodes { await node.step() }
    }
  }

  func get(_ path: String = "/", at node: Int, fields: HTTPFields = [:]) async throws -> Answer {
    try await nodes[node].get(path, from: origin, fields: fields)
  }
}
