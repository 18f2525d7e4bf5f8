// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import SystemPackage
import Testing

@testable import HTTPCacheStore

@Suite("The disk tier", .timeLimit(.minutes(10)))
struct DiskTests {
  let scratch = ScratchDirectory()

  @Test("All entries are found after reopening or after the process is killed", arguments: [true, false])
  func reopen(closes: Bool) throws {
    var store: CacheStore? = try CacheStore(scratch.configuration(memory: 1 << 20))
    var ids: [EntryID?] = []
    for number in 0..<200 {
      ids.append(store?.insert(entry(key(number), number: number, size: number * 10)).id)
    }
    store?.insert(entry(key(5), two, number: 500))
    let updated = try #require(ids[7])
    store?.updateMetadata(of: updated, key: key(7), metadata: [1], storedAt: 3)
    let fingerprint = store?.fingerprint(of: [1, 2, 3])
    let copy = closes ? nil : try scratch.copy()
    if closes { store?.close() }

    let again = try CacheStore((copy ?? scratch).configuration())
    for number in 0..<200 where number != 7 {
      let found = try #require(again.lookup(key(number)).first { $0.variant == one })
      #expect(holds(found, number: number, size: number * 10) && found.id == ids[number])
    }
    #expect(again.lookup(key(5)).count == 2)
    #expect(again.lookup(key(7)).first?.metadata == [1])
    #expect(again.lookup(key(7)).first?.storedAt == 3)
    #expect(again.fingerprint(of: [1, 2, 3]) == fingerprint)
    #expect(again.usage.diskEntries == 201)
    let next = try #require(again.insert(entry(key(900))).id)
    #expect(ids.allSatisfy { $0.map { $0 < next } ?? false })
    store = nil
  }

  @Test("Removed and replaced entries do not come back after reopening or a kill", arguments: [true, false])
  func removalsLast(closes: Bool) throws {
    let store = try CacheStore(scratch.configuration(memory: 1 << 20))
    for number in 0..<40 { store.insert(entry(key(number), number: number, storedAt: Int64(number) * 1000)) }
    for number in 0..<5 { store.insert(entry(key(number), number: number + 100, storedAt: 0)) }
    store.insert(entry(key(5), number: 105, storedAt: 0, tiers: .memory))
    store.remove(key(10))
    store.remove(key(11), variant: one)
    store.insert(entry(key(10), two, number: 110, storedAt: 0))
    store.removeAll(since: 30_000)
    store.insert(entry(key(35), number: 135, storedAt: 50_000))
    let copy = closes ? nil : try scratch.copy()
    if closes { store.close() }

    let again = try CacheStore((copy ?? scratch).configuration())
    for number in 0..<5 {
      #expect(holds(try #require(again.lookup(key(number)).first), number: number + 100))
    }
    #expect(again.lookup(key(5)).isEmpty)
    #expect(again.lookup(key(10)).map(\.variant) == [two])
    #expect(again.lookup(key(11)).isEmpty)
    #expect((30..<40).filter { !again.lookup(key($0)).isEmpty } == [35])
    again.removeAll()
    let last = try CacheStore(try scratchOf(copy).copy().configuration())
    #expect(last.usage.diskEntries == 0)
  }

  private func scratchOf(_ copy: ScratchDirectory?) -> ScratchDirectory { copy ?? scratch }

  @Test("A removal is synced before it returns, unless nothing was removed")
  func syncing() throws {
    let files = FaultyFileSystem()
    var configuration = scratch.configuration()
    configuration.sync = .removals
    let store = try CacheStore(configuration, files: files)
    store.insert(entry(key(1)))
    let before = files.plan.withLock { $0.syncs }
    store.remove(key(2))
    #expect(files.plan.withLock { $0.syncs } == before)
    store.remove(key(1))
    #expect(files.plan.withLock { $0.syncs } > before)
  }

  @Test("A directory belongs to one store at a time, and the error names its process")
  func directoryInUse() throws {
    let first = try CacheStore(scratch.configuration())
    #expect {
      try CacheStore(scratch.configuration())
    } throws: { error in
      guard case .directoryInUse(scratch.path, POSIXFileSystem.currentProcess) = (error as? StoreError)?.kind
      else {
        return false
      }
      return "\(error)".contains(scratch.path.string)
    }
    first.close()
    _ = try CacheStore(scratch.configuration())
  }

  @Test("A lookup promotes disk entries to memory and marks the key as complete")
  func promotion() throws {
    try CacheStore(scratch.configuration()).insert(entry(key(1), number: 1))
    let store = try CacheStore(scratch.configuration(memory: 1 << 20))
    let unknown = store.residentEntries(for: key(1))
    #expect(unknown.entries.isEmpty && !unknown.isComplete)
    let absent = try #require(store.lookup(key(9), atOnce: true))
    #expect(absent.isEmpty)
    #expect(store.lookup(key(1)).first?.tier == .disk)
    let known = store.residentEntries(for: key(1))
    #expect(known.isComplete && known.entries.first?.tier == .memory)
    store.insert(entry(key(1), two, number: 2, tiers: .disk))
    #expect(!store.residentEntries(for: key(1)).isComplete)
    #expect(store.lookup(key(1)).count == 2)
    #expect(store.residentEntries(for: key(1)).isComplete)
    store.insert(entry(key(2), number: 3))
    #expect(store.residentEntries(for: key(2)).isComplete)
    #expect(store.statistics.diskHits == 2)
  }

  @Test("The disk stays within its capacity and carries hit entries forward")
  func reclaiming() throws {
    let capacity = 1 << 20
    let store = try CacheStore(scratch.configuration(disk: capacity))
    for number in 0..<20 { store.insert(entry(key(number), number: number, size: 1000)) }
    let hot = try #require(store.lookup(key(0)).first)
    store.updateMetadata(of: hot.id, key: key(0), metadata: [5], storedAt: 5)
    for number in 20..<5000 {
      store.insert(entry(key(number), number: number, size: 1000))
      if number % 50 == 0 { #expect(store.lookup(key(0)).first?.metadata == [5]) }
      if number % 500 == 0 { #expect(try scratch.totalBytes <= capacity) }
      #expect(store.usage.diskBytes <= capacity)
    }
    #expect(store.lookup(key(1)).isEmpty)
    #expect(holds(try #require(store.lookup(key(4999)).first), number: 4999, size: 1000))
    #expect(store.statistics.diskCarries > 0 && store.statistics.diskEvictions > 3000)
    #expect(store.usage.diskBytes >= capacity * 8 / 10)
    #expect(try scratch.totalBytes <= store.usage.diskBytes)
    let entries = store.usage.diskEntries
    store.close()
    let again = try CacheStore(scratch.configuration(disk: capacity))
    #expect(again.usage.diskEntries == entries)
    #expect(again.lookup(key(0)).first?.metadata == [5])
  }

  @Test("An entry that is only on disk is updated, even after a move or reopening")
  func updatingMoved() throws {
    let capacity = 1 << 20
    let store = try CacheStore(scratch.configuration(disk: capacity))
    store.insert(entry(key(0), size: 1000, tiers: .disk))
    func add(_ byte: UInt8, in store: CacheStore) throws -> Bool {
      let found = try #require(store.lookup(key(0)).first)
      return store.updateMetadata(of: found, key: key(0), storedAt: found.storedAt) { bytes in
        bytes.withUnsafeBytes { Array($0) } + [byte]
      }
    }
    #expect(try add(1, in: store))
    for number in 1..<3000 {
      store.insert(entry(key(number), number: number, size: 1000))
      if number % 50 == 0 { #expect(store.lookup(key(0)).count == 1) }
    }
    #expect(store.statistics.diskCarries > 0)
    #expect(try add(2, in: store))
    store.close()
    let again = try CacheStore(scratch.configuration(disk: capacity))
    #expect(try add(3, in: again))
    let last = try #require(again.lookup(key(0)).first)
    #expect(Array(last.metadata) == Array("head 0".utf8) + [1, 2, 3])
  }

  @Test("A smaller capacity evicts at once and at reopening")
  func shrinking() throws {
    let store = try CacheStore(scratch.configuration(disk: 8 << 20))
    for number in 0..<3000 { store.insert(entry(key(number), number: number, size: 1000)) }
    #expect(store.usage.diskBytes > 2 << 20)
    store.setCapacity(disk: 2 << 20)
    #expect(store.usage.diskBytes <= 2 << 20 && store.capacity.disk == 2 << 20)
    store.close()
    let again = try CacheStore(scratch.configuration(disk: 1 << 20))
    #expect(again.usage.diskBytes <= 1 << 20)
    #expect(try scratch.totalBytes <= 1 << 20)
  }

  @Test(
    "The directory and its files are made private, even if the directory was not", arguments: [false, true])
  func directoryMode(isOld: Bool) throws {
    try POSIXFileSystem().createDirectory(scratch.path, withParents: false)
    if isOld { try CacheStore(scratch.configuration()).close() }
    chmod(scratch.path.string, 0o755)
    let store = try CacheStore(scratch.configuration())
    store.insert(entry(key(1)))
    store.close()
    func mode(_ path: FilePath) -> mode_t {
      var status = stat()
      return stat(path.string, &status) == 0 ? status.st_mode & 0o777 : 0
    }
    #expect(mode(scratch.path) == 0o700)
    for name in try POSIXFileSystem().list(scratch.path) {
      #expect(mode(scratch.path.appending(name)) == 0o600)
    }
  }
}
