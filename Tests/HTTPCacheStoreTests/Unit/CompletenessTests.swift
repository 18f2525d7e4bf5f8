// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Completeness of memory beside a disk", .timeLimit(.minutes(10)))
struct CompletenessTests {
  let scratch = ScratchDirectory()

  private func store(memory: Int) throws -> CacheStore {
    var configuration = scratch.configuration(memory: memory)
    configuration.shardCount = 1
    return try CacheStore(configuration)
  }

  @Test("Memory is incomplete for a key once an update evicts one of its variants")
  func updateEvictsSibling() throws {
    let store = try store(memory: 8000)
    store.insert(entry(key(1), two, number: 2, size: 3000))
    let id = try #require(store.insert(entry(key(1), one, number: 1, size: 1000)).id)
    #expect(store.residentEntries(for: key(1)).isComplete)
    store.updateMetadata(of: id, key: key(1), metadata: pattern(9, 5000), storedAt: 5)
    try #require(store.residentEntries(for: key(1)).entries.map(\.variant) == [one])
    #expect(!store.residentEntries(for: key(1)).isComplete)
    #expect(store.lookup(key(1)).map(\.variant) == [one, two])
  }

  @Test("A lookup finds all variants after an update too large for memory")
  func updateTooLarge() throws {
    let store = try store(memory: 8000)
    store.insert(entry(key(1), two, number: 2, size: 1000))
    let id = try #require(store.insert(entry(key(1), one, number: 1, size: 1000)).id)
    #expect(store.updateMetadata(of: id, key: key(1), metadata: pattern(9, 9000), storedAt: 5))
    #expect(store.lookup(key(1)).map(\.variant) == [one, two])
  }

  @Test("Older metadata on disk is not served after a failed update")
  func updateFailsOnDisk() throws {
    let files = FaultyFileSystem()
    var configuration = scratch.configuration(memory: 8000)
    configuration.shardCount = 1
    let store = try CacheStore(configuration, files: files)
    let id = try #require(store.insert(entry(key(1), number: 1, size: 1000)).id)
    files.set { $0.failing = [.write: 28] }
    #expect(store.updateMetadata(of: id, key: key(1), metadata: [9], storedAt: 5))
    files.set { $0.failing = [:] }
    store.insert(entry(key(2), number: 2, size: 7000, tiers: .memory))
    #expect(store.residentEntries(for: key(1)).entries.isEmpty)
    #expect(store.lookup(key(1)).allSatisfy { $0.metadata == [9] })
  }
}
