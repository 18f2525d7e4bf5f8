// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import TestSupport
import Testing

@testable import HTTPCacheStore

/// Where the entries are, and how they get there.
private enum Setting: CaseIterable {
  case memory, bothTiers, diskOnly, bodyFiles

  var bodySize: Int { self == .bodyFiles ? 300_000 : 500 }
}

/// Stores an entry unless one is there with a later date.
private func insert(
  _ number: Int, date: Int64, into store: CacheStore, _ setting: Setting, byWriter: Bool,
  onQuestion: () -> Void = {}
) -> InsertOutcome {
  let new = entry(key(number), number: Int(date), size: setting.bodySize, storedAt: date)
  func isOvertaken(_ old: StoredEntry) -> Bool {
    onQuestion()
    return old.storedAt > date
  }
  return withoutActuallyEscaping(isOvertaken) { isOvertaken in
    guard byWriter else { return store.insert(new, unless: isOvertaken) }
    let writer = store.makeWriter(key: new.key, variant: one, metadata: new.metadata, storedAt: date)
    writer.append(new.body)
    return writer.commit(metadata: nil, unless: isOvertaken)
  }
}

@Suite("Conditional inserts", .timeLimit(.minutes(10)))
struct OvertakenTests {
  let scratch = ScratchDirectory()

  private func makeStore(_ setting: Setting) throws -> CacheStore {
    var configuration = scratch.configuration(memory: setting == .diskOnly ? 0 : 4 << 20, disk: 16 << 20)
    if setting == .memory { configuration.directory = nil }
    return try CacheStore(configuration)
  }

  @Test(
    "Of concurrent inserts, the entry with the latest date stays",
    arguments: Setting.allCases)
  fileprivate func race(_ setting: Setting) async throws {
    let store = try makeStore(setting)
    let rounds = setting == .bodyFiles ? 40 : 300
    let threads = 4
    var violations = 0
    for round in 0..<rounds {
      var random = SplitMix64(seed: UInt64(round))
      let dates = Array(Int64(1)...100).shuffled(using: &random).prefix(threads * 3)
      await inParallel(threads) { thread in
        for step in 0..<3 {
          _ = insert(
            round, date: dates[dates.startIndex + thread * 3 + step], into: store, setting,
            byWriter: (thread + step) % 2 == 0, onQuestion: { _ = store.lookup(key(round)) })
        }
      }
      let found = store.lookup(key(round))
      let latest = dates.max() ?? 0
      if found.count != 1 || found.first?.storedAt != latest
        || found.first.map({ holds($0, number: Int(latest), size: setting.bodySize) }) != true
      {
        violations += 1
      }
    }
    #expect(violations == 0)
    #expect(store.statistics.refusals > 0 && store.statistics.corruptRecords == 0)
    if setting == .bodyFiles {
      let files = try scratch.names.filter { $0.hasPrefix("body-") }
      #expect(files.count == store.usage.diskEntries)
    }
  }

  @Test(
    "The condition is asked about the current entry of the same key and variant",
    arguments: Setting.allCases,
    [true, false])
  fileprivate func question(_ setting: Setting, byWriter: Bool) throws {
    let store = try makeStore(setting)
    var asked = 0
    func attempt(date: Int64) -> InsertOutcome {
      insert(1, date: date, into: store, setting, byWriter: byWriter) { asked += 1 }
    }
    store.insert(entry(key(1), two, size: 100, storedAt: 1000))
    store.insert(entry(key(2), size: 100, storedAt: 1000))
    let first = attempt(date: 5)
    #expect(first.id != nil && asked == 0, "there was none")
    let (before, bytes) = (store.statistics, store.usage.diskBytes)
    #expect(attempt(date: 4).refusal?.reason == .overtaken && asked == 1)
    #expect(store.statistics.refusals == before.refusals + 1 && store.statistics.inserts == before.inserts)
    #expect(store.usage.diskBytes == bytes, "a body that was streamed is gone")
    #expect(store.statistics.memoryHits == before.memoryHits && store.statistics.diskHits == before.diskHits)
    let kept = try #require(store.lookup(key(1)).first { $0.variant == one })
    #expect(kept.id == first.id && holds(kept, number: 5, size: setting.bodySize))
    // What was updated counts with its new time.
    try store.updateMetadata(of: #require(first.id), key: key(1), metadata: [7], storedAt: 9)
    #expect(attempt(date: 8).refusal?.reason == .overtaken)
    #expect(attempt(date: 10).id != nil && asked == 3)
    #expect(store.lookup(key(1)).count == 2)
    store.close()
    #expect(attempt(date: 11).refusal?.reason == .closed && asked == 3)
  }

  @Test("The condition is also asked about an entry that is only on disk")
  func evicted() throws {
    let store = try makeStore(.bothTiers)
    #expect(insert(1, date: 5, into: store, .bothTiers, byWriter: false).id != nil)
    store.setCapacity(memory: 0)
    store.setCapacity(memory: 1 << 20)
    #expect(store.peek(key(1)).isEmpty)
    #expect(insert(1, date: 4, into: store, .bothTiers, byWriter: true).refusal?.reason == .overtaken)
    #expect(store.peek(key(1)).isEmpty, "asking copies nothing to memory")
  }
}
