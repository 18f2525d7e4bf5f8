// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Compaction of the memory table", .timeLimit(.minutes(10)))
struct CompactingTests {
  private func store(shards: Int, capacity: Int = 4 << 20) throws -> CacheStore {
    var configuration = CacheStore.Configuration(memoryCapacity: capacity)
    configuration.shardCount = shards
    configuration.eviction = .lru
    return try CacheStore(configuration)
  }

  @Test("Places are freed when few large entries replace many small ones", arguments: [1, 8])
  func givenBack(shards: Int) throws {
    let store = try store(shards: shards)
    for number in 0..<10_000 { store.insert(entry(key(number), number: number, size: 10)) }
    #expect(store.memory.placeCount >= 10_000)
    for number in 0..<200 { store.insert(entry(key(20_000 + number), number: number, size: 100_000)) }
    // Some of the small ones may be left: eviction looks at a part of the table at a time.
    #expect(store.usage.memoryEntries < 1000)
    #expect(store.memory.placeCount < 2500)
  }

  @Test("Compaction keeps all variants and the order of last use")
  func keepsOrder() throws {
    let store = try store(shards: 1)
    for number in 0..<3000 {
      store.insert(entry(key(number), one, number: number, size: 10))
      if number.isMultiple(of: 3) { store.insert(entry(key(number), two, number: number + 1, size: 10)) }
    }
    let before = store.memory.placeCount
    // All but the last hundred keys go; of these every fifth is used again.
    for number in 0..<2900 { store.remove(key(number)) }
    #expect(store.memory.placeCount < before / 4)
    let used = (2900..<3000).filter { $0.isMultiple(of: 5) }
    for number in used { #expect(!store.lookup(key(number)).isEmpty) }
    for number in 2900..<3000 {
      let found = store.residentEntries(for: key(number)).entries
      #expect(found.count == (number.isMultiple(of: 3) ? 2 : 1))
      #expect(found.allSatisfy { holds($0, number: $0.variant == one ? number : number + 1, size: 10) })
    }
    // Looking at all in order made that the order of use; the oldest go first.
    let bytes = store.usage.memoryBytes
    store.setCapacity(memory: bytes / 2)
    let left = (2900..<3000).filter { !store.lookup(key($0)).isEmpty }
    // Nearly: of a hundred or more, what goes is among the oldest.
    #expect(left.count >= 3000 - left[0] - 5)
    #expect(left.count < 60 && left.count > 40)
  }

  @Test("Entries survive random growth and shrinkage", arguments: 0..<3 as Range<UInt64>)
  func randomly(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let store = try store(shards: 2, capacity: 64 << 20)
    var model: [Int: Int] = [:]
    for phase in 0..<6 {
      for _ in 0..<1500 {
        let number = Int.random(in: 0..<2000, using: &random)
        // Even phases grow, odd ones shrink.
        if Int.random(in: 0..<10, using: &random) < (phase.isMultiple(of: 2) ? 9 : 1) {
          let content = Int.random(in: 0..<100, using: &random)
          store.insert(entry(key(number), number: content, size: 10))
          model[number] = content
        } else {
          store.remove(key(number))
          model[number] = nil
        }
      }
      for number in 0..<2000 {
        let found = store.lookup(key(number)).first
        #expect(found.map { holds($0, number: model[number] ?? -1, size: 10) } ?? (model[number] == nil))
      }
      #expect(store.usage.memoryEntries == model.count)
    }
  }
}
