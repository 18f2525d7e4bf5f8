// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Disk capacity", .timeLimit(.minutes(10)))
struct CapacityTests {
  let scratch = ScratchDirectory()

  @Test("A disk reduced to a fraction of its capacity still holds many entries")
  func muchSmaller() throws {
    let store = try CacheStore(scratch.configuration(disk: 256 << 20))
    store.setCapacity(disk: 4 << 20)
    for number in 0..<500 { store.insert(entry(key(number), number: number, size: 1000)) }
    #expect(store.usage.diskEntries == 500)
    let large = store.insert(entry(key(900), number: 900, size: 1 << 20))
    #expect(large.id != nil)
    for number in 0..<20 { store.insert(entry(key(number), number: number, size: 700_000)) }
    #expect(store.usage.diskBytes <= 4 << 20 && store.usage.diskEntries > 2)
    #expect(try scratch.totalBytes <= 4 << 20)
  }

  @Test("A capacity below a body being written evicts at once and is reported once reached")
  func loweredBelowReservation() throws {
    let store = try CacheStore(scratch.configuration(disk: 16 << 20))
    for number in 0..<1000 { store.insert(entry(key(number), number: number, size: 4000)) }
    let writer = store.makeWriter(key: key(2000), variant: one, metadata: [], storedAt: 0)
    #expect(writer.append(pattern(1, 3 << 20)))
    store.setCapacity(disk: 1 << 20)
    #expect(store.usage.diskBytes <= store.capacity.disk)
    writer.cancel()
    #expect(store.capacity.disk == 1 << 20 && store.usage.diskBytes <= 1 << 20)
  }

  @Test("A body too large for the disk is refused without eviction")
  func tooLargeForDisk() throws {
    let store = try CacheStore(scratch.configuration(memory: 64 << 20, disk: 2 << 20))
    store.insert(entry(key(1), number: 1, tiers: .disk))
    store.insert(entry(key(2), number: 2, size: 4 << 20))
    #expect(store.lookup(key(1)).count == 1)
    let writer = store.makeWriter(
      key: key(3), variant: one, metadata: [], storedAt: 0, expectedLength: 4 << 20, tiers: .disk)
    #expect(!writer.append(pattern(3, 1 << 20)))
    #expect(writer.commit().refusal?.reason == .tooLargeForDisk)
    #expect(store.lookup(key(1)).count == 1)
  }

  @Test(
    "Usage and files stay within the capacity through churn and reopening",
    arguments: 0..<usually(1, long: 8) as Range<UInt64>)
  func churn(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let capacity = 2 << 20
    func open() throws -> CacheStore {
      var configuration = scratch.configuration(memory: 100_000, disk: capacity)
      configuration.largeBodyThreshold = 20_000
      return try CacheStore(configuration)
    }
    var store = try open()
    var (stored, wrong) = (0, 0)
    for step in 0..<1200 {
      let number = Int.random(in: 0..<300, using: &random)
      // As many small ones as large ones by their bytes.
      let magnitude = Int.random(in: 4...18, using: &random)
      let size = Int.random(in: 0..<1 << magnitude, using: &random)
      if store.insert(entry(key(number), number: size, size: size)).id != nil { stored += size }
      for found in store.lookup(key(Int.random(in: 0..<300, using: &random))) {
        let said = Int(String(decoding: found.metadata.dropFirst(5), as: UTF8.self)) ?? -1
        if !holds(found, number: said, size: said) { wrong += 1 }
      }
      if step % 7 == 0 { store.remove(key(number)) }
      try #require(store.usage.diskBytes <= capacity, "step \(step)")
      if step % 50 == 0 { try #require(try scratch.totalBytes <= store.usage.diskBytes, "step \(step)") }
      #expect(store.hasRightSums)
      guard step % 200 == 199 else { continue }
      // Closed, or left as a crash would leave it.
      let isClosed = step % 400 == 199
      let left = try isClosed ? scratch : scratch.copy()
      if isClosed { store.close() }
      let again = try CacheStore(left.configuration(disk: capacity))
      #expect(again.usage.diskBytes <= capacity && again.hasRightSums)
      again.close()
      if isClosed { store = try open() }
    }
    #expect(wrong == 0 && stored > 4 * capacity)
    #expect(store.statistics.corruptRecords == 0 && store.statistics.ioErrors == 0)
  }
}
