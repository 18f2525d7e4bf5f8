// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import HTTPCacheStore

@Suite("Clearing memory", .timeLimit(.minutes(10)))
struct ClearMemoryTests {
  let scratch = ScratchDirectory()

  @Test("Clearing memory frees it, and keeps the disk", arguments: EvictionPolicy.allCases)
  func keepsDisk(eviction: EvictionPolicy) throws {
    var configuration = scratch.configuration(memory: 4 << 20)
    configuration.eviction = eviction
    configuration.writeBuffer = 1 << 20
    let store = try CacheStore(configuration)
    for number in 0..<100 { store.insert(entry(key(number), number: number, size: 3000)) }
    store.insert(entry(key(200), number: 200, tiers: .memory))
    // The bytes written would grow between the two readings.
    store.flush()
    let before = store.statistics
    store.clearMemory()
    #expect(store.usage.memoryEntries == 0 && store.usage.memoryBytes == 0)
    #expect(store.usage.diskEntries == 100 && store.capacity.memory == 4 << 20)
    #expect(store.statistics == before)
    #expect(store.lookup(key(200)).isEmpty)
    for tier in [StoredEntry.Tier.disk, .memory] {
      for number in 0..<100 {
        let found = try #require(store.lookup(key(number)).first)
        #expect(found.tier == tier && holds(found, number: number, size: 3000))
      }
    }
  }

  @Test("Clearing memory keeps updates, and removed entries stay removed")
  func keepsChanges() throws {
    let store = try CacheStore(scratch.configuration(memory: 4 << 20))
    for number in 0..<2 { store.insert(entry(key(number), number: number)) }
    let first = try #require(store.lookup(key(0)).first)
    store.updateMetadata(of: first.id, key: key(0), metadata: [7], storedAt: 2000)
    store.remove(key(1))
    store.clearMemory()
    #expect(store.lookup(key(0)).first.map { [$0.metadata == [7], $0.tier == .disk] } == [true, true])
    #expect(store.lookup(key(1)).isEmpty)
  }

  @Test("An entry that is written while memory is cleared is stored", arguments: [true, false])
  func inFlight(hasDisk: Bool) throws {
    let store = try CacheStore(
      hasDisk ? scratch.configuration(memory: 4 << 20) : .init(memoryCapacity: 4 << 20))
    let token = store.removalToken(for: key(1))
    let writer = store.makeWriter(key: key(0), variant: one, metadata: [], storedAt: 0)
    writer.append([1, 2])
    store.clearMemory()
    #expect(writer.commit().id != nil)
    #expect(store.insert(entry(key(1), number: 1), unlessRemovedSince: token).id != nil)
    for number in 0..<2 { #expect(store.lookup(key(number)).first?.tier == .memory) }
  }
}
