// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Failing disks", .timeLimit(.minutes(10)))
struct FailingDiskTests {
  let scratch = ScratchDirectory()

  /// Small segments, so that many are opened, and records that are written at once or through the buffer.
  private func configuration(writeBuffer: Int) -> CacheStore.Configuration {
    var configuration = scratch.configuration(memory: 200_000, disk: 1 << 20)
    configuration.writeBuffer = writeBuffer
    configuration.sync = .removals
    return configuration
  }

  @Test(
    "A store serves only correct entries through any disk failure, and recovers",
    arguments: [FaultyFileSystem.Operation.create, .write, .read, .sync, .unlink, .truncate], [0, 64 << 10])
  func anything(operation: FaultyFileSystem.Operation, writeBuffer: Int) throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(configuration(writeBuffer: writeBuffer), files: files)
    var random = SplitMix64(seed: 3)
    var model: [Int: Int] = [:]
    // What was stored and lost may be back at the next opening, as after a crash; what was removed may not.
    var removed: Set<Int> = []
    for round in 0..<6 {
      let errno = round == 1 ? ENOSPC : EIO
      files.set {
        // What is cut is what could not be written.
        $0.failing = operation == .truncate ? [.truncate: errno, .write: errno] : [operation: errno]
        if round.isMultiple(of: 2) { $0.failing = [:] }
      }
      for step in 0..<usually(150, long: 300) {
        let number = Int.random(in: 0..<100, using: &random)
        switch step % 10 {
        case 0..<6:
          let content = round * 1000 + step
          let id = store.insert(entry(key(number), number: content, size: 3000)).id
          model[number] = id.map { _ in content }
          if id != nil { removed.remove(number) }
        case 6:
          store.remove(key(number))
          model[number] = nil
          removed.insert(number)
        default:
          for found in store.lookup(key(number)) {
            try #require(model[number].map { holds(found, number: $0, size: 3000) } ?? false)
          }
        }
        #expect(store.usage.diskBytes <= 1 << 20 || operation == .unlink)
      }
    }
    #expect(store.statistics.ioErrors > 0)
    files.set { $0 = .init() }
    // A write of the queue that failed before may still be about to begin a pause.
    store.flush()
    store.insertAfterPause(500, size: 3000)
    store.flush()
    #expect(store.insert(entry(key(501), number: 2, size: 3000, tiers: .disk)).id != nil)
    store.close()
    let again = try CacheStore(configuration(writeBuffer: writeBuffer))
    #expect(holds(try #require(again.lookup(key(501)).first), number: 2, size: 3000))
    for number in removed { #expect(again.lookup(key(number)).isEmpty) }
  }

  @Test("After failures, the disk is tried again after some responses or some seconds, whichever comes first")
  func pauses() throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(configuration(writeBuffer: 0), files: files)
    files.set { $0.failing = [.create: 28, .write: 28] }
    func isStored(_ number: Int) -> Bool {
      store.insert(entry(key(number), number: number, size: 3000, tiers: .disk)).id != nil
    }
    // Each attempt fails, and makes the pause longer, up to 30 seconds.
    for number in 0..<200 {
      files.set { $0.uptime += .seconds(30) }
      #expect(!isStored(number))
    }
    let errors = store.statistics.ioErrors
    #expect(errors >= 200)
    files.set { $0.failing = [:] }
    files.set { $0.uptime += .seconds(29) }
    #expect(!isStored(1000))
    files.set { $0.uptime += .seconds(1) }
    #expect(isStored(1001))
    #expect(store.statistics.ioErrors == errors)
    // Without time, the number of responses counts.
    files.set { $0.failing = [.create: 28, .write: 28] }
    for number in 0..<20_000 { _ = isStored(2000 + number) }
    files.set { $0.failing = [:] }
    var tries = 0
    while !isStored(1002), tries < 5000 { tries += 1 }
    #expect(tries > 0 && tries <= 4096)
  }

  @Test(
    "A full file system evicts the oldest entries, for small and for large bodies, and is reported once",
    arguments: [usually(10_000, long: 3000), 300_000, 1_100_000], [64 << 10, 1 << 20])
  func full(size: Int, writeBuffer: Int) throws {
    let files = FaultyFileSystem()
    let room = usually(4, long: 8) << 20
    files.set { $0.room = room }
    let events = Recorder<DiskEvent>()
    var configuration = scratch.configuration(disk: 4 * room)
    configuration.writeBuffer = writeBuffer
    configuration.diskObserver = { events.add($0) }
    let store = try CacheStore(configuration, files: files)
    // Several times as much as the file system takes.
    let count = 5 * room / size
    var refused = 0
    func put(_ number: Int) {
      // Bodies are streamed, as they arrive.
      let writer = store.makeWriter(
        key: key(number), variant: one, metadata: Array("head \(number)".utf8), storedAt: 0)
      writer.append(pattern(number, size))
      if writer.commit().id == nil { refused += 1 }
    }
    for number in 0..<count { put(number) }
    store.flush()
    #expect(refused == 0)
    let found = (0..<count).filter { number in
      store.lookup(key(number)).first.map { holds($0, number: number, size: size) } ?? false
    }
    // The most recent ones are there, and they fill a good part of the room.
    #expect(found.last == count - 1)
    #expect(found.count * size >= room / 3)
    #expect(found == Array(count - found.count..<count))
    // Once there is room, the capacity returns.
    files.set { $0.room = nil }
    var next = count
    while let disk = store.disk, disk.capacity < 32 << 20, next < 10 * count {
      put(next)
      next += 1
    }
    store.flush()
    #expect(refused == 0 && store.disk?.capacity == 4 * room)
    #expect(events.kinds(store) == [.full, .recovered])
    #expect(events.all.first?.error?.errno == ENOSPC && store.statistics.ioErrors == 0)
    store.close()
    let again = try CacheStore(configuration)
    #expect(holds(try #require(again.lookup(key(next - 1)).first), number: next - 1, size: size))
  }

  @Test("A file system that others fill is a failing disk, and the entries in it stay readable")
  func filledByOthers() throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(scratch.configuration(disk: 64 << 20), files: files)
    store.insert(entry(key(1), number: 1, size: 200_000, tiers: .disk))
    files.set { $0.room = 0 }
    for number in 2..<20 {
      let writer = store.makeWriter(key: key(number), variant: one, metadata: [], storedAt: 0)
      writer.append(pattern(number, 2 << 20))
      #expect(writer.commit().refusal?.reason == .inputOutput)
    }
    #expect(store.disk?.capacity == 64 << 20 && store.isDiskFailing)
    #expect(holds(try #require(store.lookup(key(1)).first), number: 1, size: 200_000))
  }

  /// Streams a body in pieces, as it arrives.
  private func stream(_ number: Int, _ size: Int, length: Int? = nil, into store: CacheStore) -> EntryWriter {
    let writer = store.makeWriter(
      key: key(number), variant: one, metadata: [], storedAt: 0, expectedLength: length)
    let body = pattern(number, size)
    for start in stride(from: 0, to: size, by: 100_000) {
      guard writer.append(body[start..<min(size, start + 100_000)]) else { break }
    }
    return writer
  }

  private func isFound(_ number: Int, _ size: Int, in store: CacheStore) -> Bool {
    store.lookup(key(number)).first.map {
      (try? $0.body.readAll()).map { areEqual($0, pattern(number, size)[...]) } ?? false
    }
      ?? false
  }

  @Test(
    "Memory keeps what it has room for while the file system is smaller than the disk's capacity",
    arguments: [10_000, 100_000, 250_000], [nil, 0.05])
  func memoryBesideFullDisk(size: Int, share: Double?) throws {
    let files = FaultyFileSystem()
    files.set { $0.room = 6 << 20 }
    var configuration = scratch.configuration(memory: 64 << 20, disk: 256 << 20)
    configuration.maximumEntryShare = share
    let store = try CacheStore(configuration, files: files)
    // The file system is full after a few.
    let count = 12_000_000 / size
    for number in 0..<count {
      #expect(stream(number, size, length: number % 2 == 0 ? size : nil, into: store).commit().id != nil)
    }
    store.flush()
    let disk = try #require(store.disk)
    #expect(disk.capacity < disk.configuredCapacity, "\(disk.capacity)")
    #expect((0..<count).allSatisfy { isFound($0, size, in: store) })
    #expect(store.usage.memoryEntries == count)
  }

  @Test(
    "Large bodies stay in memory while others fill the file system, and go to disk once there is room",
    arguments: [0, 64 << 10], [false, true])
  func largeInMemory(writeBuffer: Int, hasLength: Bool) throws {
    let files = FaultyFileSystem()
    let events = Recorder<DiskEvent>()
    var configuration = scratch.configuration(memory: 16 << 20, disk: 64 << 20)
    configuration.writeBuffer = writeBuffer
    configuration.diskObserver = { events.add($0) }
    let store = try CacheStore(configuration, files: files)
    let size = 1 << 20
    let length = hasLength ? size : nil
    files.set { $0.room = 0 }
    // What was written until the failure is lost.
    #expect(stream(0, size, length: length, into: store).commit().refusal?.reason == .inputOutput)
    for number in 1..<100 {
      let writer = stream(number, size, length: length, into: store)
      #expect(writer.isInMemory && writer.commit().id != nil)
      #expect(isFound(number, size, in: store))
    }
    #expect(store.usage.diskEntries == 0 && store.usage.memoryEntries > 10)
    files.set { $0.room = nil }
    // Whatever the pause was, it ends.
    files.set { $0.uptime += .seconds(30) }
    let attempt = stream(100, size, length: length, into: store)
    #expect(attempt.isInMemory && attempt.commit().id != nil)
    let next = stream(101, size, length: length, into: store)
    #expect(!next.isInMemory && next.commit().id != nil)
    store.flush()
    store.clearMemory()
    for number in [100, 101] { #expect(isFound(number, size, in: store)) }
    #expect(events.kinds(store) == [.failing, .recovered])
  }

  @Test("The number of large bodies that stay in memory counts for the next attempt to write")
  func largeAttempts() throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(scratch.configuration(memory: 2 << 20, disk: 64 << 20), files: files)
    files.set { $0.failing = [.create: EIO] }
    // The last failure begins a pause of 16 writes.
    for number in 0..<4 { store.insert(entry(key(number), number: number, size: 300_000)) }
    #expect(store.usage.diskEntries == 0 && store.statistics.ioErrors == 4)
    files.set { $0.failing = [:] }
    var tries = 0
    while store.usage.diskEntries == 0, tries < 4096 {
      #expect(stream(100 + tries, 300_000, into: store).commit().id != nil)
      tries += 1
    }
    #expect(tries == 17)
  }

  @Test("A failure to write large bodies keeps small entries from the disk only if they fail, too")
  func largeOnly() throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(scratch.configuration(memory: 2 << 20, disk: 64 << 20), files: files)
    store.insert(entry(key(1), number: 1, tiers: .disk))
    // The segment is open: only body files are created.
    files.set { $0.failing = [.create: EMFILE] }
    for number in 100..<120 { _ = stream(number, 300_000, into: store).commit() }
    #expect(store.insert(entry(key(2), number: 2, tiers: .disk)).id != nil)
    #expect(store.isDiskFailing)
  }

  @Test("A body that only the disk can hold is refused while the disk pauses, before any of it arrives")
  func tooLargeForMemory() throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(scratch.configuration(memory: 1 << 20, disk: 64 << 20), files: files)
    let size = 2 << 20
    files.set { $0.room = 0 }
    func writer(_ number: Int) -> EntryWriter {
      store.makeWriter(key: key(number), variant: one, metadata: [], storedAt: 0, expectedLength: size)
    }
    for number in 0..<4 {
      #expect(writer(number).destination(ofBody: size) == .file)
      #expect(stream(number, size, length: size, into: store).commit().refusal?.reason == .inputOutput)
    }
    let refused = writer(4)
    #expect(refused.destination(ofBody: size) == nil && refused.refusal?.reason == .inputOutput)
    // Of unknown length, it is refused as soon as memory cannot hold it.
    let growing = stream(5, size, into: store)
    #expect(growing.isInMemory && growing.commit().refusal?.reason == .inputOutput)
    // Smaller ones are not refused, up to the last byte that memory can hold.
    let most = (1 << 20) - key(6).bytes.count - EntryBlock.mostOverhead
    #expect(stream(6, most, length: most, into: store).commit().id != nil)
    #expect(isFound(6, most, in: store))
    files.set { $0.room = nil }
    #expect(writer(7).destination(ofBody: size) == nil)
    files.set { $0.uptime += .seconds(30) }
    #expect(writer(8).destination(ofBody: size) == .file)
    #expect(stream(8, size, length: size, into: store).commit().id != nil)
    #expect(isFound(8, size, in: store) && !store.isDiskFailing)
  }

  @Test("A large body that is complete stays in memory if the disk fails to take it")
  func wholeBody() throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(scratch.configuration(memory: 4 << 20, disk: 64 << 20), files: files)
    files.set { $0.room = 100_000 }
    let writer = store.makeWriter(
      key: key(1), variant: one, metadata: [], storedAt: 0, expectedLength: 1 << 20)
    #expect(writer.destination(ofBody: 1 << 20) == .file)
    #expect(writer.append(pattern(1, 1 << 20)) && writer.isInMemory && writer.commit().id != nil)
    #expect(isFound(1, 1 << 20, in: store))
    #expect(store.usage.diskEntries == 0)
  }

  /// Uses the store each time it is told something.
  private final class Meddler: Sendable {
    let told = Recorder<DiskEvent>()
    let store = Mutex<CacheStore?>(nil)

    func add(_ event: DiskEvent) {
      told.add(event)
      guard let store = store.withLock({ $0 }) else { return }
      store.insert(entry(key(900), number: 900))
      store.remove(key(900))
      store.flush()
    }
  }

  @Test(
    "The disk observer may use the store during any failure",
    arguments: [FaultyFileSystem.Operation.create, .write, .sync], [0, 64 << 10])
  func observer(operation: FaultyFileSystem.Operation, writeBuffer: Int) throws {
    let (files, meddler) = (FaultyFileSystem(), Meddler())
    var configuration = configuration(writeBuffer: writeBuffer)
    configuration.diskObserver = { meddler.add($0) }
    let store = try CacheStore(configuration, files: files)
    meddler.store.withLock { $0 = store }
    for isFailing in [true, false] {
      files.set { $0.failing = isFailing ? [operation: EIO] : [:] }
      // Whatever the pause was, it ends.
      for number in 0..<(isFailing ? 60 : 5000) {
        let isStored = store.insert(entry(key(number), number: number, size: 3000, tiers: .disk)).id != nil
        if isStored, !isFailing { break }
      }
      store.remove(key(3))
      store.flush()
      #expect(meddler.told.kinds(store).last == (isFailing ? .failing : .recovered))
    }
    meddler.store.withLock { $0 = nil }
    #expect(store.lookup(key(900)).isEmpty)
  }

  @Test(
    "A removal during a disk failure takes effect once the disk works again",
    arguments: [0, 64 << 10], [true, false])
  func owedRemoval(writeBuffer: Int, isUsedAgain: Bool) throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(configuration(writeBuffer: writeBuffer), files: files)
    for number in 0..<20 { store.insert(entry(key(number), number: number)) }
    store.flush()
    files.set { $0.failing = [.create: EIO, .write: EIO, .sync: EIO, .unlink: EIO, .truncate: EIO] }
    store.remove(key(3))
    for number in 100..<110 { store.insert(entry(key(number), number: number)) }
    #expect(store.lookup(key(3)).isEmpty)
    files.set { $0.failing = [:] }
    if isUsedAgain {
      store.insertAfterPause(200)
      store.flush()
    } else {
      store.close()
    }
    let again = try CacheStore(scratch.copy().configuration())
    #expect(again.lookup(key(3)).isEmpty)
    #expect(again.lookup(key(200)).isEmpty != isUsedAgain)
  }

  @Test("A removal during the closing of the store is kept", arguments: DiskSync.allCases)
  func removalWhileClosing(sync: DiskSync) throws {
    let files = FaultyFileSystem()
    var configuration = configuration(writeBuffer: 64 << 10)
    configuration.sync = sync
    let store = try CacheStore(configuration, files: files)
    for number in 0..<20 { store.insert(entry(key(number), number: number)) }
    let disk = try #require(store.disk)
    let ended = DispatchSemaphore(value: 0)
    // The last that is done to a file before the directory is given back. No other thread can write by now: a removal is
    // logged, and another thread waits until it is safe, which may be only after the closing.
    files.set { plan in
      plan.onRelease = {
        files.set { $0.onRelease = nil }
        let (removal, _) = disk.removals.begin(hash: store.hasher.hash(key(3)))
        Thread.detachNewThread {
          disk.removals.finish(removal)
          ended.signal()
        }
      }
    }
    store.close()
    ended.wait()
    let again = try CacheStore(configuration)
    #expect(again.lookup(key(3)).isEmpty && again.usage.diskEntries == 19)
  }

  @Test("A disk of the greatest possible capacity accepts entries")
  func greatestCapacity() throws {
    var configuration = scratch.configuration(disk: .max)
    configuration.maximumEntryShare = 1
    let store = try CacheStore(configuration)
    store.insert(entry(key(1), number: 1))
    #expect(holds(try #require(store.lookup(key(1)).first), number: 1))
  }
}
