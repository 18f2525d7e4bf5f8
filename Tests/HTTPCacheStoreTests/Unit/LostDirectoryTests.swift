// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Dispatch
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Lost store directories", .timeLimit(.minutes(10)))
struct LostDirectoryTests {
  let scratch = ScratchDirectory()
  let other = ScratchDirectory()
  private let events = Recorder<DiskEvent>()

  private func configuration(writeBuffer: Int) -> CacheStore.Configuration {
    var configuration = scratch.configuration(memory: 1 << 20, disk: 1 << 20)
    configuration.writeBuffer = writeBuffer
    configuration.sync = .removals
    configuration.largeBodyThreshold = 20_000
    configuration.diskObserver = { [events] in events.add($0) }
    return configuration
  }

  /// A store with entries on disk alone.
  private func filled(writeBuffer: Int, files: any FileSystem = POSIXFileSystem()) throws -> CacheStore {
    let store = try CacheStore(configuration(writeBuffer: writeBuffer), files: files)
    for number in 0..<20 { store.insert(entry(key(number), number: number, tiers: .disk)) }
    store.insert(entry(key(20), number: 20, size: 50_000, tiers: .disk))
    store.flush()
    // A flush that is on its way still would notice the loss before the test looks.
    store.disk?.log.flusher.drain()
    #expect(store.usage.diskEntries == 21)
    return store
  }

  private func remove(_ directory: FilePath) throws {
    for name in try POSIXFileSystem().list(directory) {
      try POSIXFileSystem().unlink(directory.appending(name))
    }
    #expect(rmdir(directory.string) == 0)
  }

  /// Whether a store counts what its directory has, and beside it little more than the summary that is still to come.
  private func isCounted(_ store: CacheStore) throws -> Bool {
    let difference = store.usage.diskBytes - (try scratch.totalBytes)
    return store.hasRightSums && (0...1000).contains(difference)
  }

  @Test(
    "A lost directory leaves memory working, and is recreated empty once possible",
    arguments: [0, 64 << 10])
  func faulty(writeBuffer: Int) throws {
    let files = FaultyFileSystem()
    let store = try filled(writeBuffer: writeBuffer, files: files)
    files.set {
      $0.isDirectoryGone = true
      $0.failing = [.directory: EACCES]
    }
    store.flush()
    #expect(store.usage.diskEntries == 0 && store.usage.diskBytes == 0)
    #expect(store.lookup(key(3)).isEmpty)
    for number in 100..<130 {
      #expect(store.insert(entry(key(number), number: number)).id != nil)
      #expect(holds(try #require(store.lookup(key(number)).first), number: number))
    }
    #expect(store.insert(entry(key(130), number: 130, tiers: .disk)).refusal?.reason == .inputOutput)
    store.remove(key(100))
    #expect(store.lookup(key(100)).isEmpty)
    #expect(store.statistics.diskFailures == 1 && events.kinds(store) == [.failing])

    files.set {
      $0.isDirectoryGone = false
      $0.failing = [:]
    }
    store.insertAfterPause(200)
    #expect(events.kinds(store) == [.failing, .recovered])
    store.remove(key(101))
    store.close()
    let again = try CacheStore(configuration(writeBuffer: writeBuffer))
    #expect(again.usage.diskEntries == 1)
    #expect(holds(try #require(again.lookup(key(200)).first), number: 200))
  }

  @Test("A removed directory is recreated for the next insert, and is private", arguments: [0, 64 << 10])
  func removed(writeBuffer: Int) throws {
    let store = try filled(writeBuffer: writeBuffer)
    // Once it is noticed; until then what is open can be read.
    try remove(scratch.path)
    #expect(holds(try #require(store.lookup(key(3)).first), number: 3))
    store.flush()
    #expect(store.lookup(key(4)).isEmpty)
    store.insert(entry(key(100), number: 100, tiers: .disk))
    store.insert(entry(key(101), number: 101, size: 50_000, tiers: .disk))
    store.mark([StoreScope("scope")])
    store.flush()
    #expect(events.kinds(store) == [.failing, .recovered])
    #expect(try isCounted(store))
    var status = stat()
    #expect(stat(scratch.path.string, &status) == 0 && status.st_mode & 0o777 == 0o700)
    #expect(throws: StoreError.self) { try CacheStore(configuration(writeBuffer: writeBuffer)) }
    store.close()
    let again = try CacheStore(configuration(writeBuffer: writeBuffer))
    #expect(again.usage.diskEntries == 2)
    #expect(holds(try #require(again.lookup(key(101)).first), number: 101, size: 50_000))
    for number in 0...20 { #expect(again.lookup(key(number)).isEmpty) }
  }

  @Test(
    "The entries of a lost directory are subtracted from the usage once", arguments: [0, 64 << 10],
    [true, false])
  func counted(writeBuffer: Int, removesAll: Bool) throws {
    let store = try filled(writeBuffer: writeBuffer)
    for number in 21..<26 { store.insert(entry(key(number), number: number, size: 50_000, tiers: .disk)) }
    store.flush()
    let writer = store.makeWriter(
      key: key(50), variant: VariantID(rawValue: 1), metadata: [], storedAt: 1, tiers: .disk)
    #expect(writer.append(pattern(50, 60_000)))
    try remove(scratch.path)
    if removesAll {
      store.removeAll()
      #expect(store.usage.diskBytes >= 0)
    }
    store.insert(entry(key(50), number: 51, tiers: .disk))
    // It was begun in a directory that is no more: what is older than it is gone all the same, unless it was removed first.
    #expect(writer.commit().refusal?.reason == (removesAll ? .removedSince : .inputOutput))
    #expect(store.lookup(key(50)).isEmpty == !removesAll)
    for number in 100..<140 {
      store.insert(entry(key(number), number: number, size: 50_000, tiers: .disk))
      #expect((0...1 << 20).contains(store.usage.diskBytes) && store.hasRightSums)
    }
    store.flush()
    #expect(try scratch.totalBytes <= 1 << 20)
    #expect(try isCounted(store))
  }

  @Test("Storing entries notices a lost directory")
  func noticed() throws {
    let store = try filled(writeBuffer: 64 << 10)
    try remove(scratch.path)
    for number in 100..<400 { store.insert(entry(key(number), number: number, size: 3000)) }
    store.flush()
    #expect(events.kinds(store) == [.failing, .recovered])
    #expect(store.usage.diskEntries > 50)
  }

  @Test("A moved directory serves no old entries at its new place", arguments: [0, 64 << 10])
  func moved(writeBuffer: Int) throws {
    let store = try filled(writeBuffer: writeBuffer)
    #expect(rename(scratch.path.string, other.path.string) == 0)
    store.remove(key(3))
    store.insert(entry(key(100), number: 100, tiers: .disk))
    store.flush()
    var configuration = configuration(writeBuffer: 0)
    configuration.directory = other.path
    let elsewhere = try CacheStore(configuration)
    for number in 0...20 { #expect(elsewhere.lookup(key(number)).isEmpty) }
    #expect(holds(try #require(store.lookup(key(100)).first), number: 100))
  }

  @Test("Another store in the place of a lost directory is left alone", arguments: [0, 64 << 10])
  func replaced(writeBuffer: Int) throws {
    let store = try filled(writeBuffer: writeBuffer)
    #expect(rename(scratch.path.string, other.path.string) == 0)
    var configuration = configuration(writeBuffer: writeBuffer)
    configuration.diskObserver = nil
    for isOpen in [true, false] {
      let theirs = try CacheStore(configuration)
      theirs.insert(entry(key(500), number: 500, size: 50_000, tiers: .disk))
      theirs.insert(entry(key(501), number: 501, tiers: .disk))
      theirs.flush()
      if !isOpen { theirs.close() }
      store.flush()
      for number in 100..<200 { store.insert(entry(key(number), number: number, size: 3000)) }
      store.insert(entry(key(200), number: 200, size: 50_000))
      store.removeAll()
      #expect(store.usage.diskEntries == 0)
      if isOpen { theirs.close() }
    }
    let again = try CacheStore(configuration)
    #expect(holds(try #require(again.lookup(key(500)).first), number: 500, size: 50_000))
    #expect(holds(try #require(again.lookup(key(501)).first), number: 501))
    #expect(events.kinds(store) == [.failing])
  }

  @Test(
    "A directory with other files in its place is left alone; a missing one is recreated",
    arguments: [true, false])
  func replacedByOthers(isThere: Bool) throws {
    let store = try filled(writeBuffer: 0)
    #expect(rename(scratch.path.string, other.path.string) == 0)
    if isThere {
      try POSIXFileSystem().createDirectory(scratch.path, withParents: false)
      chmod(scratch.path.string, 0o755)
      try scratch.write([1], to: "notes.txt")
    }
    store.flush()
    for number in 100..<200 { store.insert(entry(key(number), number: number)) }
    if isThere {
      #expect(try scratch.names == ["notes.txt"])
      var status = stat()
      #expect(stat(scratch.path.string, &status) == 0 && status.st_mode & 0o777 == 0o755)
      #expect(store.usage.diskEntries == 0)
    } else {
      #expect(store.usage.diskEntries > 0)
    }
  }

  @Test("A lost directory discards the bodies being written")
  func bodyInTheMaking() throws {
    let store = try filled(writeBuffer: 64 << 10)
    let writers = (0..<2).map { number in
      store.makeWriter(key: key(100 + number), variant: one, metadata: [], storedAt: 0, tiers: .disk)
    }
    for writer in writers { #expect(writer.append(pattern(1, 100_000))) }
    try remove(scratch.path)
    store.flush()
    store.insert(entry(key(200), number: 200, tiers: .disk))
    #expect(writers[0].commit().refusal?.reason == .inputOutput)
    writers[1].cancel()
    #expect(store.lookup(key(100)).isEmpty)
    store.insert(entry(key(201), number: 201, size: 50_000, tiers: .disk))
    store.flush()
    #expect(try isCounted(store))
    #expect(store.usage.diskEntries == 2)
  }
}
