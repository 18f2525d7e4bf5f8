// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Steady churn at capacity", .timeLimit(.minutes(10)))
struct ChurnTests {
  let scratch = ScratchDirectory()

  /// New keys without an end, one in ten an overwrite of one that is still there; with `readsPerStore`, some are hit.
  @Test(
    "Churn stays within the capacity, fills it with live entries, and writes little extra",
    arguments: [0, 2], [0, 1 << 18])
  func churn(readsPerStore: Int, writeBuffer: Int) throws {
    var random = SplitMix64(seed: 11)
    let capacity = 8 << 20
    var configuration = scratch.configuration(disk: capacity)
    configuration.writeBuffer = writeBuffer
    let store = try CacheStore(configuration)
    var shares: [Double] = []
    var next = 0
    var atCapacity: StoreStatistics?
    for step in 0..<usually(1800, long: 4000) {
      let isOverwrite = step % 10 == 9
      // Of the last three hundred: about as many as there is room for.
      let number = isOverwrite ? next - Int.random(in: 1...min(300, next), using: &random) : next
      if !isOverwrite { next += 1 }
      store.insert(entry(key(number), number: step, size: 16_384))
      for _ in 0..<readsPerStore {
        _ = store.lookup(key(next - Int.random(in: 1...min(450, next), using: &random)))
      }
      let usage = store.usage
      #expect(usage.diskBytes <= capacity)
      guard step >= 1000 else { continue }
      if atCapacity == nil { atCapacity = store.statistics }
      shares.append(Double(usage.diskLiveBytes) / Double(usage.diskBytes))
      if step.isMultiple(of: 500) {
        store.flush()
        #expect(try scratch.totalBytes <= store.usage.diskBytes)
      }
    }
    store.flush()
    let (before, after) = (try #require(atCapacity), store.statistics)
    let stored = after.diskBytesStored - before.diskBytesStored
    let written = after.diskBytesWritten - before.diskBytesWritten
    #expect(Double(written) / Double(stored) <= 1.3)
    let sum = shares.reduce(0, +)
    #expect(sum / Double(shares.count) >= 0.85)
    #expect((after.diskCarries > 0) == (readsPerStore > 0))
    // What is used of the capacity itself.
    #expect(store.usage.diskBytes >= capacity * 85 / 100)
  }

  @Test("Churn with body files stays within the capacity")
  func largeBodies() throws {
    var configuration = scratch.configuration(disk: 4 << 20)
    configuration.writeBuffer = 64 << 10
    let store = try CacheStore(configuration)
    for step in 0..<300 {
      store.insert(entry(key(step % 60), number: step, size: step % 3 == 0 ? 300_000 : 10_000))
      _ = store.lookup(key((step + 7) % 60))
      #expect(store.usage.diskBytes <= 4 << 20)
      if step % 30 == 0 { #expect(try scratch.totalBytes <= 4 << 20) }
    }
    store.close()
    let again = try CacheStore(scratch.configuration(disk: 4 << 20))
    #expect(again.usage.diskEntries > 5 && again.statistics.corruptRecords == 0)
  }

  @Test("A body of unknown length that proves too large does not empty the disk")
  func hugeBody() throws {
    let store = try CacheStore(scratch.configuration(disk: 8 << 20))
    for number in 0..<700 { store.insert(entry(key(number), number: number, size: 10_000)) }
    let before = store.usage.diskEntries
    let writer = store.makeWriter(key: key(5000), variant: one, metadata: [], storedAt: 0)
    var appended = 0
    while writer.append(pattern(1, 1 << 20)), appended < 100 { appended += 1 }
    #expect(writer.commit().refusal?.reason == .tooLargeForDisk)
    #expect(store.usage.diskEntries >= before * 2 / 5)
    #expect(store.lookup(key(699)).count == 1)
  }
}
