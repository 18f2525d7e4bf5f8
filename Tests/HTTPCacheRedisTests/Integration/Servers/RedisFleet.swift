// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheRedis
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

/// Caches with a shared tier on servers of Redis.
///
/// The time of the caches stands still until a test advances it: however busy the machine is, none falls out of step by
/// itself.
struct RedisFleet {
  let caches: [HTTPCache]
  let clock = StandingClock()
  /// How long a cache stays in step after a heartbeat, by ``clock``.
  let trust = Duration.seconds(2)

  /// - Parameters:
  ///   - endpoint: the servers.
  ///   - directories: the directory of each cache; `nil` for a cache in memory.
  ///   - wait: how long a request waits for the tier, in real time; `nil` for as long as it takes.
  ///   - lease: how long a request to the origin is made for all caches, in real time; `nil` for the default.
  ///   - configure: changes the tier of each cache.
  init(
    _ endpoint: RedisEndpoint, directories: [FilePath?] = [nil, nil], wait: Duration? = nil,
    lease: Duration? = nil,
    configure: (inout RedisSharedTier.Configuration) -> Void = { _ in }
  ) throws {
    let (clock, trust) = (self.clock, self.trust)
    caches = try directories.map { directory in
      var tier = RedisSharedTier.Configuration.patient(endpoint)
      configure(&tier)
      var configuration = HTTPCache.Configuration(kind: .shared, directory: directory)
      let redis = try RedisSharedTier(tier)
      var options = HTTPCache.SharedTierOptions(wait == nil ? UnhurriedTier(tier: redis) : redis)
      options.wait = wait ?? UnhurriedTier.long
      options.trust = trust
      if let lease { options.lease = lease }
      configuration.sharedTier = options
      return HTTPCache(
        store: try CacheStore(configuration.store), configuration: configuration, clock: clock)
    }
  }

  func get(
    _ path: String = "/", at node: Int, from origin: MemoryOrigin, fields: HTTPFields = [:]
  ) async throws -> (source: CachedResponse.Source, text: String, head: HTTPResponse) {
    var request = Self.request(path)
    request.headerFields = fields
    let response = try await caches[node].respond(to: request, transport: origin.transport)
    let content = try await response.body.collect(upTo: .max)
    return (response.source, origin.shape.read(response.head, content, for: request), response.head)
  }

  static func request(_ path: String) -> HTTPRequest {
    HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: path)
  }

  func statistics(_ node: Int) -> HTTPCache.SharedTierStatistics {
    caches[node].sharedTierStatistics ?? HTTPCache.SharedTierStatistics()
  }

  /// Waits until each cache is in step and uses the tier. A cache that is in step again before it has noticed that it was
  /// not announces nothing.
  func reachable() async throws {
    try await eventually {
      caches.indices.allSatisfy { statistics($0).isInStep && statistics($0).isAvailable }
    }
  }

  /// Waits until a cache has stored a number of responses in the tier. Nothing announces it.
  func stored(_ count: Int, by node: Int) async throws {
    do {
      try await eventually { statistics(node).stores >= count }
    } catch {
      Issue.record("of \(count) responses, some are not in the tier: \(statistics(node))")
      throw error
    }
  }

  /// Closes the caches, and waits until they have left the tier.
  func close() async {
    for cache in caches {
      cache.close()
      await cache.closeSharedTier()
    }
  }
}

/// A clock that stands until a test advances it. Sleeps take real time.
final class StandingClock: CacheClock {
  private let time = Monitor(SystemCacheClock.shared.now)

  var now: Timestamp { time.withLock { $0 } }

  func advance(by duration: Duration) {
    time.withLock { $0 = $0.advanced(by: duration) }
  }
}

/// A tier on Redis whose time limits never end: each call waits for its answer, and registrations last until they are given
/// up. What a busy machine does late is not lost.
struct UnhurriedTier: SharedTier {
  static let long = Duration.seconds(3600)

  let tier: RedisSharedTier

  /// Finds entries as if they had just been stored: the time of the caches stands, and that of the server goes on.
  func find(_ key: [UInt8], within limit: Duration) async throws -> [FoundSharedEntry] {
    try await tier.find(key, within: Self.long).map {
      FoundSharedEntry(head: $0.head, body: $0.body, elapsed: .zero)
    }
  }

  func store(_ entry: SharedEntry, within limit: Duration) async throws -> SharedStoring {
    try await tier.store(entry, within: Self.long)
  }

  func append(_ removal: SharedRemoval, within limit: Duration) async throws -> SharedLogPosition {
    try await tier.append(removal, within: Self.long)
  }

  func records(after position: SharedLogPosition, waiting wait: Duration) async throws -> SharedLogPage {
    try await tier.records(after: position, waiting: wait)
  }

  /// Registers the node for long. The server confirms removals only in a log that is older than the registration of the
  /// node that asks: so another node asks, whose registration is short.
  func heartbeat(_ node: SharedNode, within limit: Duration) async throws -> SharedLogHead {
    _ = try await tier.heartbeat(
      SharedNode(id: node.id, applied: node.applied, lifetime: Self.long), within: Self.long)
    return try await tier.heartbeat(
      SharedNode(id: Self.companion(of: node), applied: node.applied, lifetime: .milliseconds(1)),
      within: Self.long)
  }

  func leave(_ node: SharedNode, within limit: Duration) async throws {
    for id in [node.id, Self.companion(of: node)] {
      try await tier.leave(SharedNode(id: id, applied: nil, lifetime: .zero), within: Self.long)
    }
  }

  func acquire(_ lease: SharedLease, within limit: Duration) async throws -> Bool {
    try await tier.acquire(lease, within: Self.long)
  }

  func release(_ lease: SharedLease, within limit: Duration) async throws {
    try await tier.release(lease, within: Self.long)
  }

  func waitForRelease(of key: [UInt8], atMost wait: Duration) async throws {
    try await tier.waitForRelease(of: key, atMost: wait)
  }

  func reclaim(where isRemoved: @escaping @Sendable ([UInt8]) -> Bool) async throws -> Int {
    try await tier.reclaim(where: isRemoved)
  }

  func close() async { await tier.close() }

  private static func companion(of node: SharedNode) -> UInt64 { ~node.id }
}
