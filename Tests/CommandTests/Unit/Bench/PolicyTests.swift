// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import TestSupport
import Testing

@testable import CacheBench

/// The store's eviction policies, compared with exact models on generated traces.
@Suite(.timeLimit(.minutes(10))) struct PolicyTests {
  static let capacities = usually([0.02, 0.2], long: [0.02, 0.1, 0.2])

  /// Percentages of requests and of bytes that miss.
  private struct Misses {
    var requests: Double
    var bytes: Double
  }

  private func replayer(
    _ pattern: TracePattern, _ sizes: Action, requests: Int = usually(20_000, long: 40_000)
  ) -> Replayer {
    let generator = TraceGenerator(pattern: pattern, keys: requests / 10, requests: requests, seed: 1)
    return Replayer(trace: generator.trace, sizes: sizes)
  }

  private func misses(_ replayer: Replayer, _ policy: Contender, _ capacity: Double) throws -> Misses {
    let replay = try replayer.run(policy, capacityShare: capacity)
    return Misses(
      requests: 100 * (1 - (try #require(replay[.hitRatio]))),
      bytes: 100 * (1 - (try #require(replay[.byteHitRatio]))))
  }

  @Test(arguments: TracePattern.allCases, capacities)
  func `S3-FIFO misses as often as the exact model, within half a point`(
    pattern: TracePattern, capacity: Double
  ) throws {
    let replayer = replayer(pattern, .replayUnits)
    let own = try misses(replayer, .oursS3FIFO, capacity).requests
    let exact = try misses(replayer, .exactS3FIFO, capacity).requests
    #expect(abs(own - exact) <= 0.5, "\(own) and \(exact) %")
  }

  @Test(arguments: TracePattern.allCases, capacities)
  func `LRU misses as often as an exact list, within half a point`(pattern: TracePattern, capacity: Double)
    throws
  {
    let replayer = replayer(pattern, .replayUnits)
    let own = try misses(replayer, .ours, capacity).requests
    let exact = try misses(replayer, .exactLRU, capacity).requests
    #expect(abs(own - exact) <= 0.5, "\(own) and \(exact) %")
  }

  // In smaller caches the store has fewer hits than a model: it counts its overhead for each of the many small entries.
  @Test(arguments: [TracePattern.zipf, .web, .scan], usually([0.1], long: capacities))
  func `with sizes, hyperbolic eviction has the hits of GDSF, within half a point`(
    pattern: TracePattern, capacity: Double
  ) throws {
    let replayer = replayer(pattern, .replayBytes, requests: usually(100_000, long: 200_000))
    let own = try misses(replayer, .oursHyperbolic, capacity).requests
    let gdsf = try misses(replayer, .gdsf, capacity).requests
    #expect(own <= gdsf + 0.5, "\(own) and \(gdsf) %")
  }

  @Test(arguments: capacities)
  func `if large entries are seldom used again, hyperbolic eviction saves about as many bytes as S3-FIFO`(
    capacity: Double
  ) throws {
    let replayer = replayer(.web, .replayBytes)
    let own = try misses(replayer, .oursHyperbolic, capacity)
    for policy in [Contender.oursS3FIFO, .exactS3FIFO] {
      let other = try misses(replayer, policy, capacity)
      #expect(own.bytes <= other.bytes + 2, "\(own) and \(other)")
      #expect(own.requests < other.requests, "\(own) and \(other)")
    }
  }

  // If an insert evicted only from its own shard, some of these entries would empty it, for 4 to 30 points more misses.
  @Test(arguments: [Contender.ours, .oursS3FIFO, .oursHyperbolic])
  func `large entries cost few hits in many shards`(policy: Contender) throws {
    var replayer = replayer(.zipf, .replayBytes, requests: 60_000)
    replayer.shards = 1
    let one = try misses(replayer, policy, 0.1).requests
    replayer.shards = 8
    let many = try misses(replayer, policy, 0.1).requests
    #expect(many <= one + 2, "\(many) and \(one) %")
  }
}
