// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Pinned keys", .timeLimit(.minutes(10)))
struct PinTests {
  let scratch = ScratchDirectory()

  private func configuration(
    memory: Int = 0, disk: Int = 1 << 20, writeBuffer: Int = 0, sync: DiskSync = .never
  ) -> CacheStore.Configuration {
    var configuration = scratch.configuration(memory: memory, disk: disk)
    configuration.largeBodyThreshold = 6000
    configuration.writeBuffer = writeBuffer
    configuration.sync = sync
    return configuration
  }

  /// Stores other entries until their bytes are a multiple of the capacity.
  private func churn(_ store: CacheStore, times: Int, seed: UInt64 = 1) throws {
    var random = SplitMix64(seed: seed)
    var bytes = 0
    while bytes < times * store.capacity.disk {
      let number = Int.random(in: 1000..<1400, using: &random)
      let size = Int.random(in: 0..<(bytes % 7 == 0 ? 40_000 : 6000), using: &random)
      #expect(store.insert(entry(key(number), number: number, size: size)).id != nil)
      for _ in store.lookup(key(number - 3)) {}
      bytes += size + 500
      let (used, capacity) = (store.usage.diskBytes, store.capacity.disk)
      try #require(used <= capacity)
    }
    #expect(store.hasRightSums)
  }

  // MARK: Keeping

  @Test(
    "Pinned entries outlast twenty times the capacity of other entries",
    arguments: [0, 64 << 10, 1 << 20], usually([.removals], long: [DiskSync.never, .removals]))
  func pressure(writeBuffer: Int, sync: DiskSync) throws {
    let configuration = configuration(memory: 20_000, writeBuffer: writeBuffer, sync: sync)
    var store = try CacheStore(configuration)
    // Small and large bodies, two variants, and new metadata.
    for number in 0..<20 { store.insert(entry(key(number), number: number, size: number * 250)) }
    store.insert(entry(key(3), two, number: 33, size: 700))
    for number in 20..<23 { store.insert(entry(key(number), number: number, size: 50_000)) }
    let updated = try #require(store.lookup(key(5)).first)
    for number in 0..<23 { try store.pin(key(number)) }
    store.updateMetadata(of: updated.id, key: key(5), metadata: Array("head 5".utf8), storedAt: 77)
    #expect(store.usage.pinnedKeys == 23 && store.pinned.allSatisfy { $0.isProtected && $0.entryCount > 0 })
    for round in 0..<2 {
      try churn(store, times: 10, seed: UInt64(round))
      for number in 0..<23 {
        let found = store.lookup(key(number))
        #expect(found.count == (number == 3 ? 2 : 1), "\(number)")
        for entry in found {
          let size = number < 20 ? number * 250 : 50_000
          #expect(
            entry.variant == two
              ? holds(entry, number: 33, size: 700) : holds(entry, number: number, size: size))
        }
      }
      #expect(store.lookup(key(5)).first?.storedAt == 77)
      #expect(try scratch.totalBytes <= store.capacity.disk)
      store.close()
      store = try CacheStore(configuration)
      #expect(store.pinned.map(\.key) == (0..<23).map { key($0) })
    }
    #expect(store.statistics.corruptRecords == 0)
  }

  @Test("A pin stays when the entry is replaced, and ends with unpin")
  func replaced() throws {
    let store = try CacheStore(configuration())
    store.insert(entry(key(1), number: 1))
    try store.pin(key(1))
    store.insert(entry(key(1), number: 2, size: 30_000))
    try churn(store, times: 3)
    #expect(holds(try #require(store.lookup(key(1)).only), number: 2, size: 30_000))
    #expect(try store.unpin(key(1)))
    #expect(try !store.unpin(key(1)))
    #expect(store.usage.pinnedBytes == 0 && store.pinned.isEmpty)
    for _ in 0..<2 { try churn(store, times: 3) }
    #expect(store.lookup(key(1)).isEmpty)
  }

  @Test("A key without an entry can be pinned, and its first entry is pinned")
  func beforehand() throws {
    let store = try CacheStore(configuration())
    try store.pin(key(1))
    #expect(store.pinned == [PinnedKey(key: key(1), entryCount: 0, byteCount: 0, isProtected: true)])
    store.insert(entry(key(1), number: 1, size: 3000))
    try churn(store, times: 3)
    #expect(holds(try #require(store.lookup(key(1)).only), number: 1, size: 3000))
  }

  @Test("Pinning writes an entry to the disk that only memory has, with its id")
  func memoryOnly() throws {
    var configuration = configuration(memory: 1 << 20)
    configuration.diskAdmission = .secondTime
    let store = try CacheStore(configuration)
    let id = store.insert(entry(key(1), number: 1)).id
    store.insert(entry(key(2), number: 2, size: 20_000))
    #expect(store.usage.diskEntries == 0)
    try store.pin(key(1))
    try store.pin(key(2))
    #expect(store.usage.diskEntries == 2 && store.pinned.allSatisfy { $0.isProtected && $0.entryCount == 1 })
    store.clearMemory()
    #expect(store.lookup(key(1)).only?.id == id)
    #expect(holds(try #require(store.lookup(key(2)).only), number: 2, size: 20_000))
    try store.pin(key(3))
    store.insert(entry(key(3), number: 3))
    store.insert(entry(key(4), number: 4))
    #expect(store.usage.diskEntries == 3)
  }

  @Test("Entries in the oldest segment of a full disk can be pinned", arguments: [14_000, 5000, 60_000])
  func oldest(size: Int) throws {
    var configuration = configuration()
    configuration.largeBodyThreshold = 16 << 10
    let store = try CacheStore(configuration)
    try churn(store, times: 1)
    for number in 0..<8 {
      store.insert(entry(key(7), VariantID(rawValue: UInt64(number)), number: number, size: size))
    }
    // Until the next insert would reclaim their segment.
    var number = 2000
    while let disk = store.disk, let first = disk.log.withLock({ $0.segments.first?.number }),
      disk.catalog.withLock({ catalog in
        catalog.index.slots(for: store.hasher.hash(key(7))).allSatisfy {
          catalog.index[$0].location.segment > first
        }
      })
    {
      store.insert(entry(key(number), number: number, size: 3000))
      number += 1
    }
    let before = store.lookup(key(7)).count
    #expect(before > 0)
    do throws(StoreError) {
      try store.pin(key(7))
    } catch {
      // Only because of their bytes.
      #expect(error.code == .pinLimit && before * size > store.capacity.pinned)
      return
    }
    #expect(store.lookup(key(7)).count == before)
    try churn(store, times: 3)
    #expect(store.lookup(key(7)).count == before)
  }

  // MARK: Limits

  @Test("Pinning beyond the limit throws an error that says the sizes, and changes nothing")
  func limit() throws {
    var configuration = configuration()
    configuration.pinnedShare = 0.1
    let store = try CacheStore(configuration)
    #expect(store.capacity.pinned == (1 << 20) / 10)
    for number in 0..<4 { store.insert(entry(key(number), number: number, size: 40_000)) }
    try store.pin(key(0))
    try store.pin(key(1))
    let error = #expect(throws: StoreError.self) { try store.pin(key(2)) }
    #expect(error?.code == .pinLimit)
    #expect(error?.description.contains("the limit is 104857; unpin other keys") == true)
    #expect(!store.isPinned(key(2)) && store.usage.pinnedKeys == 2)
    try store.unpin(key(0))
    try store.pin(key(2))
    #expect(store.usage.pinnedBytes <= store.capacity.pinned)
    // An insert beyond the limit is stored, and not pinned.
    #expect(store.insert(entry(key(1), number: 9, size: 90_000)).id != nil)
    #expect(store.pinned.map(\.isProtected) == [false, true])
    #expect(throws: StoreError.self) { try store.pin(key(1)) }
    #expect(store.isPinned(key(1)))
    try churn(store, times: 3)
    #expect(store.lookup(key(1)).isEmpty && store.lookup(key(2)).count == 1)
  }

  @Test("The list of pinned keys is limited")
  func manyKeys() throws {
    let store = try CacheStore(configuration())
    var count = 0
    let error = #expect(throws: StoreError.self) {
      for number in 0..<1000 {
        try store.pin(key(number))
        count += 1
      }
    }
    #expect(error?.code == .pinLimit && count > 300 && store.usage.pinnedKeys == count)
    #expect(try scratch.totalBytes <= store.usage.diskBytes)
  }

  @Test("Pinning needs a disk", arguments: [false, true])
  func withoutDisk(hasDirectory: Bool) throws {
    let store = try CacheStore(hasDirectory ? configuration() : .init(memoryCapacity: 1 << 20))
    store.setCapacity(disk: 0)
    let error = #expect(throws: StoreError.self) { try store.pin(key(1)) }
    #expect(error?.code == .noDisk && error?.description.contains("directory") == true)
    #expect(store.pinned.isEmpty && !store.isPinned(key(1)) && store.capacity.pinned == 0)
    #expect(try !store.unpin(key(1)))
  }

  @Test("A closed store pins nothing")
  func closed() throws {
    let store = try CacheStore(configuration())
    store.close()
    #expect(#expect(throws: StoreError.self) { try store.pin(key(1)) }?.code == .closed)
  }

  @Test("Inserts end, and lose no pinned entry, when pins and unfinished bodies fill the disk")
  func nearlyFull() throws {
    var configuration = configuration(sync: .removals)
    configuration.pinnedShare = 0.75
    let store = try CacheStore(configuration)
    var pinned = 0
    while true {
      store.insert(entry(key(pinned), number: pinned, size: 5000))
      guard (try? store.pin(key(pinned))) != nil else { break }
      pinned += 1
    }
    #expect(pinned > 100)
    let writer = store.makeWriter(key: key(9000), variant: one, metadata: [], storedAt: 0, tiers: .disk)
    while writer.append(pattern(1, 10_000)) {
      #expect(store.usage.diskBytes <= store.capacity.disk)
    }
    let before = store.statistics.diskBytesWritten
    for number in 2000..<2400 { store.insert(entry(key(number), number: number, size: 5000)) }
    // Refused inserts do not copy what is pinned.
    #expect(store.statistics.diskBytesWritten - before < 20 << 20)
    for number in 0..<200 { store.remove(key(2000 + number)) }
    #expect((0..<pinned).allSatisfy { store.lookup(key($0)).count == 1 })
    writer.cancel()
    try churn(store, times: 2)
    #expect((0..<pinned).allSatisfy { store.lookup(key($0)).count == 1 })
  }

  @Test("A lowered capacity keeps as many pinned entries as it can", arguments: [false, true])
  func lowered(reopening: Bool) throws {
    let capacity = usually(6 << 20, long: 16 << 20)
    var store = try CacheStore(configuration(disk: capacity, writeBuffer: 64 << 10))
    try churn(store, times: 1)
    for number in 0..<100 {
      store.insert(entry(key(number), number: number, size: number % 10 == 0 ? 20_000 : 5000))
      try store.pin(key(number))
    }
    try churn(store, times: 1)
    if reopening {
      store.close()
      store = try CacheStore(configuration(disk: 2 << 20, writeBuffer: 64 << 10))
    } else {
      store.setCapacity(disk: 2 << 20)
    }
    #expect(store.capacity.disk == 2 << 20 && store.usage.diskBytes <= 2 << 20)
    #expect((0..<100).allSatisfy { store.lookup(key($0)).count == 1 })
    try churn(store, times: 3)
    #expect((0..<100).allSatisfy { store.lookup(key($0)).count == 1 })
    if reopening {
      store.close()
      store = try CacheStore(configuration(disk: 1 << 20))
    } else {
      store.setCapacity(disk: 1 << 20)
    }
    #expect(store.usage.diskBytes <= 1 << 20 && store.usage.pinnedBytes <= store.capacity.pinned)
    try churn(store, times: 3)
    let left = (0..<100).count { store.lookup(key($0)).count == 1 }
    #expect(left > 60 && store.usage.pinnedKeys == 100)
    #expect(try scratch.totalBytes <= 1 << 20)
  }

  // MARK: Removing

  @Test("Removals concern pinned entries; those of a key and of everything also end pins")
  func removals() throws {
    let store = try CacheStore(configuration(memory: 100_000))
    for number in 0..<5 {
      store.insert(entry(key(number), number: number, storedAt: Int64(number) * 10_000))
      try store.pin(key(number))
    }
    store.remove(key(0), variant: one)
    #expect(store.lookup(key(0)).isEmpty && store.isPinned(key(0)))
    store.remove(key(1), keepingPin: true)
    #expect(store.lookup(key(1)).isEmpty && store.isPinned(key(1)))
    store.sweep(covering { $0 == key(2) }) { _ in .remove }
    #expect(store.lookup(key(2)).isEmpty && store.isPinned(key(2)))
    store.removeAll(since: 40_000)
    #expect(store.lookup(key(4)).isEmpty && store.isPinned(key(4)))
    #expect(store.remove(key(3)) == 1 && !store.isPinned(key(3)))
    #expect(store.usage.pinnedBytes == 0 && store.pinned.count == 4)
    store.removeAll()
    #expect(store.pinned.isEmpty)
    store.close()
    #expect(try CacheStore(configuration()).pinned.isEmpty)
  }

  // MARK: Damage and failures

  @Test("Damage of the files with the pins costs pins at most, and is counted")
  func damage() throws {
    let store = try CacheStore(configuration())
    for number in 0..<3 {
      store.insert(entry(key(number), number: number))
      try store.pin(key(number))
    }
    store.close()
    for name in ["pins-0", "pins-1"] {
      let bytes = try scratch.bytes(of: name)
      let places = stride(from: 0, to: bytes.count, by: usually(5, long: 1))
      let changes =
        places.map { index in
          var changed = bytes
          changed[index] ^= 4
          return changed
        } + places.map { Array(bytes[..<$0]) } + [bytes + [0]]
      for changed in changes {
        let other = try scratch.copy()
        try other.write(changed, to: name)
        let store = try CacheStore(other.configuration(disk: 1 << 20))
        #expect(store.statistics.corruptRecords == 1)
        #expect(try StoreInspection(directory: other.path).verify().leftovers.count == 1)
        #expect((0..<3).allSatisfy { store.lookup(key($0)).count == 1 })
        // The third pin is in the file of an odd number; the other has the first two.
        #expect(store.pinned.map(\.key) == (0..<(name == "pins-1" ? 2 : 3)).map { key($0) })
        try store.pin(key(9))
        store.close()
        #expect(try CacheStore(other.configuration(disk: 1 << 20)).isPinned(key(9)))
      }
    }
    for name in ["pins-0", "pins-1"] { try scratch.write([1, 2, 3], to: name) }
    let again = try CacheStore(configuration())
    #expect(again.pinned.isEmpty && again.statistics.corruptRecords == 2)
    #expect((0..<3).allSatisfy { again.lookup(key($0)).count == 1 })
  }

  @Test(
    "A pin that cannot be written is not acknowledged",
    arguments: [FaultyFileSystem.Operation.write, .sync, .create])
  func failingFile(operation: FaultyFileSystem.Operation) throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(configuration(sync: .removals), files: files)
    store.insert(entry(key(1), number: 1))
    store.insert(entry(key(2), number: 2))
    try store.pin(key(1))
    files.set { $0.failing = [operation: EIO] }
    #expect(#expect(throws: StoreError.self) { try store.pin(key(2)) }?.code == .inputOutput)
    #expect(!store.isPinned(key(2)) && store.isPinned(key(1)) && store.statistics.ioErrors > 0)
    files.set { $0.failing = [:] }
    #expect(try CacheStore(scratch.copy().configuration(disk: 1 << 20)).isPinned(key(1)))
    try store.pin(key(2))
    store.close()
    #expect(try CacheStore(configuration()).pinned.map(\.key) == [key(1), key(2)])
  }

  @Test(
    "Failures while pinned entries are carried forward lose none of them",
    arguments: [FaultyFileSystem.Operation.create, .write, .sync, .unlink, .truncate], [0, 64 << 10])
  func failingCarrying(operation: FaultyFileSystem.Operation, writeBuffer: Int) throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(configuration(writeBuffer: writeBuffer, sync: .removals), files: files)
    for number in 0..<30 {
      store.insert(entry(key(number), number: number, size: 3000))
      try store.pin(key(number))
    }
    for round in 0..<usually(6, long: 20) {
      files.set { $0.failing = [:] }
      try #require(store.usage.diskBytes <= store.capacity.disk)
      for number in 0..<60 { store.insert(entry(key(1000 + number), number: number, size: 5000)) }
      files.set { $0.failing = [operation: round % 2 == 0 ? EIO : ENOSPC] }
      for number in 0..<60 { store.insert(entry(key(2000 + number), number: number, size: 5000)) }
    }
    files.set { $0.failing = [:] }
    for number in 0..<30 {
      #expect(holds(try #require(store.lookup(key(number)).first, "\(number)"), number: number, size: 3000))
    }
    store.close()
    let again = try CacheStore(configuration())
    #expect((0..<30).allSatisfy { again.lookup(key($0)).count == 1 } && again.usage.pinnedKeys == 30)
  }

  @Test("A directory that is lost takes its pins along")
  func lostDirectory() throws {
    let store = try CacheStore(configuration(memory: 100_000))
    store.insert(entry(key(1), number: 1))
    try store.pin(key(1))
    for name in try scratch.names { try POSIXFileSystem().unlink(scratch.path.appending(name)) }
    store.insert(entry(key(2), number: 2, size: 20_000))
    #expect(!store.isPinned(key(1)) && store.usage.pinnedBytes == 0)
    try store.pin(key(2))
    store.close()
    #expect(try CacheStore(configuration()).pinned.map(\.key) == [key(2)])
  }

  // MARK: At random

  @Test(
    "Pins match a model through random operations, reopening and kills",
    arguments: 0..<usually(1, long: 4) as Range<UInt64>, [0, 64 << 10])
  func model(seed: UInt64, writeBuffer: Int) throws {
    var random = SplitMix64(seed: seed &+ 500)
    var directory = scratch
    func open() throws -> CacheStore {
      var configuration = directory.configuration(memory: 20_000, disk: 1 << 20)
      configuration.largeBodyThreshold = 6000
      configuration.writeBuffer = writeBuffer
      configuration.sync = seed.isMultiple(of: 2) ? .never : .removals
      configuration.pinnedShare = 0.15
      return try CacheStore(configuration)
    }
    var store = try open()
    var pinned: [Int] = []
    // What must be there: the number and the size of each variant of a key that is pinned with all its entries.
    var stored: [Int: [UInt64: (number: Int, size: Int)]] = [:]
    var kept: Set<Int> = []
    var (limits, refused) = (0, 0)
    for step in 0..<usually(800, long: 2500) {
      let number = Int.random(in: 0..<40, using: &random)
      let variant = UInt64.random(in: 0..<2, using: &random)
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<50:
        let isLarge = Int.random(in: 0..<10, using: &random) == 0
        let size = Int.random(in: 0..<(isLarge ? 40_000 : 6000), using: &random)
        let new = entry(
          key(number), VariantID(rawValue: variant), number: step, size: size, storedAt: Int64(step))
        let isStored = store.insert(new).id != nil
        if !isStored { refused += 1 }
        stored[number, default: [:]][variant] = isStored ? (step, size) : nil
      case 50..<60:
        do throws(StoreError) {
          try store.pin(key(number))
          if !pinned.contains(number) { pinned.append(number) }
        } catch {
          #expect(error.code == .pinLimit, "step \(step): \(error)")
          limits += 1
        }
      case 60..<66:
        let wasPinned = try store.unpin(key(number))
        #expect(wasPinned == pinned.contains(number))
        pinned.removeAll { $0 == number }
      case 66..<74:
        for found in store.lookup(key(number)) {
          let size = stored[number]?[found.variant.rawValue]?.size ?? -1
          let name = stored[number]?[found.variant.rawValue]?.number ?? -1
          #expect(holds(found, number: name, size: size), "step \(step)")
          store.updateMetadata(
            of: found.id, key: key(number), metadata: Array("head \(name)".utf8), storedAt: Int64(step))
        }
      case 74..<80:
        store.remove(key(number), variant: VariantID(rawValue: variant))
        stored[number]?[variant] = nil
      case 80..<83:
        store.remove(key(number))
        stored[number] = nil
        pinned.removeAll { $0 == number }
      case 83:
        store.sweep(covering { $0 == key(number) }) { _ in .remove }
        stored[number] = nil
      case 84..<87:
        store.close()
        store = try open()
      case 87..<89:
        store.flush()
        store.disk?.log.flusher.drain()
        directory = try directory.copy()
        store = try open()
      case 89 where step % 10 == 0:
        store.removeAll()
        (pinned, stored) = ([], [:])
      default:
        for other in 0..<4 {
          store.insert(entry(key(5000 + step % 50 * 4 + other), number: step, size: 5000))
        }
      }
      try #require(store.usage.diskBytes <= store.capacity.disk && store.hasRightSums, "step \(step)")
      #expect(store.usage.pinnedBytes <= store.capacity.pinned)
      try #require(store.pinned.map(\.key) == pinned.map { key($0) }, "step \(step)")
      let safe = Set(
        store.pinned.filter(\.isProtected).flatMap { pin in
          pinned.first { key($0) == pin.key }.map { (stored[$0] ?? [:]).values.map(\.number) } ?? []
        })
      kept.formIntersection(safe)
      guard step % 20 == 0 else { continue }
      store.disk?.log.flusher.drain()
      #expect(try directory.totalBytes <= store.capacity.disk)
      for pin in store.pinned where pin.isProtected {
        let name = try #require(pinned.first { key($0) == pin.key })
        let found = store.lookup(pin.key)
        // Entries that were stored before the key was pinned may have been evicted.
        for entry in found {
          let must = try #require(stored[name]?[entry.variant.rawValue], "step \(step): came back")
          #expect(holds(entry, number: must.number, size: must.size), "step \(step)")
        }
        let there = Set(found.map(\.variant.rawValue))
        for (variant, must) in stored[name] ?? [:] where !there.contains(variant) {
          // Evicted before it was pinned, or not pinned because of the limit at some time: known from now on.
          let isLost = kept.contains(must.number)
          #expect(!isLost, "step \(step): key \(name), number \(must.number) is lost")
          stored[name]?[variant] = nil
        }
        kept.formUnion(found.compactMap { stored[name]?[$0.variant.rawValue]?.number })
      }
    }
    #expect(store.statistics.corruptRecords == 0 && store.statistics.ioErrors == 0)
    #expect(limits > 0 && refused == 0, "limits \(limits), refused \(refused)")
  }

  // MARK: Threads

  @Test("Concurrent pins, inserts and removals keep the capacity, the sums and the pinned entries")
  func threads() async throws {
    let store = try CacheStore(configuration(memory: 50_000, writeBuffer: 64 << 10))
    for number in 0..<20 {
      store.insert(entry(key(number), number: number, size: number % 4 == 0 ? 10_000 : 3000))
      try store.pin(key(number))
    }
    let violations = Atomic<Int>(0)
    await inParallel(6) { index in
      var random = SplitMix64(seed: UInt64(index))
      for step in 0..<600 {
        let number = Int.random(in: 100..<160, using: &random)
        switch step % 8 {
        case 0: try? store.pin(key(number))
        case 1: _ = try? store.unpin(key(number))
        case 2: store.remove(key(number))
        case 3: _ = store.pinned.count
        default:
          store.insert(
            entry(key(number + step % 5 * 1000), number: number, size: step % 50 == 4 ? 30_000 : 5000))
        }
        let usage = store.usage
        if usage.diskBytes > 1 << 20 { violations.increment() }
        let kept = Int.random(in: 0..<20, using: &random)
        if store.lookup(key(kept)).isEmpty { violations.increment() }
      }
    }
    #expect(violations.value == 0 && store.hasRightSums)
    #expect(try scratch.totalBytes <= 1 << 20)
    let pinned = Set(store.pinned.map(\.key))
    store.close()
    let again = try CacheStore(configuration())
    #expect(Set(again.pinned.map(\.key)) == pinned)
    #expect((0..<20).allSatisfy { again.lookup(key($0)).count == 1 })
  }

  @Test("A sweep updates every entry that is written to the disk by a pin at the same time")
  func sweeping() async throws {
    var configuration = configuration(memory: 4 << 20, disk: 16 << 20)
    configuration.diskAdmission = .secondTime
    let store = try CacheStore(configuration)
    for number in 0..<600 { store.insert(entry(key(number), number: number)) }
    await inParallel(2) { index in
      if index == 0 {
        store.sweep({ _, _ in true }) { _ in .update(metadata: [7]) }
      } else {
        for number in 0..<200 { try? store.pin(key(number * 3)) }
      }
    }
    for isFromDisk in [false, true] {
      for number in 0..<600 {
        for found in store.lookup(key(number)) { #expect(found.metadata == [7], "\(number) \(isFromDisk)") }
      }
      store.clearMemory()
    }
  }

  @Test("A sweep finds what a pin has written meanwhile and memory has evicted")
  func pinnedDuringSweep() throws {
    var configuration = configuration(memory: 1 << 20, disk: 16 << 20)
    configuration.diskAdmission = .secondTime
    let store = try CacheStore(configuration)
    store.insert(entry(key(2), number: 2, tiers: .disk))
    store.insert(entry(key(1), number: 1))
    #expect(store.usage.diskEntries == 1)
    var isFirst = true
    store.sweep({ _, _ in true }) { _ in
      if isFirst {
        isFirst = false
        try? store.pin(key(1))
        store.clearMemory()
      }
      return .remove
    }
    for number in 1...2 { #expect(store.lookup(key(number)).isEmpty) }
  }

  @Test("Without a write buffer, what a lower capacity carries is written when the call returns")
  func carriedAtOnce() throws {
    let store = try CacheStore(configuration(disk: 4 << 20, sync: .removals))
    for number in 0..<600 { store.insert(entry(key(number), number: number, size: 5000)) }
    for number in 0..<600 { _ = store.lookup(key(number)) }
    store.setCapacity(disk: 2 << 20)
    #expect(store.disk?.log.bufferedBytes == 0)
    let present = (0..<600).filter { !store.lookup(key($0)).isEmpty }
    // As a crash would leave it.
    let again = try CacheStore(try scratch.copy().configuration(disk: 2 << 20))
    #expect(!present.isEmpty)
    #expect((0..<600).filter { !again.lookup(key($0)).isEmpty } == present)
  }
}
