// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite(
  "Edited entries and size limits", .timeLimit(.minutes(10)))
struct EditingTests {
  let scratch = ScratchDirectory()

  @Test(
    "An entry taken from its writer can be edited and inserted, and the writer stores nothing",
    arguments: [100, 1 << 20])
  func taken(size: Int) throws {
    let store = try CacheStore(scratch.configuration(memory: 8 << 20, disk: 16 << 20))
    let writer = store.makeWriter(
      key: key(1), variant: one, metadata: [1], storedAt: 5, scopes: [], isEditable: true)
    #expect(writer.append(pattern(1, size)))
    var (entry, token) = try #require(writer.takeEntry())
    #expect(entry.body == pattern(1, size))
    #expect(writer.takeEntry() == nil)
    #expect(writer.commit().refusal?.reason == .cancelled)
    #expect(store.lookup(key(1)).isEmpty)
    entry.body = pattern(2, size + 1)
    entry.tiers = .memory
    #expect(store.insert(entry, unlessRemovedSince: token).id != nil)
    #expect(store.usage.diskEntries == 0)
    #expect(try store.lookup(key(1)).first?.body.readAll().elementsEqual(pattern(2, size + 1)) == true)
    store.remove(key(1))
    #expect(store.insert(entry, unlessRemovedSince: token).refusal?.reason == .removedSince)
  }

  @Test("An entry in a file, or one that is too large, cannot be taken")
  func notTaken() throws {
    let store = try CacheStore(scratch.configuration(memory: 8 << 20, disk: 16 << 20))
    let streamed = store.makeWriter(key: key(1), variant: one, metadata: [], storedAt: 0)
    #expect(streamed.append(pattern(1, 1 << 20)))
    #expect(streamed.takeEntry() == nil)
    #expect(streamed.commit().id != nil)
    let large = store.makeWriter(
      key: key(2), variant: one, metadata: [], storedAt: 0, scopes: [], isEditable: true)
    #expect(!large.append(pattern(1, 20 << 20)))
    #expect(large.takeEntry() == nil)
    #expect(large.commit().refusal?.reason == .tooLargeForDisk)
  }

  @Test(
    "No entry exceeds its share of the disk, and the share follows the capacity")
  func share() throws {
    var configuration = scratch.configuration(memory: 8 << 20, disk: 10 << 20)
    configuration.maximumEntryShare = 0.05
    let store = try CacheStore(configuration)
    for tiers in [StoreTiers.all, .memory, .disk] {
      #expect(store.insert(entry(key(1), size: 500_000, tiers: tiers)).id != nil)
      #expect(store.insert(entry(key(1), size: 600_000, tiers: tiers)).refusal?.reason == .tooLarge)
    }
    store.setCapacity(disk: 20 << 20)
    #expect(store.insert(entry(key(1), size: 600_000)).id != nil)
    store.setCapacity(disk: 0)
    #expect(store.insert(entry(key(1), size: 4_000_000)).id != nil)
  }

  @Test("The maximum share does not apply without a disk")
  func shareInMemory() throws {
    var configuration = CacheStore.Configuration(memoryCapacity: 8 << 20)
    configuration.maximumEntryShare = 0
    #expect(try CacheStore(configuration).insert(entry(key(1), size: 1000)).id != nil)
    for share in [-0.1, 1.1, .nan] {
      configuration.maximumEntryShare = share
      #expect(throws: StoreError.self) { try CacheStore(configuration) }
    }
  }

  @Test(
    "A disk of capacity 0 is empty, leaves memory alone, and can be enabled again"
  )
  func noDisk() throws {
    let store = try CacheStore(scratch.configuration(memory: 8 << 20, disk: 16 << 20))
    for number in 0..<50 { store.insert(entry(key(number), number: number, size: 1000)) }
    store.setCapacity(disk: 0)
    #expect(store.capacity.disk == 0 && store.usage.diskEntries == 0)
    #expect(store.insert(entry(key(90), size: 1000, tiers: .disk)).refusal?.reason == .noTier)
    let writer = store.makeWriter(key: key(91), variant: one, metadata: [], storedAt: 0)
    #expect(writer.append(pattern(1, 1 << 20)))
    #expect(writer.commit().id != nil)
    #expect(store.usage.diskEntries == 0)
    for number in Array(0..<50) + [91] { #expect(store.lookup(key(number)).count == 1) }
    store.setCapacity(disk: 16 << 20)
    #expect(store.capacity.disk == 16 << 20)
    store.insert(entry(key(92), number: 92, size: 1000))
    store.setCapacity(memory: 0)
    #expect(store.lookup(key(92)).count == 1)
    for number in Array(0..<50) + [91] { #expect(store.lookup(key(number)).isEmpty) }
  }
}
