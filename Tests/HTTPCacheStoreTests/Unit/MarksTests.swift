// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

private func scope(_ number: Int) -> StoreScope { StoreScope("scope \(number)") }

extension CacheStore {
  /// What a lookup finds that is not outdated in a scope.
  fileprivate func current(_ key: StoreKey, in scope: StoreScope) -> [StoredEntry] {
    lookup(key).filter { !isMarked($0.id, in: scope) }
  }
}

@Suite("Scope marks", .timeLimit(.minutes(10)))
struct MarksTests {
  let scratch = ScratchDirectory()

  @Test("A mark outdates older entries in its scope only", arguments: [true, false])
  func outdated(withDisk: Bool) throws {
    var configuration = scratch.configuration(memory: 1 << 20)
    if !withDisk { configuration.directory = nil }
    let store = try CacheStore(configuration)
    for number in 0..<4 { store.insert(entry(key(number), number: number)) }
    let before = try #require(store.lookup(key(0)).first)
    #expect(!store.mayBeMarked(before.id))
    store.mark([scope(0), scope(1)])
    #expect(store.mayBeMarked(before.id))
    #expect(store.current(key(0), in: scope(0)).isEmpty)
    #expect(store.current(key(1), in: scope(1)).isEmpty)
    #expect(store.current(key(2), in: scope(2)).count == 1)
    store.insert(entry(key(0), number: 10))
    let after = try #require(store.current(key(0), in: scope(0)).first)
    #expect(!store.mayBeMarked(after.id))
    store.mark([scope(7)])
    #expect(store.mayBeMarked(after.id) && !store.isMarked(after.id, in: scope(0)))
    store.mark([])
  }

  @Test("A mark outlasts metadata updates and removals of everything")
  func updates() throws {
    let store = try CacheStore(scratch.configuration(memory: 1 << 20))
    let id = try #require(store.insert(entry(key(1))).id)
    store.mark([scope(1)])
    store.updateMetadata(of: id, key: key(1), metadata: [1], storedAt: 9)
    #expect(store.current(key(1), in: scope(1)).isEmpty)
    store.removeAll()
    #expect(store.isMarked(id, in: scope(1)))
    store.insert(entry(key(1)))
    #expect(store.current(key(1), in: scope(1)).count == 1)
  }

  @Test("A mark refuses inserts of its scope that began earlier")
  func underway() throws {
    let store = try CacheStore(scratch.configuration(memory: 1 << 20))
    let token = store.removalToken(for: key(1))
    let writers = [[scope(1)], [scope(2), scope(1)], [scope(2)], []].enumerated().map { number, scopes in
      store.makeWriter(
        key: key(number), variant: one, metadata: [], storedAt: 1, scopes: scopes, unlessRemovedSince: token)
    }
    #expect(!store.mayBeRemoved(key(1), in: [scope(1)], since: token))
    store.mark([scope(1)])
    #expect(store.mayBeRemoved(key(1), in: [scope(1)], since: token))
    #expect(!store.mayBeRemoved(key(1), in: [scope(2)], since: token))
    #expect(writers.map { $0.commit().id != nil } == [false, false, true, true])
    #expect(writers[0].commit().refusal?.reason == .removedSince)
    let later = store.removalToken(for: key(1))
    var new = entry(key(1))
    new.scopes = [scope(1)]
    #expect(store.insert(new, unlessRemovedSince: token).refusal?.reason == .removedSince)
    #expect(store.insert(new, unlessRemovedSince: later).id != nil)
  }

  @Test(
    "Marks are restored after reopening or a kill", arguments: [true, false])
  func reopen(closes: Bool) throws {
    let store = try CacheStore(scratch.configuration(memory: 1 << 20))
    for number in 0..<6 { store.insert(entry(key(number), number: number)) }
    store.mark([scope(0), scope(1)])
    store.mark([scope(2)])
    store.insert(entry(key(2), number: 22))
    let place = closes ? scratch : try scratch.copy()
    if closes { store.close() }
    for _ in 0..<3 {
      let again = try CacheStore(place.configuration(memory: 1 << 20))
      for number in 0..<6 {
        #expect(again.current(key(number), in: scope(number)).isEmpty == (number < 2), "\(number)")
      }
      let token = again.removalToken(for: key(1))
      #expect(!again.mayBeRemoved(key(1), in: [scope(1)], since: token))
      again.close()
    }
  }

  @Test("A mark in an empty store does not affect later entries")
  func emptyLog() throws {
    var store = try CacheStore(scratch.configuration())
    store.mark([scope(1)])
    store.insert(entry(key(1)))
    #expect(store.current(key(1), in: scope(1)).count == 1)
    store.removeAll()
    store.close()
    store = try CacheStore(scratch.configuration())
    store.insert(entry(key(1)))
    #expect(store.current(key(1), in: scope(1)).count == 1)
    store.mark([scope(1)])
    store.close()
    #expect(try CacheStore(scratch.configuration()).current(key(1), in: scope(1)).isEmpty)
  }

  @Test("Marks are dropped at opening when no entry is older")
  func dropped() throws {
    let store = try CacheStore(scratch.configuration())
    store.insert(entry(key(1)))
    store.mark([scope(1), scope(2)])
    store.remove(key(1))
    store.insert(entry(key(2)))
    store.close()
    #expect(try CacheStore(scratch.configuration()).invalidations.marks.isEmpty)
  }

  @Test(
    "Marks outlast the segment in which they were made", arguments: [true, false])
  func reclaiming(reopens: Bool) throws {
    let capacity = 1 << 20
    let store = try CacheStore(scratch.configuration(disk: capacity))
    for number in 0..<10 { store.insert(entry(key(number), number: number, size: 1000)) }
    store.mark([scope(0)])
    for number in 10..<5000 {
      store.insert(entry(key(number), number: number, size: 1000))
      // Looked at now and then, and so carried forward again and again.
      if number % 50 == 0 { #expect(store.lookup(key(0)).count == 1 && store.lookup(key(1)).count == 1) }
      #expect(store.usage.diskBytes <= capacity)
    }
    #expect(store.statistics.diskCarries > 5)
    if reopens { store.close() }
    let again = try CacheStore((reopens ? scratch : scratch.copy()).configuration(disk: capacity))
    #expect(try scratch.totalBytes <= capacity)
    #expect(again.lookup(key(0)).count == 1 && again.current(key(0), in: scope(0)).isEmpty)
    #expect(again.current(key(1), in: scope(1)).count == 1)
  }

  @Test("Marks are repeated in the next segment if the last one was torn", arguments: [0, 50])
  func tornStart(written: Int) throws {
    let store = try CacheStore(scratch.configuration())
    store.insert(entry(key(1)))
    store.mark([scope(1)])
    store.close()
    let torn =
      DiskFormat.segmentHeader(2, floor: 1, hasher: store.hasher) + Array(repeating: 0, count: written)
    try scratch.write(torn, to: DiskFormat.segmentName(2))
    let again = try CacheStore(scratch.configuration())
    again.insert(entry(key(2)))
    again.close()
    #expect(try scratch.bytes(of: DiskFormat.segmentName(3))[44] == RecordHeader.Kind.marks.rawValue)
    #expect(try CacheStore(scratch.configuration()).current(key(1), in: scope(1)).isEmpty)
  }

  /// Marks scopes one by one, and settles the marks when that is worth it.
  private func mark(_ scopes: [StoreScope], in store: CacheStore, members: [EntryID: StoreScope]) {
    for scope in scopes {
      store.mark([scope])
      if store.markPressure > .low { store.settleMarks { entry in members[entry.id].map { [$0] } ?? [] } }
    }
  }

  @Test("Many marks outdate what they name and nothing else, in bounded memory", arguments: [true, false])
  func many(withDisk: Bool) throws {
    let capacity = 64 << 20
    var configuration = scratch.configuration(memory: 16 << 20, disk: capacity)
    if !withDisk { configuration.directory = nil }
    let store = try CacheStore(configuration)
    var members: [EntryID: StoreScope] = [:]
    let step = usually(6, long: 50)
    for number in 0..<2000 {
      members[try #require(store.insert(entry(key(number), number: number)).id)] = scope(step * number)
    }
    // It names every other entry.
    let marked = (0..<2000 * step).filter { $0 % (2 * step) != step }
    mark(marked.map { scope($0) }, in: store, members: members)
    #expect(store.invalidations.markCount <= 4096 && store.invalidations.settledCount == 0)
    func check(_ store: CacheStore) {
      for number in 0..<2000 {
        #expect(store.current(key(number), in: scope(step * number)).isEmpty == (number % 2 == 0))
      }
    }
    check(store)
    // A hit of what is newer than the marks that are left costs no look at its scopes.
    store.settleMarks { entry in members[entry.id].map { [$0] } ?? [] }
    let current = try #require(store.lookup(key(1)).first)
    #expect(store.invalidations.markCount == 0 && !store.mayBeMarked(current.id))
    check(store)
    guard withDisk else { return }
    #expect(store.usage.diskBytes <= capacity)
    store.close()
    let again = try CacheStore(configuration)
    check(again)
    // The last segment may have marks that were settled since: as many as fit in it.
    #expect(again.invalidations.markCount <= 4096 + capacity / 16 / (RecordHeader.size + 16))
  }

  @Test(
    "An opening takes the marks of the last segment's start, and those after it", arguments: [true, false])
  func settledBeforeReopening(closes: Bool) throws {
    let capacity = 1 << 20
    let store = try CacheStore(scratch.configuration(disk: capacity))
    for number in 0..<10 { store.insert(entry(key(number), number: number, size: 1000)) }
    store.mark((0..<5).map { scope($0) })
    store.settleMarks { entry in (0..<10).first { entry.key == key($0) }.map { [scope($0)] } ?? [] }
    store.mark([scope(7)])
    // Enough for another segment.
    for number in 100..<200 { store.insert(entry(key(number), number: number, size: 1000)) }
    store.mark([scope(8)])
    if closes { store.close() }
    let again = try CacheStore((closes ? scratch : scratch.copy()).configuration(disk: capacity))
    #expect(again.invalidations.markCount == 2)
    for number in 0..<10 {
      #expect(
        again.current(key(number), in: scope(number)).isEmpty == (number < 5 || number == 7 || number == 8))
    }
  }

  @Test("What is in flight is refused exactly if a mark names it, also after the mark is settled")
  func settledInFlight() throws {
    let store = try CacheStore(.init(memoryCapacity: 1 << 20))
    func writer(_ number: Int, _ token: RemovalToken) -> EntryWriter {
      store.makeWriter(
        key: key(number), variant: one, metadata: [], storedAt: 1, scopes: [scope(number)],
        unlessRemovedSince: token)
    }
    do {
      let early = writer(1, store.removalToken(for: key(1)))
      let unnamed = writer(2, store.removalToken(for: key(2)))
      mark((10..<20_000).map { scope($0) } + [scope(1)], in: store, members: [:])
      let late = writer(1, store.removalToken(for: key(1)))
      store.settleMarks { _ in [] }
      #expect(store.invalidations.markCount == 0 && store.invalidations.settledCount == 19_991)
      #expect(early.commit().refusal?.reason == .removedSince)
      #expect(unnamed.commit().id != nil && late.commit().id != nil)
    }
    // Nothing in flight needs them any more.
    store.mark([scope(3)])
    #expect(store.invalidations.settledCount == 0)
  }

  @Test(
    "What a lookup found before the end of a pass is outdated if the pass removed it",
    arguments: [true, false])
  func foundBesideAPass(withDisk: Bool) throws {
    var configuration = scratch.configuration(memory: withDisk ? 0 : 1 << 20)
    if !withDisk { configuration.directory = nil }
    let store = try CacheStore(configuration)
    for number in 1...2 { store.insert(entry(key(number), number: number)) }
    store.mark([scope(1)])
    let found = [1, 2].map { number in
      let passes = store.markPasses
      var found = store.lookup(key(number))
      found.markPasses = passes
      return found
    }
    let entries = try found.map { try #require($0.only) }
    for (entry, found) in zip(entries, found) {
      #expect(store.mayBeMarked(entry, in: found) && !store.isSettled(entry, in: found))
    }
    store.settleMarks { entry in [scope(entry.key == key(1) ? 1 : 2)] }
    // The mark is gone, and does not tell them apart any more.
    #expect(!store.isMarked(entries[0].id, in: scope(1)))
    #expect(store.mayBeMarked(entries[0], in: found[0]) && store.isSettled(entries[0], in: found[0]))
    #expect(store.mayBeMarked(entries[1], in: found[1]) && !store.isSettled(entries[1], in: found[1]))
    var again = store.lookup(key(2))
    again.markPasses = store.markPasses
    let current = try #require(again.only)
    #expect(!store.mayBeMarked(current, in: again))
  }

  @Test("A mark is synced before it returns")
  func syncing() throws {
    let files = FaultyFileSystem()
    var configuration = scratch.configuration()
    configuration.sync = .removals
    let store = try CacheStore(configuration, files: files)
    store.insert(entry(key(1)))
    let before = files.plan.withLock { $0.syncs }
    store.mark([scope(1), scope(2), scope(3)])
    #expect(files.plan.withLock { $0.syncs } > before)
  }

  @Test(
    "A mark that cannot be written or synced is not lost",
    arguments: [FaultyFileSystem.Operation.write, .sync])
  func failing(operation: FaultyFileSystem.Operation) throws {
    let files = FaultyFileSystem()
    var configuration = scratch.configuration()
    configuration.sync = .removals
    let store = try CacheStore(configuration, files: files)
    store.insert(entry(key(1)))
    files.set { $0.failing[operation] = EIO }
    store.mark([scope(1)])
    files.set { $0.failing = [:] }
    store.close()
    let again = try CacheStore(configuration)
    #expect(again.current(key(1), in: scope(1)).isEmpty)
  }

  @Test("A flipped byte never brings back a marked entry", arguments: [true, false])
  func everyByteFlipped(atTheStart: Bool) throws {
    // In memory: each of the openings would wait for the disk.
    let simulated = SimulatedFileSystem()
    let store = try CacheStore(scratch.configuration(disk: 1 << 20), files: simulated)
    store.insert(entry(key(1), number: 1, size: 20))
    store.mark([scope(1), scope(2)])
    if atTheStart {
      // A second segment begins with the mark, and key 1 is in it.
      for number in 100..<1400 {
        if number.isMultiple(of: 20) { _ = store.lookup(key(1)) }
        store.insert(entry(key(number), number: number, size: 1000))
      }
      try #require(store.statistics.diskCarries > 0 && store.lookup(key(1)).count == 1)
    }
    store.close()
    let files = simulated.files
    let names = files.keys.filter { $0.hasPrefix("segment-") }.sorted()
    let name = try #require(atTheStart ? names.last : names.first)
    let bytes = try #require(files[name])
    if atTheStart { try #require(bytes[44] == RecordHeader.Kind.marks.rawValue) }
    let end = atTheStart ? 40 + 96 + 48 : bytes.count
    for index in 0..<min(end, bytes.count) {
      var damaged = files
      damaged[name]?[index] ^= UInt8(1 << (index % 8))
      let again = try CacheStore(scratch.configuration(disk: 1 << 20), files: SimulatedFileSystem(damaged))
      #expect(again.current(key(1), in: scope(1)).isEmpty, "byte \(index)")
      again.close()
    }
  }

  @Test(
    "Marks match a model through random operations, reopening and kills", arguments: 0..<2 as Range<UInt64>,
    [true, false])
  func model(seed: UInt64, hasRoom: Bool) throws {
    var random = SplitMix64(seed: seed &+ 500)
    var place = scratch
    func open() throws -> CacheStore {
      try CacheStore(
        place.configuration(memory: hasRoom ? 200_000 : 10_000, disk: hasRoom ? 16 << 20 : 1 << 20))
    }
    var store = try open()
    var outdated: [EntryID: Bool] = [:]
    var latest: [Int: (id: EntryID, scope: Int)] = [:]
    var members: [EntryID: StoreScope] = [:]
    var kills = 0
    for step in 0..<1000 {
      let number = Int.random(in: 0..<60, using: &random)
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<40:
        guard let known = latest[number] else { continue }
        let found = store.lookup(key(number))
        if hasRoom { try #require(found.map(\.id) == [known.id], "step \(step)") }
        for entry in found {
          let isMarked = store.isMarked(entry.id, in: scope(known.scope))
          try #require(entry.id == known.id && isMarked == outdated[entry.id], "step \(step)")
        }
      case 40..<85:
        let member = Int.random(in: 0..<5, using: &random)
        var new = entry(key(number), number: step, size: Int.random(in: 0..<3000, using: &random))
        new.scopes = [scope(member)]
        let id = try #require(store.insert(new, unlessRemovedSince: store.removalToken(for: key(number))).id)
        outdated[id] = false
        latest[number] = (id, member)
        members[id] = scope(member)
      case 85..<88:
        store.settleMarks { entry in members[entry.id].map { [$0] } ?? [] }
        try #require(store.invalidations.markCount == 0 && store.invalidations.settledCount == 0)
        latest = latest.filter { outdated[$1.id] == false }
        if hasRoom { try #require(store.usage.diskEntries == latest.count) }
      case 88..<93:
        let member = Int.random(in: 0..<6, using: &random)
        store.mark([scope(member)])
        for (id, scope) in latest.values where scope == member { outdated[id] = true }
      case 93..<97:
        store.close()
        store = try open()
      case 97..<99:
        kills += 1
        let copy = try place.copy()
        store.close()
        place = copy
        store = try open()
      default:
        store.remove(key(number))
        latest[number] = nil
      }
    }
    #expect(kills > 3 && store.statistics.corruptRecords == 0 && store.statistics.ioErrors == 0)
  }

  /// Every thread works on generations of one scope; what was asked for before a mark must never pass for newer.
  @Test("Concurrent inserts never miss a mark", arguments: [true, false])
  func threads(withDisk: Bool) async throws {
    var configuration = scratch.configuration(memory: 1 << 20)
    if !withDisk { configuration.directory = nil }
    let store = try CacheStore(configuration)
    let generation = Atomic<Int>(0)
    let finished = Atomic<Int>(0)
    let violations = Atomic<Int>(0)
    await inParallel(5) { index in
      for step in 0..<2000 {
        let number = (step + index) % 3
        switch index {
        case 0:
          guard step % 4 == 0 else { continue }
          // Content of this generation and before is outdated when the call returns.
          let next = generation.load(ordering: .sequentiallyConsistent)
          generation.store(next + 1, ordering: .sequentiallyConsistent)
          store.mark([scope(1)])
          finished.store(next + 1, ordering: .sequentiallyConsistent)
        case 4:
          if step % 8 == 0 { store.settleMarks { _ in [scope(1)] } }
        case 1, 2:
          let token = store.removalToken(for: key(number))
          let content = generation.load(ordering: .sequentiallyConsistent)
          var new = entry(key(number), number: content, size: 50)
          new.scopes = [scope(1)]
          store.insert(new, unlessRemovedSince: token)
        default:
          let least = finished.load(ordering: .sequentiallyConsistent)
          let passes = store.markPasses
          var entries = store.lookup(key(number))
          entries.markPasses = passes
          for found in entries
          where !store.isMarked(found.id, in: scope(1)) && !store.isSettled(found, in: entries) {
            let text = String(decoding: found.metadata.dropFirst(5), as: UTF8.self)
            if (Int(text) ?? -1) < least { violations.add(1, ordering: .relaxed) }
          }
        }
      }
    }
    #expect(violations.load(ordering: .relaxed) == 0)
    #expect(finished.load(ordering: .relaxed) == 500)
  }
}
