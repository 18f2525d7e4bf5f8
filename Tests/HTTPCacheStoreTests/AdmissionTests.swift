// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("What is admitted to disk", .timeLimit(.minutes(10)))
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

  @Test("is everything, unless said otherwise")
  func everything() throws {
    #expect(CacheStore.Configuration(memoryCapacity: 0).diskAdmission == .everything)
    let store = try store(.everything)
    store.insert(entry(key(1), number: 1))
    #expect(store.usage.diskEntries == 1 && store.statistics.diskRejections == 0)
  }

  @Test("is what is stored for the second time; the first time it is in memory only")
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

  @Test("is another variant of a key that is there")
  func variants() throws {
    let store = try store()
    for _ in 0..<2 { store.insert(entry(key(1), one, number: 1)) }
    store.insert(entry(key(1), two, number: 2))
    #expect(store.usage.diskEntries == 2)
  }

  @Test("is what memory is not asked for, or cannot hold, the first time too")
  func withoutMemory() throws {
    let store = try store()
    store.insert(entry(key(1), number: 1, tiers: .disk))
    store.insert(entry(key(2), number: 2, size: 300_000))
    let writer = store.makeWriter(key: key(3), variant: one, metadata: [], storedAt: 0)
    writer.append(pattern(3, 50_000))
    #expect(writer.commit().id != nil)
    #expect(store.usage.diskEntries == 3 && store.statistics.diskRejections == 0)
  }

  @Test("is not what came so long ago that it is forgotten")
  func forgotten() throws {
    let store = try store(memory: 100_000)
    let limit = try #require(store.doorkeeper).limit
    store.insert(entry(key(0), number: 0))
    for number in 1...2 * limit { store.insert(entry(key(number), number: number, size: 0)) }
    store.insert(entry(key(0), number: 0))
    #expect(store.usage.diskEntries < limit / 50)
    #expect(store.lookup(key(0)).count == 1)
  }

  @Test("is half of what would be written of a trace in which half is asked for once")
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
