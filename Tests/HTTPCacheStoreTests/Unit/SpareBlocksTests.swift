// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Spare blocks", .timeLimit(.minutes(10)))
struct SpareBlocksTests {
  private let spares = SpareBlocks(capacity: 64 << 20)

  private func block(bodyCount: Int) -> EntryBlock { .of(entry(key(1), size: bodyCount), id: 1) }

  private func size(_ block: EntryBlock) -> Int { block.withHead { EntryBlock.blockSize(of: $0) } }

  @Test("The block of an entry that is no longer used becomes the next entry of its size")
  func reused() {
    var first: EntryBlock? = block(bodyCount: 2000)
    let place = first.map { ObjectIdentifier($0.object) }
    let bytes = first.map(size) ?? 0
    first.map { spares.give(EntryReference($0)) }
    // `first` still uses it: nothing was kept.
    #expect(spares.bytes == 0)
    let reference = first.map { EntryReference($0) }
    first = nil
    reference.map { spares.give($0) }
    #expect(spares.bytes == bytes)
    #expect(spares.take(bytes + 16) == nil && spares.take(bytes - 16) == nil)
    let second = EntryBlock.of(entry(key(2), number: 7, size: 2000), id: 2, spares: spares)
    #expect(ObjectIdentifier(second.object) == place)
    #expect(holds(StoredEntry(second, tier: .memory), number: 7, size: 2000))
    #expect(spares.bytes == 0)
  }

  // The address sanitizer sees a write past the end.
  @Test("A block has room for the largest entry of its size", arguments: 0..<16)
  func room(extra: Int) {
    let small = EntryReference(block(bodyCount: 2000 + extra))
    let bytes = EntryBlock.blockSize(of: small.head)
    spares.give(small)
    #expect(spares.bytes == bytes)
    var largest = 2000 + extra
    while size(block(bodyCount: largest + 1)) == bytes { largest += 1 }
    let second = EntryBlock.of(entry(key(1), number: 3, size: largest), id: 1, spares: spares)
    #expect(spares.bytes == 0 && holds(StoredEntry(second, tier: .memory), number: 3, size: largest))
  }

  @Test("Small entries, and entries with a body apart, are freed", arguments: [0, 100, 900, 5000, 100_000])
  func freed(bodyCount: Int) {
    spares.give(EntryReference(block(bodyCount: bodyCount)))
    #expect(spares.bytes == 0)
  }

  @Test(
    "Spare blocks have at most 1/64 of the capacity, and none after a removal of everything or below 2 MiB")
  func bounded() throws {
    for size in 0..<4096 { spares.give(EntryReference(block(bodyCount: size))) }
    #expect(spares.bytes > 50_000 && spares.bytes <= 1 << 20)
    spares.setCapacity(8 << 20)
    #expect(spares.bytes == 0)
    for size in 0..<4096 { spares.give(EntryReference(block(bodyCount: size))) }
    #expect(spares.bytes > 0 && spares.bytes <= 1 << 17)
    spares.removeAll()
    #expect(spares.bytes == 0)
    let few = SpareBlocks(capacity: (2 << 20) - 1)
    for size in 0..<4096 { few.give(EntryReference(block(bodyCount: size))) }
    #expect(few.bytes == 0)
  }

  @Test(
    "An insert that evicts allocates nothing: it takes a victim's block", arguments: EvictionPolicy.allCases)
  func victims(policy: EvictionPolicy) throws {
    var configuration = CacheStore.Configuration(memoryCapacity: 4 << 20)
    configuration.eviction = policy
    let store = try CacheStore(configuration)
    func blocks() -> Set<ObjectIdentifier> {
      Set(
        (0..<store.memory.shardCount).flatMap { store.memory.entries(inShard: $0) }
          .map { ObjectIdentifier($0.block.object) })
    }
    for number in 0..<5000 { store.insert(entry(key(10_000 + number), size: 2000)) }
    let before = blocks()
    for number in 0..<5000 { store.insert(entry(key(20_000 + number), size: 2000)) }
    // The first comes before any eviction of its own.
    #expect(blocks().subtracting(before).count <= 1)
  }

  @Test(
    "Entries in use keep their bytes while the store reuses blocks, in several threads",
    arguments: EvictionPolicy.allCases)
  func inUse(policy: EvictionPolicy) async throws {
    var configuration = CacheStore.Configuration(memoryCapacity: 4 << 20)
    configuration.eviction = policy
    configuration.shardCount = 2
    let store = try CacheStore(configuration)
    await withTaskGroup(of: Int.self) { group in
      for thread in 0..<4 {
        group.addTask {
          var random = SplitMix64(seed: UInt64(thread))
          var used: [(entry: StoredEntry, number: Int, size: Int)] = []
          var wrong = 0
          for _ in 0..<usually(6000, long: 10_000) {
            let number = Int.random(in: 0..<8000, using: &random)
            // Four sizes, so that most blocks find another entry.
            let size = 1200 + number % 4 * 600
            store.insert(entry(key(number), number: number, size: size))
            let other = Int.random(in: 0..<8000, using: &random)
            if let found = store.residentEntries(for: key(other)).entries.first {
              used.append((found, other, 1200 + other % 4 * 600))
            }
            if used.count > 500 {
              let old = used.remove(at: Int.random(in: 0..<500, using: &random))
              if !holds(old.entry, number: old.number, size: old.size) { wrong += 1 }
            }
          }
          return wrong + used.count { !holds($0.entry, number: $0.number, size: $0.size) }
        }
      }
      for await wrong in group { #expect(wrong == 0) }
    }
    #expect(store.memory.evictions > 10_000)
    #expect(store.usage.memoryBytes <= 4 << 20)
    #expect(store.memory.spares.bytes > 0)
    store.removeAll()
    #expect(store.memory.spares.bytes == 0 && store.usage.memoryBytes == 0)
  }
}
