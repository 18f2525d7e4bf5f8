// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheStore

/// Replays the requests of a trace on a cache, and stores the misses.
struct Replayer {
  /// The eviction policies by the names of the flag `--eviction`.
  static let policies: KeyValuePairs<String, Contender> = [
    "lru": .ours, "s3fifo": .oursS3FIFO, "hyperbolic": .oursHyperbolic, "exact-lru": .exactLRU,
    "exact-s3fifo": .exactS3FIFO, "gdsf": .gdsf, "belady-size": .beladySize,
  ]
  /// The unit of the capacity, by the names of the flag `--sizes`: every entry counts the same, or its bytes count.
  static let sizes: KeyValuePairs<String, Action> = ["unit": .replayUnits, "real": .replayBytes]

  var trace: Trace
  var sizes: Action
  var shards: Int?

  private var isByUnits: Bool { sizes == .replayUnits }

  func run(_ policy: Contender, capacityShare: Double) throws -> Measurement {
    // In entries, or in bytes of bodies.
    let all = isByUnits ? trace.distinctKeys : trace.distinctBytes
    let capacity = max(1, Int((Double(all) * capacityShare).rounded()))
    let start = MonotonicClock.now
    var hits = 0
    var bytes = 0.0
    var bytesHit = 0.0
    let cache = try cache(policy, capacity)
    for request in trace.requests {
      let isHit = cache.access(request.key, bytes: isByUnits ? 1 : request.bytes)
      bytes += Double(request.bytes)
      guard isHit else { continue }
      hits += 1
      bytesHit += Double(request.bytes)
    }
    let requests = Double(trace.requests.count)
    var replay = Measurement(
      .replay, sizes, policy,
      [
        .requests: requests, .distinctKeys: Double(trace.distinctKeys), .capacityShare: capacityShare,
        isByUnits ? .capacity : .capacityBytes: Double(capacity), .hits: Double(hits),
        .hitRatio: Double(hits) / max(1, requests), .byteHitRatio: bytes > 0 ? bytesHit / bytes : 0,
        .seconds: Double(MonotonicClock.now - start) / 1e9,
      ])
    replay.trace = trace.name
    if policy.isOurs { replay[.shards] = shards.map(Double.init) }
    return replay
  }

  private func cache(_ policy: Contender, _ capacity: Int) throws -> any ReplayedCache {
    switch policy {
    case .exactLRU: ExactLRU(capacity: capacity)
    case .exactS3FIFO: ExactS3FIFO(capacity: capacity)
    case .gdsf: GDSF(capacity: capacity)
    case .beladySize: BeladySize(capacity: capacity, keys: trace.requests.map(\.key))
    case .oursS3FIFO: try store(.s3fifo, capacity)
    case .oursHyperbolic: try store(.hyperbolic, capacity)
    default: try store(.lru, capacity)
    }
  }

  private func store(_ eviction: EvictionPolicy, _ capacity: Int) throws -> ReplayedStore {
    try ReplayedStore(capacity: storeCapacity(capacity, eviction), eviction: eviction, shards: shards)
  }

  /// Returns the capacity in the unit of our store: with the key of each entry, and the store's overhead.
  private func storeCapacity(_ capacity: Int, _ eviction: EvictionPolicy) throws -> Int {
    let perEntry = try EngineCache.cost(keyBytes: 8, bodyBytes: isByUnits ? 1 : 0, eviction: eviction)
    guard !isByUnits else { return capacity * perEntry }
    // If bodies count, the rest of an entry takes its share of the capacity.
    let mean = Double(trace.distinctBytes) / Double(max(1, trace.distinctKeys))
    let entries = mean > 0 ? Double(capacity) / mean : 0
    return capacity + Int((entries * Double(perEntry)).rounded())
  }
}
