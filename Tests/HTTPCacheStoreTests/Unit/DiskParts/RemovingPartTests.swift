// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Syncing, removals, sweeps and body files", .timeLimit(.minutes(10)))
struct RemovingPartTests {
  private func filled(_ bench: PartBench, isWritten: Bool = true) -> LockedLog {
    let log = bench.makeLockedLog()
    for number in 0..<10 {
      #expect(log.insert(bench.record(number, storedAt: Int64(number) * 1000)))
    }
    if isWritten { log.flush() }
    return log
  }

  // MARK: Syncing

  @Test("A sync makes logged records durable, written or not", arguments: [true, false])
  func sync(isWritten: Bool) throws {
    let files = SimulatedFileSystem()
    let bench = try PartBench(files)
    let log = filled(bench, isWritten: isWritten)
    #expect(try files.synced.numbers(below: 10).isEmpty)
    #expect(Syncer(log).sync(onlyRemovals: true), "nothing was removed")
    #expect(try files.synced.numbers(below: 10).isEmpty)
    #expect(Syncer(log).sync())
    #expect(try files.synced.numbers(below: 10) == Array(0..<10))
  }

  @Test("A failed sync is repeated by the next one, even by one for removals only")
  func failedSync() throws {
    let (scratch, files) = (ScratchDirectory(), FaultyFileSystem())
    let log = filled(try PartBench(files, at: scratch.path))
    let syncer = Syncer(log)
    files.set { $0.failing = [.sync: EIO] }
    #expect(!syncer.sync() && !syncer.sync(onlyRemovals: true))
    files.set { $0.failing = [:] }
    let before = files.plan.withLock { $0.syncs }
    #expect(syncer.sync(onlyRemovals: true) && files.plan.withLock { $0.syncs } > before)
    let after = files.plan.withLock { $0.syncs }
    #expect(syncer.sync(onlyRemovals: true) && files.plan.withLock { $0.syncs } == after)
  }

  @Test("The name of a segment counts as synced after a successful sync")
  func failedNames() throws {
    let (scratch, files) = (ScratchDirectory(), FaultyFileSystem())
    let log = filled(try PartBench(files, at: scratch.path))
    files.set { $0.failing = [.sync: EIO] }
    #expect(!Syncer(log).sync() && log.withLock { $0.segments.allSatisfy(\.isNew) })
    files.set { $0.failing = [:] }
    #expect(Syncer(log).sync() && !log.withLock { $0.segments.contains(where: \.isNew) })
  }

  @Test("The disk recovers once a body that could not be opened is synced")
  func failedBody() throws {
    let (scratch, files) = (ScratchDirectory(), FaultyFileSystem())
    let told = Recorder<DiskEvent.Kind>()
    let bench = try PartBench(files, at: scratch.path) { event in told.add(event.kind) }
    let log = filled(bench)
    var writer = try BodyFileWriter(BodyFiles(log: log))
    try writer.append(pattern(1, 300_000)[...])
    _ = try writer.finish()
    writer.keep()
    files.set { $0.failing = [.open: EMFILE] }
    #expect(!Syncer(log).sync(withBodies: true))
    files.set { $0.failing = [:] }
    #expect(Syncer(log).sync(withBodies: true))
    log.events.drain()
    #expect(told.all == [.failing, .recovered])
  }

  // MARK: Removing

  enum Kind: CaseIterable {
    case key, variant, time, mark, everything, sweep
  }

  @Test("A removal is durable when it returns", arguments: Kind.allCases, [true, false])
  func removal(kind: Kind, isSynced: Bool) throws {
    let files = SimulatedFileSystem()
    let bench = try PartBench(files)
    let log = filled(bench, isWritten: isSynced)
    let syncer = Syncer(log)
    if isSynced { syncer.sync() }
    let removals = Removals(log: log, syncer: syncer)
    var left = Array(0..<10)
    switch kind {
    case .key, .variant:
      #expect(removals.remove(hash: bench.hash(3), variant: kind == .variant ? 1 : nil).count == 1)
      left.remove(at: 3)
    case .time:
      removals.removeAll(since: 6000)
      left = Array(0..<6)
    case .mark:
      removals.mark([7], number: bench.context.invalidations.mark([7]) { bench.context.sequence.take() })
    case .everything:
      removals.removeAll()
      left = []
    case .sweep:
      left = sweep(Sweeper(removals: removals), bench)
    }
    #expect(bench.numbers(below: 10) == left)
    let again = try PartBench(files.synced)
    #expect(again.numbers(below: 10) == left)
    #expect(again.context.invalidations.isMarked(1, hash: 7) == (kind == .mark))
  }

  /// Removes entries with an even number, and updates the others.
  private func sweep(_ sweeper: Sweeper, _ bench: PartBench) -> [Int] {
    var sweep = sweeper.begin(bench.context.sequence.take())
    var left: [Int] = []
    while let heads = sweeper.nextHeads(&sweep) {
      for head in heads {
        let number = Int(head.storedAt / 1000)
        #expect(head.key == key(number) && head.metadata == [1, 2, 3])
        let update: (metadata: [UInt8], storedAt: Int64, revision: UInt64)? =
          number % 2 == 0 ? nil : ([9], head.storedAt, bench.context.sequence.take())
        if update != nil { left.append(number) }
        sweeper.apply([Sweeper.Change(hash: bench.hash(number), id: head.id, update: update)], &sweep)
      }
    }
    sweeper.finish(sweep)
    return left.sorted()
  }

  @Test("A sweep knows entries that were written to the disk after it had visited the disk")
  func missed() throws {
    let bench = try PartBench()
    let log = filled(bench)
    let sweeper = Sweeper(removals: Removals(log: log, syncer: Syncer(log)))
    // Its id is older than the sweep, as that of an entry which a pin writes to the disk.
    let late = bench.record(20)
    var sweep = sweeper.begin(bench.context.sequence.take())
    while sweeper.nextHeads(&sweep) != nil {}
    let other = sweeper.begin(bench.context.sequence.take())
    #expect(log.insert(late))
    sweeper.finish(other)
    let id = try #require(bench.catalog.candidate(for: bench.hash(3), variant: 1)).id
    #expect(sweeper.hasVisited(bench.hash(3), id: id))
    #expect(!sweeper.hasVisited(bench.hash(20), id: late.0.id) && sweeper.isSweeping)
    #expect(!sweeper.hasVisited(bench.hash(21), id: late.0.id), "not on disk")
    sweeper.finish(sweep)
    #expect(sweeper.hasVisited(bench.hash(20), id: late.0.id) && !sweeper.isSweeping)
  }

  @Test("A removal that cannot be synced removes everything", arguments: [true, false])
  func failedRemoval(isWritten: Bool) throws {
    let (scratch, files) = (ScratchDirectory(), FaultyFileSystem())
    let bench = try PartBench(files, at: scratch.path)
    let log = filled(bench, isWritten: isWritten)
    files.set { $0.failing = [.sync: EIO] }
    Removals(log: log, syncer: Syncer(log)).remove(hash: bench.hash(3))
    #expect(bench.catalog.count == 0 && log.withLock { $0.segments.count } == 1)
  }

  @Test("The removal of an unknown key that may come back is logged")
  func suspects() throws {
    let files = SimulatedFileSystem()
    let bench = try PartBench(files)
    let log = filled(bench)
    let removals = Removals(log: log, syncer: Syncer(log))
    let id = try #require(bench.catalog.candidate(for: bench.hash(3), variant: 1)).id
    let isDropped = log.withLock { log in log.dropUnreadable(hash: bench.hash(3), id: id, location: nil) }
    #expect(isDropped)
    #expect(removals.remove(hash: bench.hash(3)).isEmpty)
    #expect(try files.synced.numbers(below: 10) == [0, 1, 2, 4, 5, 6, 7, 8, 9])
  }

  // MARK: Body files

  @Test("A body being written reserves space, and releases it when discarded")
  func bodies() throws {
    let files = SimulatedFileSystem()
    let log = try PartBench(files).makeLockedLog()
    let bodies = BodyFiles(log: log)
    let before = log.bytes
    var writer = try BodyFileWriter(bodies)
    try writer.append(pattern(1, 300_000)[...])
    #expect(log.withLock { $0.space.reserved } == 4 * DiskFormat.bodyChunkSize)
    #expect(log.bytes - before == 4 * DiskFormat.bodyChunkSize)
    #expect(!bodies.reserve(1 << 20), "more than there is")
    writer.discard()
    #expect(log.bytes == before && log.withLock { $0.space.reserved } == 0)
    #expect(!files.files.keys.contains { $0.hasPrefix("body") })
  }

  @Test("A kept body counts as used and is made durable by a sync of bodies")
  func keptBody() throws {
    let files = SimulatedFileSystem()
    let log = try PartBench(files).makeLockedLog()
    var writer = try BodyFileWriter(BodyFiles(log: log))
    try writer.append(pattern(1, 300_000)[...])
    _ = try writer.finish()
    writer.keep()
    #expect(log.withLock { $0.space.reserved } == 0 && log.bytes > 300_000)
    let name = DiskFormat.bodyName(writer.number)
    #expect(Syncer(log).sync() && files.synced.files[name]?.isEmpty != false)
    #expect(Syncer(log).sync(withBodies: true))
    #expect(files.synced.files[name]?.prefix(300_000) == pattern(1, 300_000)[...])
  }

  // MARK: Reading

  @Test("A damaged entry is a miss, and is counted and dropped once")
  func reading() throws {
    let files = SimulatedFileSystem()
    let bench = try PartBench(files)
    let log = filled(bench)
    let reader = EntryReader(log)
    let candidate = try #require(bench.catalog.candidates(for: bench.hash(3)).first)
    guard case .entry(let entry) = reader.read(candidate, key: key(3)) else {
      Issue.record("not found")
      return
    }
    #expect(entry.key == key(3).bytes && entry.metadata == [1, 2, 3])
    guard case .otherKey = reader.read(candidate, key: key(4)) else {
      Issue.record("another key's entry was found")
      return
    }
    let location = candidate.source.location
    try candidate.source.file.write([0xFF], at: Int(location.offset) + Int(location.count) - 100)
    guard case .lost = reader.read(candidate, key: key(3)) else {
      Issue.record("damage was not noticed")
      return
    }
    #expect(bench.context.counters.corruptRecords.value == 1 && bench.numbers(below: 5) == [0, 1, 2, 4])
    guard case .lost = reader.read(candidate, key: key(3)) else { return }
    #expect(bench.context.counters.corruptRecords.value == 1, "it is dropped already")
  }
}
