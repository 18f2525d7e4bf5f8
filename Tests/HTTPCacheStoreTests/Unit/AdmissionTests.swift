// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Disk admission", .timeLimit(.minutes(10)))
struct AdmissionTests {
  let scratch = ScratchDirectory()

  private func store(
    memory: Int = 1 << 20, _ admission: DiskAdmission = .secondTime
  ) throws -> CacheStore {
    var configuration = scratch.configuration(memory: memory)
    configuration.diskAdmission = admission
    configuration.largeBodyThreshold = 20_000
    return try CacheStore(configuration)
  }

  @Test("Every entry is admitted to disk by default")
  func everything() throws {
    #expect(CacheStore.Configuration(memoryCapacity: 0).diskAdmission == .everything)
    let store = try store(.everything)
    store.insert(entry(key(1), number: 1))
    #expect(store.usage.diskEntries == 1 && store.statistics.diskRejections == 0)
  }

  @Test("An entry is written to disk the second time it is stored")
  func secondTime() throws {
    let store = try store()
    #expect(store.insert(entry(key(1), number: 1)).id != nil)
    #expect(store.usage.diskEntries == 0 && store.statistics.diskRejections == 1)
    #expect(holds(try #require(store.lookup(key(1)).first), number: 1))
    #expect(store.residentEntries(for: key(1)).isComplete)
    store.insert(entry(key(1), number: 2))
    #expect(store.usage.diskEntries == 1 && store.usage.memoryEntries == 1)
    store.insert(entry(key(1), number: 3))
    #expect(store.statistics.diskRejections == 1)
    store.close()
    let again = try self.store()
    #expect(holds(try #require(again.lookup(key(1)).first), number: 3))
  }

  @Test("A new variant of a key on disk is admitted at once")
  func variants() throws {
    let store = try store()
    for _ in 0..<2 { store.insert(entry(key(1), one, number: 1)) }
    store.insert(entry(key(1), two, number: 2))
    #expect(store.usage.diskEntries == 2)
  }

  @Test("An entry that memory is not asked for or cannot hold is admitted at once")
  func withoutMemory() throws {
    let store = try store()
    store.insert(entry(key(1), number: 1, tiers: .disk))
    store.insert(entry(key(2), number: 2, size: 300_000))
    let writer = store.makeWriter(key: key(3), variant: one, metadata: [], storedAt: 0)
    writer.append(pattern(3, 50_000))
    #expect(writer.commit().id != nil)
    #expect(store.usage.diskEntries == 3 && store.statistics.diskRejections == 0)
  }

  @Test("The first storing of a key is forgotten after many others")
  func forgotten() throws {
    let store = try store(memory: 100_000)
    let limit = try #require(store.doorkeeper).limit
    store.insert(entry(key(0), number: 0))
    for number in 1...2 * limit { store.insert(entry(key(number), number: number, size: 0)) }
    store.insert(entry(key(0), number: 0))
    #expect(store.usage.diskEntries < limit / 50)
    #expect(store.lookup(key(0)).count == 1)
  }

  @Test("Only the recurring keys of a trace are written to disk")
  func trace() throws {
    let store = try store(memory: 20_000)
    var written = 0
    for round in 0..<2 {
      for number in 0..<200 {
        for wanted in [number, 1000 + round * 200 + number] where store.lookup(key(wanted)).isEmpty {
          store.insert(entry(key(wanted), number: wanted))
          written += 1
        }
      }
    }
    #expect(store.usage.diskEntries <= 210 && store.usage.diskEntries >= 190)
    #expect(written > 780)
  }
}
