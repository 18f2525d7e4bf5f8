// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Syncing and power loss", .timeLimit(.minutes(10)))
struct SyncTests {
  private func configuration(_ sync: DiskSync, writeBuffer: Int) -> CacheStore.Configuration {
    var configuration = CacheStore.Configuration(
      memoryCapacity: 0, diskCapacity: 1 << 20, directory: "/simulated")
    configuration.sync = sync
    configuration.writeBuffer = writeBuffer
    configuration.largeBodyThreshold = 10_000
    return configuration
  }

  @Test(
    "When every store is synced, all entries survive a power loss",
    arguments: [0, 64 << 10])
  func everyStore(writeBuffer: Int) throws {
    let files = SimulatedFileSystem()
    let configuration = configuration(.everyStore, writeBuffer: writeBuffer)
    let store = try CacheStore(configuration, files: files)
    for number in 0..<60 {
      // Some in segments, of which it takes several, and some in files of their own, whole or in pieces.
      let size = number.isMultiple(of: 3) ? 11_000 : 3000
      if number.isMultiple(of: 6) {
        let writer = store.makeWriter(
          key: key(number), variant: one, metadata: Array("head \(number)".utf8), storedAt: 1000)
        for start in stride(from: 0, to: size, by: 500) {
          writer.append(pattern(number, size)[start..<min(size, start + 500)])
        }
        try #require(writer.commit().id != nil)
      } else {
        let id = try #require(store.insert(entry(key(number), number: number, size: size)).id)
        // What an update leaves to be written does not keep the next entry from being synced.
        store.updateMetadata(of: id, key: key(number), metadata: Array("head \(number)".utf8), storedAt: 1)
      }
      guard number > 50 || number < 8 else { continue }
      let after = try CacheStore(configuration, files: files.synced)
      for number in 0...number {
        let size = number.isMultiple(of: 3) ? 11_000 : 3000
        #expect(holds(try #require(after.lookup(key(number)).first), number: number, size: size))
      }
    }
    #expect(files.files.keys.filter { DiskFormat.segmentNumber($0) != nil }.count > 1)
  }

  @Test("An entry that cannot be synced is refused and not counted", arguments: [0, 64 << 10])
  func failedSync(writeBuffer: Int) throws {
    let scratch = ScratchDirectory()
    let files = FaultyFileSystem()
    var configuration = configuration(.everyStore, writeBuffer: writeBuffer)
    configuration.directory = scratch.path
    let store = try CacheStore(configuration, files: files)
    store.insert(entry(key(0)))
    files.set { $0.failing = [.sync: 5] }
    for (number, size) in [(1, 50_000), (2, 50_000), (3, 100)] {
      #expect(store.insert(entry(key(number), size: size)).refusal?.reason == .inputOutput)
      #expect(store.lookup(key(number)).isEmpty)
    }
    files.set { $0 = .init() }
    store.flush()
    #expect((0...1000).contains(store.usage.diskBytes - (try scratch.totalBytes)))
  }

  @Test("A removed entry stays removed after a power loss, whichever name change survives")
  func names() throws {
    for kept in 0..<200 {
      let files = SimulatedFileSystem()
      let configuration = configuration(.removals, writeBuffer: 64 << 10)
      let store = try CacheStore(configuration, files: files)
      store.insert(entry(key(0), size: 9000))
      for number in 1..<7 { store.insert(entry(key(number), size: 9000)) }
      store.insert(entry(key(7), size: 9000))
      // In another segment than what is removed, and all that reached the disk.
      store.remove(key(0))
      var number = 8
      func segments() -> Int { files.pendingNames.filter { $0.isRemoved }.count }
      while segments() < 2, number < 400 {
        store.insert(entry(key(number), size: 9000))
        number += 1
      }
      let pending = files.pendingNames
      try #require(pending.contains { $0.isRemoved })
      guard kept < pending.count else { return }
      // One name alone: all others are as they were at the last sync.
      let after = try CacheStore(configuration, files: files.afterPowerLoss { $0 == kept })
      #expect(after.lookup(key(0)).isEmpty, "\(pending[kept])")
    }
  }
}
