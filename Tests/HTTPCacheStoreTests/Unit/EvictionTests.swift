// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Eviction from memory", .timeLimit(.minutes(10)))
struct EvictionTests {
  private func store(
    _ policy: EvictionPolicy, capacity: Int, shards: Int = 1
  ) throws -> CacheStore {
    var configuration = CacheStore.Configuration(memoryCapacity: capacity)
    configuration.shardCount = shards
    configuration.eviction = policy
    return try CacheStore(configuration)
  }

  /// What an entry of these tests costs, which are all of one size.
  private func unit(_ policy: EvictionPolicy) throws -> Int {
    let store = try store(policy, capacity: 10_000)
    store.insert(small(1))
    return store.usage.memoryBytes
  }

  private func small(_ number: Int) -> NewEntry {
    NewEntry(key: key(100_000 + number), variant: one, metadata: [], body: [], storedAt: 0)
  }

  private func isHit(_ store: CacheStore, _ number: Int) -> Bool {
    !store.residentEntries(for: key(100_000 + number)).entries.isEmpty
  }

  /// The share of hits when what is missed is inserted.
  private func hitRatio(_ store: CacheStore, _ trace: [Int]) -> Double {
    var hits = 0
    for number in trace {
      if isHit(store, number) { hits += 1 } else { store.insert(small(number)) }
    }
    return Double(hits) / Double(trace.count)
  }

  private func zipf(keys: Int, count: Int) -> [Int] {
    var random = SplitMix64(seed: 3)
    var sums: [Double] = []
    for rank in 1...keys { sums.append((sums.last ?? 0) + 1 / Double(rank)) }
    return (0..<count).map { _ in
      let value = Double.random(in: 0..<sums[keys - 1], using: &random)
      var range = 0..<keys
      while !range.isEmpty {
        let middle = (range.lowerBound + range.upperBound) / 2
        range = sums[middle] < value ? middle + 1..<range.upperBound : range.lowerBound..<middle
      }
      return range.lowerBound
    }
  }

  @Test("S3-FIFO has more hits than LRU on a Zipf trace")
  func zipfTrace() throws {
    let trace = zipf(keys: 10_000, count: 30_000)
    let lru = hitRatio(try store(.lru, capacity: 1000 * unit(.lru)), trace)
    let s3fifo = hitRatio(try store(.s3fifo, capacity: 1000 * unit(.s3fifo)), trace)
    #expect(s3fifo > lru + 0.01, "\(s3fifo) and \(lru)")
    // What an exact list gives of this trace.
    var order: [Int] = []
    var hits = 0
    for number in trace.prefix(5000) {
      if let place = order.firstIndex(of: number) {
        hits += 1
        order.remove(at: place)
      } else if order.count == 1000 {
        order.removeLast()
      }
      order.insert(number, at: 0)
    }
    let short = hitRatio(try store(.lru, capacity: 1000 * unit(.lru)), Array(trace.prefix(5000)))
    #expect(abs(short - Double(hits) / 5000) < 0.03)
  }

  @Test("Hyperbolic eviction has more hits than LRU where sizes differ, and evicts large entries first")
  func hyperbolicSizes() throws {
    // By Zipf, with one key in eight a hundred times as large as the others, whatever its rank.
    let trace = zipf(keys: 4_000, count: 30_000)
    func hits(_ policy: EvictionPolicy) throws -> (hits: Int, large: Int) {
      let store = try store(policy, capacity: 400_000)
      var hits = 0
      for number in trace {
        if isHit(store, number) {
          hits += 1
        } else {
          let body = [UInt8](repeating: 0, count: number % 8 == 0 ? 10_000 : 100)
          store.insert(
            NewEntry(key: key(100_000 + number), variant: one, metadata: [], body: body, storedAt: 0))
        }
        #expect(store.usage.memoryBytes <= 400_000)
      }
      return (hits, stride(from: 0, to: 4_000, by: 8).filter { isHit(store, $0) }.count)
    }
    let (lru, s3fifo, hyperbolic) = (try hits(.lru), try hits(.s3fifo), try hits(.hyperbolic))
    #expect(hyperbolic.hits > lru.hits * 13 / 10, "\(hyperbolic) and \(lru)")
    #expect(hyperbolic.hits > s3fifo.hits, "\(hyperbolic) and \(s3fifo)")
    #expect(hyperbolic.large < lru.large)
  }

  @Test("Hyperbolic eviction keeps frequent entries among entries of one size, in small and large shards")
  func hyperbolicUses() throws {
    for (kept, count) in [(20, 100), (200, 1_000)] {
      let store = try store(.hyperbolic, capacity: count * unit(.hyperbolic))
      for number in 0..<count { store.insert(small(number)) }
      for _ in 0..<5 { for number in 0..<kept { #expect(isHit(store, number)) } }
      for number in 10_000..<10_000 + 2 * count { store.insert(small(number)) }
      #expect((0..<kept).filter { isHit(store, $0) }.count > kept * 9 / 10)
      #expect(store.statistics.memoryEvictions == 2 * count)
    }
  }

  @Test("Hyperbolic eviction keeps its order when its clock runs over", arguments: [100, 40_000])
  func hyperbolicClock(count: Int) throws {
    // Times have 20 bits: they are compressed after half a million to a million uses, and their unit grows in a large shard.
    let store = try store(.hyperbolic, capacity: count * unit(.hyperbolic))
    for number in 0..<count { store.insert(small(number)) }
    for _ in 0..<1_200_000 / 50 { for number in 0..<50 { _ = isHit(store, number) } }
    for number in 50..<100 { _ = isHit(store, number) }
    for number in 100_000..<100_000 + count / 2 { store.insert(small(number)) }
    #expect((0..<50).allSatisfy { isHit(store, $0) })
    #expect(store.statistics.memoryEvictions == count / 2)
  }

  @Test("S3-FIFO keeps used entries through a long scan")
  func scan() throws {
    let store = try store(.s3fifo, capacity: 100 * unit(.s3fifo))
    for number in 0..<50 { store.insert(small(number)) }
    for _ in 0..<2 { for number in 0..<50 { #expect(isHit(store, number)) } }
    for number in 1000..<3000 { store.insert(small(number)) }
    #expect((0..<50).allSatisfy { isHit(store, $0) })
    #expect(store.statistics.memoryEvictions == 1950)
  }

  @Test("S3-FIFO keeps an entry that returned soon after its eviction")
  func ghosts() throws {
    let store = try store(.s3fifo, capacity: 100 * unit(.s3fifo))
    for number in 0..<105 { store.insert(small(number)) }
    try #require((0..<5).allSatisfy { !isHit(store, $0) })
    for _ in 0..<2 { for number in 5..<75 { _ = isHit(store, number) } }
    for number in 200..<230 { store.insert(small(number)) }
    let back = (75..<85).filter { !isHit(store, $0) }
    try #require(back.count == 10)
    for number in back { store.insert(small(number)) }
    for number in 300..<400 { store.insert(small(number)) }
    #expect(back.filter { isHit(store, $0) }.count == 10)
  }

  @Test("S3-FIFO keeps a used entry that was replaced")
  func replaced() throws {
    let store = try store(.s3fifo, capacity: 100 * unit(.s3fifo))
    for number in 0..<50 { store.insert(small(number)) }
    for _ in 0..<2 { for number in 0..<50 { _ = isHit(store, number) } }
    for number in 0..<50 { store.insert(small(number)) }
    for number in 1000..<2000 { store.insert(small(number)) }
    #expect((0..<50).allSatisfy { isHit(store, $0) })
  }

  @Test("LRU keeps recently used entries in a large shard")
  func largeShard() throws {
    let store = try store(.lru, capacity: 4000 * unit(.lru))
    for number in 0..<4000 { store.insert(small(number)) }
    for number in 0..<1000 { #expect(isHit(store, number)) }
    for number in 5000..<7500 { store.insert(small(number)) }
    #expect((0..<1000).filter { isHit(store, $0) }.count >= 900)
    // Nearly: what goes is among the oldest, and not always the oldest itself.
    #expect((1000..<3500).filter { isHit(store, $0) }.count < 500)
    #expect((5000..<7500).allSatisfy { isHit(store, $0) })
  }

  @Test(
    "There is one shard for each 4 MiB, and at most 64",
    arguments: [(0, 1), (8 << 20 - 1, 1), (8 << 20, 2), (31 << 20, 4), (256 << 20, 64), (1 << 40, 64)])
  func shardCount(capacity: Int, count: Int) {
    #expect(MemoryTier.defaultShardCount(capacity: capacity) == count)
  }

  @Test(
    "A large entry evicts from all shards, and all shards keep about the same number of entries",
    arguments: EvictionPolicy.allCases)
  func balance(policy: EvictionPolicy) throws {
    let store = try store(policy, capacity: 1 << 20, shards: 8)
    func counts() -> [Int] { (0..<8).map { store.memory.entries(inShard: $0).count } }
    for number in 0..<1000 { store.insert(entry(key(number), number: number, size: 1000)) }
    store.insert(entry(key(5000), number: 5000, size: 500_000))
    #expect(counts().allSatisfy { (25...100).contains($0) }, "\(counts())")
    // Sizes between 100 and 6,400: without a balance, the bytes of the shards would drift apart.
    for number in 10_000..<usually(16_000, long: 30_000) {
      store.insert(entry(key(number), number: number, size: 100 << (number % 7)))
    }
    let mean = counts().reduce(0, +) / 8
    #expect(counts().allSatisfy { (mean * 2 / 3...mean * 3 / 2).contains($0) }, "\(counts())")
    #expect(store.usage.memoryBytes <= 1 << 20)
  }

  @Test(
    "An entry larger than a shard's share is stored, one larger than the capacity is refused",
    arguments: EvictionPolicy.allCases)
  func largeEntry(policy: EvictionPolicy) throws {
    let store = try store(policy, capacity: 1 << 20, shards: 64)
    for number in 0..<1000 { store.insert(entry(key(number), number: number, size: 1000)) }
    for number in 0..<4 {
      #expect(store.insert(entry(key(5000 + number), number: number, size: 700_000)).id != nil)
      #expect(store.usage.memoryBytes <= 1 << 20)
      #expect(holds(try #require(store.lookup(key(5000 + number)).first), number: number, size: 700_000))
    }
    #expect(store.insert(entry(key(1), size: 1 << 20)).refusal?.reason == .tooLargeForMemory)
  }

  /// What is found must be right, and the bytes charged must be those of what is found.
  @Test(
    "Memory holds current entries and charges their exact size through random operations",
    arguments: EvictionPolicy.allCases,
    0..<4 as Range<UInt64>)
  func randomly(policy: EvictionPolicy, seed: UInt64) throws {
    struct Known {
      var number: Int
      var size: Int
      var metadata: Int
    }
    var random = SplitMix64(seed: seed)
    let capacity = 60_000
    let store = try store(policy, capacity: capacity, shards: seed.isMultiple(of: 2) ? 1 : 4)
    var model: [Int: [UInt64: Known]] = [:]
    var ids: [EntryID: (key: Int, variant: UInt64)] = [:]
    for step in 0..<2500 {
      let number = Int.random(in: 0..<60, using: &random)
      let variant = UInt64.random(in: 0..<3, using: &random)
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<40:
        for found in store.lookup(key(number)) {
          let known = try #require(model[number]?[found.variant.rawValue], "step \(step): came back")
          #expect(Array(found.metadata) == Array("head \(known.metadata)".utf8))
          #expect(found.bodyCount == known.size)
        }
      case 40..<85:
        let size = Int.random(in: 0..<(step % 20 == 0 ? 20_000 : 2000), using: &random)
        let id = try #require(
          store.insert(entry(key(number), VariantID(rawValue: variant), number: step, size: size)).id)
        model[number, default: [:]][variant] = Known(number: step, size: size, metadata: step)
        ids[id] = (number, variant)
      case 85..<92:
        guard let (id, place) = ids.randomElement(using: &random) else { continue }
        if store.updateMetadata(
          of: id, key: key(place.key), metadata: Array("head \(-step)".utf8), storedAt: 0)
        {
          model[place.key]?[place.variant]?.metadata = -step
        }
      case 92..<95:
        store.remove(key(number))
        model[number] = nil
      case 95..<98:
        store.remove(key(number), variant: VariantID(rawValue: variant))
        model[number]?[variant] = nil
      case 98:
        store.setCapacity(memory: Int.random(in: capacity / 3...capacity, using: &random))
      default:
        store.setCapacity(memory: capacity)
      }
      let usage = store.usage
      #expect(usage.memoryBytes <= store.capacity.memory)
      guard step % 50 == 0 else { continue }
      var bytes = 0
      var count = 0
      for number in 0..<60 {
        for found in store.residentEntries(for: key(number)).entries {
          bytes += policy.cost(
            of: EntryBlock(
              id: found.id.rawValue, revision: found.revision, variant: found.variant.rawValue,
              storedAt: found.storedAt, key: key(number).bytes, metadata: found.metadata,
              body: Array(try found.body.readAll())))
          count += 1
        }
      }
      #expect(usage.memoryBytes == bytes && usage.memoryEntries == count, "step \(step)")
    }
    #expect(store.statistics.memoryEvictions > 100)
  }

  @Test(
    "The counts of entries and evictions are exact and readable while a shard is locked")
  func counts() throws {
    var configuration = CacheStore.Configuration(memoryCapacity: 100_000)
    configuration.shardCount = 4
    let store = try CacheStore(configuration)
    var random = SplitMix64(seed: 5)
    for step in 0..<2000 {
      let number = Int.random(in: 0..<300, using: &random)
      switch Int.random(in: 0..<40, using: &random) {
      case 0: store.removeAll(since: Int64(step - 20))
      case 1: if step % 5 == 0 { store.removeAll() }
      case 2: store.setCapacity(memory: Int.random(in: 50_000...100_000, using: &random))
      case 3..<8: store.remove(key(number))
      default:
        let size = Int.random(in: 0..<6000, using: &random)
        store.insert(entry(key(number), number: number, size: size, storedAt: Int64(step)))
      }
      let stored = (0..<300).count { !store.peek(key($0)).isEmpty }
      #expect(store.usage.memoryEntries == stored, "step \(step)")
    }
    let evictions = store.evictions.memory
    #expect(evictions > 100 && evictions == store.statistics.memoryEvictions)
    let hash = store.hasher.hash(key(1))
    let new = EntryBlock(id: 1, revision: 1, variant: 1, storedAt: 0, key: [], metadata: [], body: [])
    let refusal = store.memory.place(
      EntryReference(new), key: key(1), hash: hash,
      objection: {
        #expect(store.usage.memoryEntries >= 0 && store.evictions.memory == evictions)
        return .superseded
      })
    #expect(refusal == .superseded)
    store.close()
    #expect(store.evictions.memory == evictions, "what a store that is closed gives up is not evicted")
  }

  // Each insert and each removal moves as many places as the mean displacement. When evictions took as many entries from
  // full parts of the table as from empty ones, it was 68 in this test with LRU. Now it is 11.
  @Test("The table stays even after many evictions", arguments: EvictionPolicy.allCases)
  func evenTable(policy: EvictionPolicy) throws {
    var configuration = CacheStore.Configuration(memoryCapacity: 4 << 20)
    configuration.eviction = policy
    configuration.shardCount = 1
    let store = try CacheStore(configuration)
    for number in 0..<usually(60_000, long: 400_000) {
      store.insert(entry(key(number), number: number, size: 10 + number % 97))
      if number % 3 == 0 { _ = store.residentEntries(for: key(number / 2)) }
    }
    #expect(store.usage.memoryEntries > 10_000)
    #expect(store.memory.meanDisplacement < 20)
  }
}
