// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("The write buffer", .timeLimit(.minutes(10)))
struct WriteBufferTests {
  let scratch = ScratchDirectory()

  private func configuration(
    memory: Int = 0, disk: Int = 4 << 20, sync: DiskSync = .removals
  ) -> CacheStore.Configuration {
    var configuration = scratch.configuration(memory: memory, disk: disk)
    configuration.writeBuffer = 64 << 10
    configuration.sync = sync
    return configuration
  }

  @Test("Buffered entries are found, updated and replaced before any file is written")
  func found() throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(configuration(), files: files)
    let before = files.plan.withLock { $0.writes }
    // Nothing is written meanwhile: each writer has to wait.
    let log = try #require(store.disk).log
    try log.flusher.whileIdle(for: log) {
      for number in 0..<20 { store.insert(entry(key(number), number: number)) }
      store.insert(entry(key(3), number: 33))
      let id = try #require(store.lookup(key(4)).first?.id)
      #expect(store.updateMetadata(of: id, key: key(4), metadata: [9], storedAt: 5))
      #expect(files.plan.withLock { $0.writes } == before)
      #expect(holds(try #require(store.lookup(key(3)).first), number: 33))
      #expect(store.lookup(key(4)).first?.metadata == [9])
      for number in 5..<20 { #expect(holds(try #require(store.lookup(key(number)).first), number: number)) }
      #expect(store.usage.diskEntries == 20)
    }
    store.flush()
    #expect(files.plan.withLock { $0.largestWrite } > 2000, "many records in one write")
    let again = try CacheStore(scratch.copy().configuration())
    #expect(again.usage.diskEntries == 20 && again.lookup(key(4)).first?.metadata == [9])
    #expect(holds(try #require(again.lookup(key(3)).first), number: 33))
  }

  @Test("A removal writes the buffer to disk before it returns", arguments: DiskSync.allCases)
  func removals(sync: DiskSync) throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(configuration(sync: sync), files: files)
    for number in 0..<20 { store.insert(entry(key(number), number: number)) }
    let before = files.plan.withLock { $0.syncs }
    store.remove(key(7))
    #expect((files.plan.withLock { $0.syncs } > before) == (sync != .never))
    let again = try CacheStore(scratch.copy().configuration())
    #expect(again.lookup(key(7)).isEmpty && again.usage.diskEntries == 19)
  }

  @Test("The buffer exceeds its limit by at most one record per thread")
  func bounded() async throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(configuration(disk: 8 << 20), files: files)
    let largest = Atomic<Int>(0)
    await inParallel(3) { index in
      for step in 0..<400 {
        store.insert(entry(key(index * 1000 + step), number: step, size: 10_000))
        let count = store.disk?.log.withLock { $0.buffer.count } ?? 0
        largest.max(count, ordering: .relaxed)
      }
    }
    // Each of three threads may add one record to a buffer that is nearly full, and the start of a segment with it.
    #expect(largest.value <= (64 << 10) + 3 * 11_000)
    store.flush()
    #expect(store.disk?.log.withLock { $0.buffer.count } == 0)
    #expect(store.statistics.ioErrors == 0)
    for number in 300..<400 {
      #expect(store.lookup(key(number)).allSatisfy { holds($0, number: number, size: 10_000) })
    }
  }

  @Test("Entries whose buffered changes cannot be written are lost", arguments: [true, false])
  func lost(writesHalf: Bool) throws {
    let files = FaultyFileSystem()
    let events = Recorder<DiskEvent>()
    var configuration = configuration()
    configuration.diskObserver = { events.add($0) }
    let store = try CacheStore(configuration, files: files)
    for number in 0..<30 { store.insert(entry(key(number), number: number)) }
    store.flush()
    files.set {
      $0.failing = [.write: ENOSPC]
      $0.writesHalf = writesHalf
    }
    let id = try #require(store.lookup(key(2)).first?.id)
    store.insert(entry(key(1), number: 101))
    store.updateMetadata(of: id, key: key(2), metadata: [1], storedAt: 3)
    store.insert(entry(key(40), number: 40))
    store.flush()
    #expect(store.lookup(key(1)).isEmpty && store.lookup(key(2)).isEmpty && store.lookup(key(40)).isEmpty)
    #expect(holds(try #require(store.lookup(key(3)).first), number: 3))
    #expect(store.statistics.diskFailures == 1 && store.statistics.ioErrors > 0)
    files.set { $0 = .init() }
    // What may come back at the next opening is removed for good.
    store.remove(key(1))
    store.insert(entry(key(50), number: 50))
    store.flush()
    #expect(events.kinds(store).count == 2 && events.all.last == .recovered)
    let error = try #require(events.all.first?.error)
    #expect(error.code == .inputOutput && error.errno == ENOSPC)
    let again = try CacheStore(scratch.copy().configuration())
    #expect(again.lookup(key(1)).isEmpty)
    #expect(holds(try #require(again.lookup(key(3)).first), number: 3))
    #expect(holds(try #require(again.lookup(key(50)).first), number: 50))
    #expect(try scratch.totalBytes <= store.usage.diskBytes)
  }

  @Test("A removal that cannot be written removes everything from disk", arguments: [true, false])
  func lostRemoval(isFlushedByAnother: Bool) throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(configuration(), files: files)
    for number in 0..<10 { store.insert(entry(key(number), number: number)) }
    store.flush()
    files.set { $0.failing = [.write: EIO] }
    if isFlushedByAnother { store.insert(entry(key(20))) }
    store.remove(key(1))
    #expect(store.usage.diskEntries == 0)
    files.set { $0 = .init() }
    #expect(try CacheStore(scratch.copy().configuration()).lookup(key(1)).isEmpty)
    for number in 0..<50 { store.insert(entry(key(number), number: number)) }
    store.flush()
    #expect(holds(try #require(store.lookup(key(49)).first), number: 49))
  }

  @Test("A failing disk is retried only after pauses")
  func pauses() throws {
    let files = FaultyFileSystem()
    var configuration = configuration(memory: 1 << 20)
    configuration.writeBuffer = 0
    let store = try CacheStore(configuration, files: files)
    store.insert(entry(key(1), number: 1))
    files.set { $0.failing = [.write: ENOSPC] }
    for number in 100..<1100 { #expect(store.insert(entry(key(number % 200), number: number)).id != nil) }
    #expect((4...40).contains(store.statistics.ioErrors))
    #expect(store.statistics.diskFailures == 1)
    #expect(store.lookup(key(100)).first?.tier == .memory)
    files.set { $0 = .init() }
    store.insertAfterPause(5000)
    for number in 0..<20 { #expect(store.insert(entry(key(number), number: number, tiers: .disk)).id != nil) }
  }

  @Test(
    "Buffered writes match a model through random operations, reopening and failures",
    arguments: 0..<usually(2, long: 4) as Range<UInt64>)
  func model(seed: UInt64) throws {
    var random = SplitMix64(seed: seed &+ 4000)
    let files = FaultyFileSystem()
    var store = try CacheStore(configuration(memory: seed % 2 == 0 ? 0 : 20_000, disk: 1 << 20), files: files)
    var model: [Int: Int] = [:]
    for step in 0..<2000 {
      let number = Int.random(in: 0..<60, using: &random)
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<40:
        for found in store.lookup(key(number)) {
          try #require(
            model[number].map { holds(found, number: $0, size: $0 % 7 * 1000) } ?? false, "step \(step)")
        }
      case 40..<80:
        model[number] = store.insert(entry(key(number), number: step, size: step % 7 * 1000)).id.map { _ in
          step
        }
      case 80..<90:
        store.remove(key(number))
        model[number] = nil
      case 90..<93:
        store.flush()
      case 93..<95:
        files.set { $0.failing = [.write: EIO] }
        store.insert(entry(key(number), number: step, size: step % 7 * 1000))
        model[number] = step
        store.flush()
        files.set { $0 = .init() }
      case 95:
        store.removeAll()
        model = [:]
      default:
        store.close()
        store = try CacheStore(configuration(memory: 20_000, disk: 1 << 20), files: files)
        // Lost stores bring back what they replaced, as a crash does: what was removed stays away.
        for number in 0..<60 {
          let text = store.lookup(key(number)).first.map {
            String(decoding: $0.metadata.dropFirst(5), as: UTF8.self)
          }
          if let content = text.flatMap({ Int($0) }) {
            try #require(model[number] != nil, "step \(step): key \(number) came back")
            model[number] = content
          }
        }
      }
      #expect(store.usage.diskBytes <= 1 << 20)
    }
    #expect(store.statistics.corruptRecords == 0)
  }
}
