// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Basic operations of a store", .timeLimit(.minutes(10)))
struct CacheStoreTests {
  /// The places that every behaviour must hold in.
  enum Place: CaseIterable, Sendable {
    case memory, disk, both

    func store(_ scratch: ScratchDirectory, change: (inout CacheStore.Configuration) -> Void = { _ in })
      throws
      -> CacheStore
    {
      var configuration =
        switch self {
        case .memory: CacheStore.Configuration(memoryCapacity: 1 << 20)
        case .disk: scratch.configuration()
        case .both: scratch.configuration(memory: 1 << 20)
        }
      change(&configuration)
      return try CacheStore(configuration)
    }
  }

  let scratch = ScratchDirectory()

  @Test("A lookup returns the inserted entry unchanged", arguments: Place.allCases)
  func insertThenLookup(place: Place) throws {
    let store = try place.store(scratch)
    let outcome = store.insert(entry(key(1), number: 7, size: 5000, storedAt: 42))
    let found = store.lookup(key(1))
    #expect(found.count == 1)
    let first = try #require(found.first)
    #expect(holds(first, number: 7, size: 5000))
    #expect(first.id == outcome.id)
    #expect(first.variant == one)
    #expect(first.storedAt == 42)
    #expect(first.tier == (place == .disk ? .disk : .memory))
    #expect(store.lookup(key(2)).isEmpty)
    #expect(store.statistics.misses == 1)
  }

  @Test("Empty keys, metadata and bodies are stored", arguments: Place.allCases)
  func emptyParts(place: Place) throws {
    let store = try place.store(scratch)
    store.insert(NewEntry(key: StoreKey([]), variant: one, metadata: [], body: [], storedAt: -5))
    let found = try #require(store.lookup(StoreKey([])).first)
    #expect(found.metadata.isEmpty && found.body.count == 0 && found.storedAt == -5)
    #expect(try found.body.readAll().isEmpty)
    #expect(try found.body.read(from: 0, upTo: 10).isEmpty)
    store.removeAll(since: -10)
    #expect(store.lookup(StoreKey([])).isEmpty)
  }

  @Test("Variants are stored side by side and returned newest first", arguments: Place.allCases)
  func variants(place: Place) throws {
    let store = try place.store(scratch)
    store.insert(entry(key(1), one, number: 1))
    store.insert(entry(key(1), two, number: 2))
    #expect(store.lookup(key(1)).map(\.variant) == [two, one])
    store.insert(entry(key(1), one, number: 3))
    let found = store.lookup(key(1))
    #expect(found.map(\.variant) == [one, two])
    #expect(holds(found[0], number: 3) && holds(found[1], number: 2))
    store.remove(key(1), variant: one)
    #expect(store.lookup(key(1)).map(\.variant) == [two])
    store.remove(key(1))
    #expect(store.lookup(key(1)).isEmpty)
  }

  @Test("The oldest variant is dropped beyond the maximum", arguments: Place.allCases)
  func variantsPerKey(place: Place) throws {
    let store = try place.store(scratch) { $0.variantsPerKey = 3 }
    for number in 1...5 { store.insert(entry(key(1), VariantID(rawValue: UInt64(number)), number: number)) }
    #expect(store.lookup(key(1)).map(\.variant.rawValue) == [5, 4, 3])
  }

  @Test("Metadata and bodies are lent without a copy", arguments: Place.allCases)
  func lending(place: Place) throws {
    let store = try place.store(scratch)
    // Empty, beside the head, and apart from it.
    for (number, size) in [0, 100, 10_000].enumerated() {
      store.insert(
        NewEntry(
          key: key(number), variant: one, metadata: [7, UInt8(number)], body: pattern(number, size),
          storedAt: 1))
      let found = try #require(store.lookup(key(number)).first)
      var (metadata, body): ([UInt8], [UInt8]) = ([], [1])
      found.withMetadata { bytes in metadata = bytes.withUnsafeBytes { Array($0) } }
      #expect(found.withResidentBody { bytes in body = bytes.withUnsafeBytes { Array($0) } })
      #expect(metadata == [7, UInt8(number)] && body == pattern(number, size))
      body = [1]
      #expect(found.body.isResident)
      #expect(found.body.withResidentBytes { bytes in body = bytes.withUnsafeBytes { Array($0) } })
      #expect(body == pattern(number, size))
      // Not of a copy: the same memory each time.
      var places: Set<UnsafeRawPointer?> = []
      for body in [found.body, found.body] {
        body.withResidentBytes { bytes in
          places.insert(bytes.withUnsafeBytes { $0.isEmpty ? nil : $0.baseAddress })
        }
      }
      found.withResidentBody { bytes in
        places.insert(bytes.withUnsafeBytes { $0.isEmpty ? nil : $0.baseAddress })
      }
      #expect(places.count == 1)
    }
  }

  @Test(
    "A peek returns the entries in memory and counts as neither lookup nor use",
    arguments: EvictionPolicy.allCases)
  func peeking(policy: EvictionPolicy) throws {
    var configuration = CacheStore.Configuration(memoryCapacity: 1000)
    configuration.eviction = policy
    let store = try CacheStore(configuration)
    for number in 1...3 { store.insert(entry(key(number), number: number)) }
    try #require(store.usage.memoryEntries == 3)
    let before = store.statistics
    for _ in 0..<5 { #expect(store.peek(key(1)).map(\.metadata) == [Array("head 1".utf8)]) }
    #expect(store.peek(key(9)).isEmpty && store.statistics == before)
    for number in 4...6 { store.insert(entry(key(number), number: number)) }
    #expect(store.statistics.memoryEvictions > 0)
    #expect(store.peek(key(1)).isEmpty)
  }

  @Test("An update replaces the metadata and keeps the body and the id", arguments: Place.allCases)
  func updateMetadata(place: Place) throws {
    let store = try place.store(scratch)
    let id = try #require(store.insert(entry(key(1), number: 1)).id)
    #expect(store.updateMetadata(of: id, key: key(1), metadata: [9, 9], storedAt: 77))
    #expect(store.updateMetadata(of: id, key: key(1), metadata: [8], storedAt: 78))
    let found = try #require(store.lookup(key(1)).first)
    #expect(found.id == id && found.metadata == [8] && found.storedAt == 78)
    #expect(try Array(found.body.readAll()) == pattern(1, 100))
    let gone = EntryID(rawValue: id.rawValue + 1000)
    #expect(!store.updateMetadata(of: gone, key: key(1), metadata: [], storedAt: 0))
    store.remove(key(1))
    #expect(!store.updateMetadata(of: id, key: key(1), metadata: [], storedAt: 0))
    #expect(store.statistics.updates == 2)
  }

  @Test("Entries are removed by time, or all at once", arguments: Place.allCases)
  func removeByTime(place: Place) throws {
    let store = try place.store(scratch)
    for number in 0..<10 { store.insert(entry(key(number), number: number, storedAt: Int64(number) * 1000)) }
    store.removeAll(since: 6000)
    #expect((0..<10).filter { !store.lookup(key($0)).isEmpty } == Array(0..<6))
    store.removeAll()
    #expect((0..<10).allSatisfy { store.lookup(key($0)).isEmpty })
    #expect(store.usage.memoryBytes == 0 && store.usage.memoryEntries == 0 && store.usage.diskEntries == 0)
    store.insert(entry(key(3), number: 3))
    #expect(store.lookup(key(3)).count == 1)
  }

  @Test("An insert begun before a removal is refused", arguments: Place.allCases, 0..<4)
  func removalToken(place: Place, removal: Int) throws {
    let store = try place.store(scratch)
    let token = store.removalToken(for: key(1))
    let writer = store.makeWriter(key: key(1), variant: one, metadata: [], storedAt: 5000)
    writer.append([1, 2, 3])
    switch removal {
    case 0: store.remove(key(1))
    case 1: store.remove(key(1), variant: two)
    case 2: store.removeAll()
    default: store.removeAll(since: 4000)
    }
    #expect(store.insert(entry(key(1)), unlessRemovedSince: token).refusal?.reason == .removedSince)
    #expect(writer.commit().refusal?.reason == .removedSince)
    #expect(store.lookup(key(1)).isEmpty)
    let fresh = store.removalToken(for: key(1))
    #expect(store.insert(entry(key(1)), unlessRemovedSince: fresh).id != nil)
    // Replacement is no removal.
    #expect(store.insert(entry(key(1)), unlessRemovedSince: fresh).id != nil)
  }

  @Test(
    "An entry is visible after its writer's commit, and never if cancelled", arguments: Place.allCases)
  func writer(place: Place) throws {
    let store = try place.store(scratch)
    let writer = store.makeWriter(
      key: key(1), variant: one, metadata: Array("head 4".utf8), storedAt: 1, expectedLength: 3000)
    for start in stride(from: 0, to: 3000, by: 100) { writer.append(pattern(4, 3000)[start..<start + 100]) }
    #expect(store.lookup(key(1)).isEmpty)
    let outcome = writer.commit()
    #expect(outcome.id != nil && writer.commit() == outcome && !writer.append([1]))
    #expect(holds(try #require(store.lookup(key(1)).first), number: 4, size: 3000))

    let cancelled = store.makeWriter(key: key(2), variant: one, metadata: [], storedAt: 1)
    cancelled.append([1])
    cancelled.cancel()
    #expect(cancelled.commit().refusal?.reason == .cancelled)
    let short = store.makeWriter(key: key(2), variant: one, metadata: [], storedAt: 1, expectedLength: 10)
    short.append([1])
    #expect(short.commit().refusal?.reason == .lengthMismatch)
    let long = store.makeWriter(key: key(2), variant: one, metadata: [], storedAt: 1, expectedLength: 1)
    #expect(!long.append([1, 2]))
    #expect(long.commit().refusal?.reason == .lengthMismatch)
    #expect(store.lookup(key(2)).isEmpty)
  }

  @Test("An entry that is too large is refused with a reason", arguments: Place.allCases)
  func tooLarge(place: Place) throws {
    let store = try place.store(scratch) { $0.maximumEntrySize = 10_000 }
    #expect(store.insert(entry(key(1), size: 10_001)).refusal?.reason == .tooLarge)
    #expect(store.insert(entry(key(1), size: 9_000)).id != nil)
    let writer = store.makeWriter(key: key(2), variant: one, metadata: [], storedAt: 0)
    #expect(writer.append(pattern(0, 9000)))
    #expect(!writer.append(pattern(0, 9000)))
    #expect(writer.commit().refusal?.reason == .tooLarge)
    #expect(store.statistics.refusals == 2)
  }

  @Test("A closed store finds and stores nothing", arguments: Place.allCases)
  func closed(place: Place) throws {
    let store = try place.store(scratch)
    store.insert(entry(key(1), number: 1))
    let held = try #require(store.lookup(key(1)).first)
    let writer = store.makeWriter(key: key(2), variant: one, metadata: [], storedAt: 0)
    store.close()
    store.close()
    #expect(store.lookup(key(1)).isEmpty && store.residentEntries(for: key(1)).entries.isEmpty)
    #expect(store.insert(entry(key(1))).refusal?.reason == .closed)
    #expect(writer.commit().refusal?.reason == .closed)
    #expect(!store.updateMetadata(of: held.id, key: key(1), metadata: [], storedAt: 0))
    store.remove(key(1))
    store.removeAll()
    store.flush()
    #expect(holds(held, number: 1))
  }

  @Test("A lookup finds only its own key when all hashes are equal", arguments: Place.allCases)
  func collisions(place: Place) throws {
    var configuration = scratch.configuration(memory: place == .disk ? 0 : 1 << 20)
    if place == .memory { configuration.directory = nil }
    let store = try CacheStore(configuration, files: POSIXFileSystem(), hashMask: 0)
    for number in 0..<50 { store.insert(entry(key(number), number: number)) }
    for number in 0..<50 {
      for found in store.lookup(key(number)) { #expect(holds(found, number: number)) }
    }
    if place != .disk { #expect((0..<50).allSatisfy { store.lookup(key($0)).count == 1 }) }
    #expect(store.lookup(key(49)).count == 1)
    store.remove(key(49))
    #expect(store.lookup(key(49)).isEmpty)
  }

  @Test("The same bytes have the same fingerprint")
  func fingerprints() throws {
    let store = try CacheStore(.init(memoryCapacity: 1000))
    #expect(store.fingerprint(of: [1, 2]) == store.fingerprint(of: [1, 2]))
    #expect(store.fingerprint(of: [1, 2]) != store.fingerprint(of: [2, 1]))
  }

  @Test(
    "The error for an invalid configuration says what to give",
    arguments: [
      { $0.memoryCapacity = -1 }, { $0.shardCount = 3 }, { $0.variantsPerKey = 0 }, { $0.diskCapacity = 5 },
      { $0.segmentSize = 100 },
    ] as [@Sendable (inout CacheStore.Configuration) -> Void])
  func configuration(change: @Sendable (inout CacheStore.Configuration) -> Void) {
    var configuration = scratch.configuration()
    change(&configuration)
    #expect {
      try CacheStore(configuration)
    } throws: { error in
      guard case .invalidConfiguration(let what) = (error as? StoreError)?.kind else { return false }
      return what.contains(": expected ") && what.contains("found ")
    }
  }
}
