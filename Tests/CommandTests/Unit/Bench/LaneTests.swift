// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import HTTPCacheStore
import Testing

@testable import CacheBench

@Suite(.timeLimit(.minutes(10))) struct LaneTests {
  @Test func `mixed counts the hits of its lookups over one pass`() throws {
    // Of twenty operations two are stores. Room for all: the first pass stores each key, the second finds it.
    let arrivals = Arrivals(Array((0..<20).map { UInt32($0 % 10) })[...])
    let lane = Lane.mixed(
      .nodes, NodeCache(capacity: 10), warming: [], counting: arrivals, Bodies(size: 5, seed: 1))
    // Keys 0 to 8 are missed, 9 is stored; then 0 to 8 are found, and 9 is stored.
    #expect(try lane.prepare() == 0.5)
    #expect(try lane.prepare() == 1)
  }

  @Test func `churn stores only absent keys`() throws {
    let arrivals = WorkloadBench.everyKey(300, threads: 1, seed: 1)
    let cache = NodeCache(capacity: 30)
    let lane = Lane.churn(.nodes, cache, capacity: 30, Bodies(size: 100, seed: 1))
    lane.begin(arrivals)
    #expect(cache.entryCount == 30)
    let operation = lane.operation(arrivals[0])
    for position in arrivals[0].keys.indices {
      #expect(cache.bodyCount(of: arrivals[0].keys[position]) == nil)
      #expect(operation(position))
      #expect(cache.bodyCount(of: arrivals[0].keys[position]) == 100)
      #expect(cache.entryCount == 30)
    }
  }

  @Test(arguments: [Contender.ours, .oursS3FIFO])
  func `every operation is measured for a number of entries`(policy: Contender) throws {
    let bench = ScaleBench(
      valueSize: 10, eviction: policy, operations: 1000, progress: ProgressLine(isShown: false))
    let rows = try bench.run(10_000)
    #expect(rows.map(\.action) == [.store, .getAndRead, .churn, .purgePrefix, .removeAll])
    #expect(rows.allSatisfy { $0[.entries] == 10_000 && $0[.processorNanoseconds] ?? 0 > 0 })
  }

  @Test func `all keys have 64 bytes and differ`() {
    let keys = (0..<1000).map { Keys.key($0) }
    #expect(Set(keys).count == 1000)
    #expect(keys.allSatisfy { $0.bytes.count == Keys.bytes })
    #expect(
      Keys.key(1203).description == "https://cache.example.com/assets/objects/000000000000001203.webp")
  }

  @Test func `every key occurs once, on one of the threads`() {
    let keys = WorkloadBench.everyKey(101, threads: 3, seed: 5).flatMap(\.keys)
    #expect(keys.count == 101)
    #expect(Set(keys) == Set((0..<101).map { Keys.key($0) }))
  }

  @Test func `the thread counts are the powers of two up to the maximum, and the maximum`() throws {
    #expect(try WorkloadOptions.parse(["--threads", "1"]).threadCounts == [1])
    #expect(try WorkloadOptions.parse(["--threads", "2"]).threadCounts == [1, 2])
    #expect(try WorkloadOptions.parse(["--threads", "6"]).threadCounts == [1, 2, 4, 6])
  }

  @Test(arguments: EvictionPolicy.allCases)
  func `the store has room for as many entries as the other caches`(eviction: EvictionPolicy) throws {
    let cost = try EngineCache.cost(keyBytes: 64, bodyBytes: 100, eviction: eviction)
    #expect(cost > 164)
    let cache = try EngineCache(capacity: 50 * cost, eviction: eviction, shards: 1)
    for number in 0..<200 { #expect(cache.put(Keys.key(number), [UInt8](repeating: 0, count: 100))) }
    #expect(try #require(cache.entryCount) >= 45)
    #expect(try #require(cache.entryCount) <= 50)
  }

  @Test func `every cache finds its entries and replaces the body of a key`() throws {
    let caches: [any KeyedCache] = [
      try EngineCache(capacity: 1 << 20, eviction: .lru),
      try EngineCache(capacity: 1 << 20, eviction: .s3fifo),
      try FloorCache(keys: 9), try FloorCache(keys: 9, isApart: true), DictionaryCache(),
      NodeCache(capacity: 9),
      ObjectCache(capacity: 9),
      RequestCache(),
    ]
    let (short, long) = ([UInt8](repeating: 1, count: 10), [UInt8](repeating: 2, count: 700))
    for cache in caches {
      #expect(cache.put(Keys.key(1), short))
      #expect(cache.put(Keys.key(2), short))
      #expect(cache.put(Keys.key(1), long))
      #expect(cache.bodyCount(of: Keys.key(1)) == 700, "\(cache)")
      #expect(cache.bodyCount(of: Keys.key(2)) == 10, "\(cache)")
      #expect(cache.bodyCount(of: Keys.key(3)) == nil, "\(cache)")
      #expect(cache.bodyByte(of: Keys.key(1)) == 2, "\(cache)")
      #expect(cache.bodyByte(of: Keys.key(2)) == 1, "\(cache)")
      #expect(cache.bodyByte(of: Keys.key(3)) == nil, "\(cache)")
      if let count = cache.entryCount { #expect(count == 2, "\(cache)") }
    }
    withExtendedLifetime((short, long)) {}
  }
}
