// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import TestSupport
import Testing

@testable import HTTPCacheStore

/// What a store should be: a list of entries, most recently used first, cut at a capacity.
private struct Model {
  struct Item {
    var key: Int
    var variant: UInt64
    var number: Int
    var size: Int
    var id: EntryID
    var storedAt: Int64
    var cost: Int
  }

  var items: [Item] = []
  let capacity: Int

  mutating func use(_ key: Int) -> [Item] {
    // Variants are used in the order of their ids, the newest first, so the oldest ends up in front.
    let used = items.filter { $0.key == key }.sorted { $0.id > $1.id }
    items.removeAll { $0.key == key }
    items.insert(contentsOf: used.reversed(), at: 0)
    return used
  }

  mutating func insert(_ item: Item) {
    items.removeAll { $0.key == item.key && $0.variant == item.variant }
    while items.reduce(item.cost, { $0 + $1.cost }) > capacity { items.removeLast() }
    items.insert(item, at: 0)
  }
}

/// What memory charges for an entry under LRU.
private func cost(of new: NewEntry, _ id: EntryID) -> Int {
  EntryBlock.of(new, id: id.rawValue).cost
}

@Suite("Comparison with a model", .timeLimit(.minutes(10)))
struct ModelTests {
  @Test("Memory with one shard holds exactly what an LRU model holds", arguments: 0..<4 as Range<UInt64>)
  func exactLRU(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let capacity = 20_000
    var configuration = CacheStore.Configuration(memoryCapacity: capacity)
    configuration.shardCount = 1
    configuration.eviction = .lru
    let store = try CacheStore(configuration)
    var model = Model(capacity: capacity)
    for step in 0..<3000 {
      let number = Int.random(in: 0..<40, using: &random)
      let variant = VariantID(rawValue: UInt64.random(in: 0..<3, using: &random))
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<45:
        let expected = model.use(number)
        let found = store.lookup(key(number))
        try #require(found.map(\.id) == expected.map(\.id), "step \(step)")
        for (entry, item) in zip(found, expected) {
          #expect(holds(entry, number: item.number, size: item.size))
        }
      case 45..<90:
        let size = Int.random(in: 0..<4000, using: &random)
        let new = entry(key(number), variant, number: step, size: size, storedAt: Int64(step))
        let id = try #require(store.insert(new).id)
        let cost = cost(of: new, id)
        model.insert(
          .init(
            key: number, variant: variant.rawValue, number: step, size: size, id: id, storedAt: Int64(step),
            cost: cost))
      case 90..<94:
        store.remove(key(number))
        model.items.removeAll { $0.key == number }
      case 94..<98:
        store.remove(key(number), variant: variant)
        model.items.removeAll { $0.key == number && $0.variant == variant.rawValue }
      case 98:
        store.removeAll(since: Int64(step) - 30)
        model.items.removeAll { $0.storedAt >= Int64(step) - 30 }
      default:
        if Int.random(in: 0..<4, using: &random) == 0 {
          store.removeAll()
          model.items = []
        }
      }
      #expect(store.usage.memoryBytes == model.items.reduce(0) { $0 + $1.cost })
      #expect(store.usage.memoryEntries == model.items.count)
    }
    #expect(store.statistics.memoryEvictions > 100)
  }

  enum Setting: CaseIterable {
    case room
    case tight
    /// S3-FIFO, and only what comes a second time is written to disk.
    case choosy
  }

  /// With room for everything nothing may be missing; without, nothing may be wrong.
  @Test(
    "Both tiers match a model through random operations and reopening",
    arguments: 0..<usually(2, long: 8) as Range<UInt64>,
    Setting.allCases)
  func reopening(seed: UInt64, setting: Setting) throws {
    let hasRoom = setting == .room
    var random = SplitMix64(seed: seed &+ 1000)
    let scratch = ScratchDirectory()
    func open() throws -> CacheStore {
      var configuration = scratch.configuration(
        memory: setting == .tight ? 10_000 : 100_000, disk: hasRoom ? 16 << 20 : 1 << 20)
      if setting == .choosy {
        configuration.eviction = .s3fifo
        configuration.diskAdmission = .secondTime
      }
      configuration.largeBodyThreshold = 5000
      configuration.shardCount = 4
      return try CacheStore(configuration)
    }
    var store = try open()
    var model = Model(capacity: .max)
    var rejections = 0
    for step in 0..<usually(800, long: 1500) {
      let number = Int.random(in: 0..<30, using: &random)
      let variant = VariantID(rawValue: UInt64.random(in: 0..<3, using: &random))
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<40:
        let expected = model.use(number)
        let found = store.lookup(key(number))
        if hasRoom { try #require(found.map(\.id) == expected.map(\.id), "step \(step)") }
        for entry in found {
          let item = try #require(expected.first { $0.id == entry.id }, "step \(step): entry came back")
          #expect(holds(entry, number: item.number, size: item.size), "step \(step)")
          #expect(entry.storedAt == item.storedAt)
        }
      case 40..<45:
        let resident = store.residentEntries(for: key(number))
        if resident.isComplete, hasRoom {
          #expect(resident.entries.map(\.id) == model.use(number).map(\.id), "step \(step)")
        }
      case 45..<75:
        let size =
          Int.random(in: 0..<10, using: &random) == 0 ? 20_000 : Int.random(in: 0..<3000, using: &random)
        let tiers: StoreTiers = Bool.random(using: &random) ? .all : .disk
        let new = entry(
          key(number), variant, number: step, size: size, storedAt: Int64(step) * 1000, tiers: tiers)
        let id = try #require(store.insert(new).id)
        model.insert(
          .init(
            key: number, variant: variant.rawValue, number: step, size: size, id: id,
            storedAt: Int64(step) * 1000, cost: 0))
      case 75..<85:
        guard let index = model.items.indices.randomElement(using: &random) else { continue }
        let item = model.items[index]
        let isThere = store.updateMetadata(
          of: item.id, key: key(item.key), metadata: Array("head \(item.number)".utf8),
          storedAt: Int64(step) * 1000)
        if hasRoom { #expect(isThere) }
        if isThere { model.items[index].storedAt = Int64(step) * 1000 } else { model.items.remove(at: index) }
      case 85:
        let rest = number % 7
        let isMeant = { @Sendable (found: StoreKey) in
          (0..<30).contains { $0 % 7 == rest && key($0) == found }
        }
        let removes = Bool.random(using: &random)
        let count = store.sweep(covering(isMeant)) {
          removes ? .remove : .update(metadata: $0.metadata)
        }
        let meant = model.items.count { $0.key % 7 == rest }
        if hasRoom { #expect(count == meant, "step \(step)") } else { #expect(count <= meant) }
        if removes { model.items.removeAll { $0.key % 7 == rest } }
      case 86..<89:
        let count = store.remove(key(number))
        let meant = model.items.count { $0.key == number }
        if hasRoom { #expect(count == meant, "step \(step)") } else { #expect(count <= meant) }
        model.items.removeAll { $0.key == number }
      case 89..<93:
        store.remove(key(number), variant: variant)
        model.items.removeAll { $0.key == number && $0.variant == variant.rawValue }
      case 93:
        store.removeAll(since: (Int64(step) - 20) * 1000)
        model.items.removeAll { $0.storedAt >= (Int64(step) - 20) * 1000 }
      case 94..<99:
        rejections += store.statistics.diskRejections
        store.close()
        store = try open()
        guard setting == .choosy else { continue }
        // What was in memory only is gone, and its id may be given again.
        model.items.removeAll { item in
          !store.lookup(key(item.key)).contains { $0.id == item.id && $0.variant.rawValue == item.variant }
        }
      default:
        if Int.random(in: 0..<4, using: &random) == 0 {
          let count = store.removeAll()
          if hasRoom { #expect(count == model.items.count) } else { #expect(count <= model.items.count) }
          model.items = []
        }
      }
      let usage = store.usage
      #expect(usage.memoryBytes <= store.capacity.memory && usage.diskBytes <= store.capacity.disk)
      #expect(store.hasRightSums, "step \(step)")
    }
    #expect(store.statistics.corruptRecords == 0 && store.statistics.ioErrors == 0)
    #expect((rejections > 0) == (setting == .choosy))
    #expect(try scratch.totalBytes <= store.usage.diskBytes)
  }
}
