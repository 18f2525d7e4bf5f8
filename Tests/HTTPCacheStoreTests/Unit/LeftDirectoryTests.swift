// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Directories that are left to another store")
struct LeftDirectoryTests {
  private let scratch = ScratchDirectory()

  private func configuration(_ sync: DiskSync, writeBuffer: Int) -> CacheStore.Configuration {
    var configuration = scratch.configuration(memory: 1 << 20, disk: 1 << 20)
    (configuration.sync, configuration.writeBuffer) = (sync, writeBuffer)
    configuration.largeBodyThreshold = 20_000
    return configuration
  }

  @Test(
    "A store that has left its directory goes on in memory, and touches nothing of the next store",
    arguments: [DiskSync.never, .removals, .everyStore], [0, 64 << 10])
  func goesOn(sync: DiskSync, writeBuffer: Int) throws {
    let old = try CacheStore(configuration(sync, writeBuffer: writeBuffer))
    for number in 0..<20 { old.insert(entry(key(number), number: number)) }
    old.insert(entry(key(20), number: 20, size: 50_000))
    old.insert(entry(key(21), number: 21, tiers: .disk))
    // One body is in a file already, and its reader goes on.
    let begun = old.makeWriter(key: key(30), variant: one, metadata: [], storedAt: 1, expectedLength: 200_000)
    let body = pattern(30, 200_000)
    begun.append(body[..<100_000])
    #expect(!begun.isInMemory)
    let large = try #require(old.lookup(key(20)).first)
    old.leaveDirectory()

    let new = try CacheStore(configuration(sync, writeBuffer: writeBuffer))
    for number in 0..<22 {
      let size = number == 20 ? 50_000 : 100
      #expect(new.lookup(key(number)).contains { holds($0, number: number, size: size) })
    }
    let before = try scratch.totalBytes
    // What memory has, it still has. What only the disk had is a miss.
    for number in 0..<20 { #expect(old.lookup(key(number)).contains { holds($0, number: number) }) }
    #expect(old.lookup(key(21)).isEmpty)
    #expect(holds(large, number: 20, size: 50_000))
    let isTaken = begun.append(body[100_000...])
    let isReadable = begun.read(from: 0, upTo: 65_536).map { areEqual($0, body[..<$0.count]) } ?? false
    #expect(!isTaken && isReadable)
    #expect(begun.commit().id == nil)
    // Nothing reaches the directory, whatever is asked.
    old.setCapacity(disk: 1 << 20)
    for number in 40..<60 {
      #expect(old.insert(entry(key(number), number: number, size: 30_000)).id != nil)
      #expect(old.lookup(key(number)).contains { holds($0, number: number, size: 30_000) })
    }
    old.remove(key(1))
    old.remove(key(2), variant: one)
    old.mark([StoreScope(Array("scope".utf8))])
    old.flush()
    #expect(old.lookup(key(1)).isEmpty && old.lookup(key(2)).isEmpty)
    #expect(old.removeAll() > 0)
    #expect(old.lookup(key(3)).isEmpty)
    old.close()
    #expect(try scratch.totalBytes == before)
    for number in 0..<20 { #expect(new.lookup(key(number)).contains { holds($0, number: number) }) }
    #expect(new.statistics.corruptRecords == 0 && new.statistics.ioErrors == 0)
    new.close()
  }
}
