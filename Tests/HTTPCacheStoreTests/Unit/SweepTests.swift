// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Sweeps", .timeLimit(.minutes(10)))
struct SweepTests {
  let scratch = ScratchDirectory()

  /// Where a store keeps what is swept.
  enum Place: CaseIterable {
    case memory, disk, both
    /// On disk, in the buffer on its way there.
    case buffer
  }

  private func open(_ place: Place) throws -> CacheStore {
    if place == .memory { return try CacheStore(.init(memoryCapacity: 1 << 20)) }
    var configuration = scratch.configuration(memory: place == .disk ? 0 : 1 << 20)
    configuration.largeBodyThreshold = 10_000
    configuration.sync = .removals
    if place == .buffer { configuration.writeBuffer = 1 << 20 }
    return try CacheStore(configuration)
  }

  private static func isEven(_ key: StoreKey) -> Bool {
    key.description.last?.wholeNumberValue?.isMultiple(of: 2) ?? false
  }

  private static let evenKeys = covering(isEven)

  /// Twenty entries, two variants of key 4, and a large body under key 6.
  private func fill(_ store: CacheStore) {
    for number in 0..<20 {
      store.insert(entry(key(number), number: number, size: number == 6 ? 20_000 : 100))
    }
    store.insert(entry(key(4), two, number: 40))
  }

  @Test("A sweep removes the matching entries from every tier for good", arguments: Place.allCases)
  func removes(place: Place) throws {
    let store = try open(place)
    fill(store)
    var seen: Set<EntryID> = []
    let count = store.sweep(Self.evenKeys) { entry in
      #expect(Self.isEven(entry.key))
      seen.insert(entry.id)
      #expect(Array(entry.metadata).starts(with: "head ".utf8) && entry.storedAt == 1000)
      return entry.key == key(2) ? .keep : .remove
    }
    #expect(count == 10 && seen.count == 11)
    func check(_ store: CacheStore) {
      for number in 0..<20 {
        #expect(store.lookup(key(number)).isEmpty == (number % 2 == 0 && number != 2), "\(number)")
      }
      #expect(store.hasRightSums)
    }
    check(store)
    guard place != .memory else { return }
    #expect(try scratch.names.allSatisfy { !$0.hasPrefix("body-") })
    // Killed, and then closed.
    check(try CacheStore(try scratch.copy().configuration()))
    store.close()
    check(try open(place))
  }

  @Test("A sweep updates the matching entries in every tier for good", arguments: Place.allCases)
  func updates(place: Place) throws {
    let store = try open(place)
    fill(store)
    let before = Dictionary(uniqueKeysWithValues: (0..<20).map { ($0, store.lookup(key($0)).map(\.id)) })
    #expect(store.sweep(Self.evenKeys) { .update(metadata: $0.metadata + "!".utf8) } == 11)
    func check(_ store: CacheStore) throws {
      for number in 0..<20 {
        let found = store.lookup(key(number))
        #expect(found.map(\.id) == before[number])
        for entry in found {
          #expect((entry.metadata.last == UInt8(ascii: "!")) == (number % 2 == 0))
          let size = number == 6 ? 20_000 : 100
          let content = entry.variant == two ? 40 : number
          #expect(try Array(entry.body.readAll()) == pattern(content, size))
          #expect(entry.storedAt == 1000)
        }
      }
      #expect(store.hasRightSums)
    }
    try check(store)
    guard place != .memory else { return }
    try check(try CacheStore(try scratch.copy().configuration()))
    store.close()
    try check(try open(place))
  }

  @Test(
    "A sweep in memory reads the keys where they are, each once, and nothing else of what it does not cover")
  func keysOnly() throws {
    let store = try open(.memory)
    fill(store)
    let places = (0..<20).flatMap { store.peek(key($0)) }.map { entry in
      entry.block.withHead { UInt(bitPattern: $0.key.baseAddress) }
    }
    let read = Mutex<[UInt]>([])
    var decisions = 0
    let count = store.sweep { key, _ in
      read.withLock { $0.append(UInt(bitPattern: key?.baseAddress)) }
      return key?.elementsEqual("https://example.com/7".utf8) ?? false
    } _: { _ in
      decisions += 1
      return .remove
    }
    #expect(count == decisions && read.withLock { $0.sorted() } == places.sorted())
  }

  @Test("A sweep without a match changes nothing", arguments: Place.allCases)
  func nothingToDo(place: Place) throws {
    let store = try open(place)
    fill(store)
    #expect(store.sweep(Self.evenKeys) { _ in .keep } == 0)
    #expect(store.sweep({ _, _ in false }) { _ in .remove } == 0)
    #expect(store.sweep(Self.evenKeys, in: [key(100)]) { _ in .remove } == 0)
    guard place != .memory else { return }
    store.flush()
    for current in [try CacheStore(try scratch.copy().configuration()), try reopened(store, place)] {
      for number in 0..<20 { #expect(!current.lookup(key(number)).isEmpty) }
    }
  }

  private func reopened(_ store: CacheStore, _ place: Place) throws -> CacheStore {
    store.close()
    return try open(place)
  }

  @Test(
    "A sweep refuses inserts that began before it in its extent, and no others", arguments: Place.allCases)
  func underway(place: Place) throws {
    let store = try open(place)
    let scope = StoreScope("scope")
    let id = try #require(store.insert(entry(key(3), number: 3)).id)
    let before = [2, 3, 5].map { store.removalToken(for: key($0)) }
    store.sweep(Self.evenKeys) { _ in .remove }
    #expect(store.mayBeRemoved(key(2), since: before[0]) && !store.mayBeRemoved(key(3), since: before[1]))
    #expect(store.insert(entry(key(2)), unlessRemovedSince: before[0]).refusal?.reason == .removedSince)
    #expect(store.insert(entry(key(5)), unlessRemovedSince: before[2]).id != nil)
    let after = store.removalToken(for: key(2))
    #expect(!store.mayBeRemoved(key(2), since: after))
    #expect(store.insert(entry(key(2)), unlessRemovedSince: after).id != nil)

    #expect(!store.mayBeMarked([scope], since: after))
    store.sweep({ $1?.contains(scope) ?? true }) { $0.id == id ? .update(metadata: [7]) : .keep }
    #expect(
      store.mayBeMarked([scope], since: after) && !store.mayBeMarked([StoreScope("other")], since: after))
    var inScope = entry(key(8))
    inScope.scopes = [scope]
    #expect(store.insert(inScope, unlessRemovedSince: after).refusal?.reason == .removedSince)
    #expect(store.insert(entry(key(8)), unlessRemovedSince: after).id != nil)
    // A validation that was under way does not undo it.
    #expect(
      !store.updateMetadata(
        of: id, key: key(3), metadata: [1], storedAt: 0, in: [scope], unlessSweptSince: after))
    #expect(store.lookup(key(3)).first?.metadata == [7])
    let now = store.removalToken(for: key(3))
    #expect(
      store.updateMetadata(
        of: id, key: key(3), metadata: [1], storedAt: 0, in: [scope], unlessSweptSince: now))
    #expect(store.lookup(key(3)).first?.metadata == [1])
  }

  @Test("Beyond the limit of recorded sweeps, every older token counts as swept")
  func manyFences() throws {
    let store = try open(.memory)
    let old = store.removalToken(for: key(1))
    for number in 0..<Invalidations.mostFences {
      store.sweep(covering { $0 == key(100 + number) }, in: []) { _ in .remove }
    }
    #expect(!store.mayBeRemoved(key(1), since: old))
    let later = store.removalToken(for: key(1))
    store.sweep(covering { $0 == key(99) }, in: []) { _ in .remove }
    #expect(store.mayBeRemoved(key(1), since: old) && !store.mayBeRemoved(key(1), since: later))
  }

  @Test("A sweep of known keys looks only at those keys", arguments: Place.allCases)
  func knownKeys(place: Place) throws {
    let store = try open(place)
    fill(store)
    #expect(store.sweep(Self.evenKeys, in: [key(4), key(5), key(50)]) { _ in .remove } == 2)
    #expect(store.lookup(key(4)).isEmpty && !store.lookup(key(5)).isEmpty && !store.lookup(key(6)).isEmpty)
  }

  @Test(
    "A sweep removes unreadable entries, including those found unreadable before", arguments: [true, false])
  func unreadable(wasRead: Bool) throws {
    let store = try CacheStore(scratch.configuration())
    for number in 0..<5 { store.insert(entry(key(number), number: number)) }
    let name = try #require(try scratch.names.first { $0.hasPrefix("segment-") })
    var bytes = try scratch.bytes(of: name)
    let whole = bytes
    let place = try #require(bytes.firstRange(of: Array(key(3).bytes))?.lowerBound)
    bytes[place] ^= 1
    try scratch.write(bytes, to: name)
    if wasRead { #expect(store.lookup(key(3)).isEmpty) }
    // The disk reads right again; meanwhile all that the log has more is kept.
    func repair() throws {
      var now = try scratch.bytes(of: name)
      now.replaceSubrange(..<whole.count, with: whole)
      try scratch.write(now, to: name)
    }
    if wasRead { try repair() }
    store.sweep(Self.evenKeys) { _ in .remove }
    if !wasRead { try repair() }
    #expect(store.lookup(key(3)).isEmpty && !store.lookup(key(1)).isEmpty && store.lookup(key(2)).isEmpty)
    let again = try CacheStore(try scratch.copy().configuration())
    #expect(again.lookup(key(3)).isEmpty && !again.lookup(key(1)).isEmpty && again.lookup(key(2)).isEmpty)
    #expect(store.hasRightSums && again.hasRightSums)
  }

  @Test("A sweep that cannot be written leaves no swept entry unchanged", arguments: [true, false])
  func failingDisk(removes: Bool) throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(scratch.configuration(), files: files)
    fill(store)
    files.set { $0.failing = [.write: 28, .sync: 28] }
    store.sweep(Self.evenKeys) { removes ? .remove : .update(metadata: $0.metadata + "!".utf8) }
    files.set { $0.failing = [:] }
    for current in [store, try CacheStore(try scratch.copy().configuration())] {
      for number in stride(from: 0, to: 20, by: 2) {
        #expect(current.lookup(key(number)).allSatisfy { $0.metadata.last == UInt8(ascii: "!") }, "\(number)")
      }
    }
  }

  @Test("A sweep reaches every entry, in memory or only on disk")
  func everything() throws {
    let store = try CacheStore(scratch.configuration(memory: 100_000))
    for number in 0..<5000 { store.insert(entry(key(number), number: number, size: 10)) }
    var count = 0
    let old = store.removalToken(for: key(0))
    let swept = store.sweep(Self.evenKeys) { entry in
      count += 1
      return .remove
    }
    #expect(swept == count && count <= 2500)
    for number in 0..<5000 {
      #expect(store.lookup(key(number)).isEmpty || number % 2 == 1)
    }
    #expect(store.mayBeRemoved(key(0), since: old))
  }
}
