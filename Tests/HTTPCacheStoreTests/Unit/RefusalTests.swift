// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import SystemPackage
import Testing

@testable import HTTPCacheStore

@Suite("Refusals of a store", .timeLimit(.minutes(10)))
struct RefusalTests {
  private let scratch = ScratchDirectory()

  /// How a store comes to refuse an entry of 600,000 bytes.
  enum Cause: CaseIterable {
    case maximum, share, memory, disk, bothTiers
  }

  @Test(
    "The refusal of an entry that is too large names the limit and the sizes", arguments: Cause.allCases,
    [false, true])
  func tooLarge(cause: Cause, isStreamed: Bool) throws {
    var configuration = scratch.configuration(memory: 300_000, disk: 1 << 20)
    let expected: (reason: RefusalReason, limit: Int)
    switch cause {
    case .maximum:
      configuration.maximumEntrySize = 1000
      expected = (.tooLarge, 1000)
    case .share:
      configuration.maximumEntryShare = 0.125
      expected = (.tooLarge, 128 << 10)
    case .memory:
      configuration.directory = nil
      expected = (.tooLargeForMemory, 300_000)
    case .disk:
      configuration.memoryCapacity = 0
      expected = (.tooLargeForDisk, 512 << 10)
    case .bothTiers:
      configuration.memoryCapacity = 550_000
      expected = (.tooLargeForMemory, 550_000)
    }
    let store = try CacheStore(configuration)
    store.insert(entry(key(1), number: 7))
    let new = entry(key(1), size: 600_000)
    let outcome: InsertOutcome
    if isStreamed {
      let writer = store.makeWriter(
        key: new.key, variant: new.variant, metadata: new.metadata, storedAt: 0, expectedLength: 600_000)
      #expect(!writer.append(new.body))
      outcome = writer.commit()
    } else {
      outcome = store.insert(new)
    }
    let refusal = try #require(outcome.refusal)
    #expect(refusal.reason == expected.reason && refusal.limit == expected.limit)
    #expect(refusal.byteCount == new.key.bytes.count + new.metadata.count + new.body.count)
    #expect(refusal.description.hasSuffix(" bytes, and the limit is \(expected.limit)"))
    // What is refused for its size changes nothing.
    #expect(holds(try #require(store.lookup(key(1)).first), number: 7))
  }

  @Test(
    "An entry that the disk fails to take is refused, and the older one removed", arguments: [100, 300_000])
  func failing(size: Int) throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(scratch.configuration(), files: files)
    store.insert(entry(key(1), number: 7))
    files.set { $0.failing = [.write: EIO] }
    let refusal = try #require(store.insert(entry(key(1), size: size)).refusal)
    #expect(refusal.reason == .inputOutput && refusal.byteCount == nil)
    #expect(store.lookup(key(1)).isEmpty)
  }

  @Test("An announced length of the greatest integer is refused without overflow")
  func announced() throws {
    let store = try CacheStore(.init(memoryCapacity: 1 << 20))
    let writer = store.makeWriter(
      key: key(1), variant: one, metadata: [1], storedAt: 0, expectedLength: .max)
    #expect(!writer.append([1]))
    #expect(writer.commit().refusal?.byteCount == .max)
  }

  @Test("Other refusals have a text and no sizes")
  func otherReasons() throws {
    let store = try CacheStore(.init(memoryCapacity: 0))
    let refusal = try #require(store.insert(entry(key(1))).refusal)
    #expect(refusal.reason == .noCapacity && refusal.reason.description == "noCapacity")
    #expect(refusal.byteCount == nil && refusal.limit == nil)
    #expect(refusal.description == "the store has no capacity, neither in memory nor on disk")
    store.close()
    #expect(store.insert(entry(key(1))).refusal?.description == "the store is closed")
  }
}

@Suite("Refusals for lack of a tier", .timeLimit(.minutes(10)))
struct TierRefusalTests {
  private struct Unavailable: Error {}

  @Test(
    "A refusal tells a missing tier, a store without a capacity and a directory that could not be opened apart",
    arguments: [StoreTiers.all, .memory, .disk])
  func tiers(tiers: StoreTiers) throws {
    let scratch = ScratchDirectory()
    let new = entry(key(1), tiers: tiers)
    let empty = try CacheStore(.init(memoryCapacity: 0))
    let inMemory = try CacheStore(.init(memoryCapacity: 1 << 20))
    let onDisk = try CacheStore(scratch.configuration())
    let lost = CacheStore.inMemory(capacity: 0, insteadOfDisk: Unavailable())
    #expect(empty.insert(new).refusal?.reason == .noCapacity)
    #expect(inMemory.insert(new).refusal?.reason == (tiers == .disk ? .noTier : nil))
    #expect(onDisk.insert(new).refusal?.reason == (tiers == .memory ? .noTier : nil))
    #expect(lost.insert(new).refusal?.reason == (tiers == .memory ? .noCapacity : .diskUnavailable))
    onDisk.setCapacity(disk: 0)
    #expect(onDisk.insert(new).refusal?.reason == .noCapacity)
    for store in [empty, inMemory, onDisk, lost] {
      store.close()
      #expect(store.insert(new).refusal?.reason == .closed)
    }
  }
}

@Suite("Text forms of options", .timeLimit(.minutes(10)))
struct OptionTextTests {
  @Test("Every option is found by its exact name only")
  func names() {
    #expect(EvictionPolicy.allCases.map(\.description) == ["lru", "s3fifo", "hyperbolic"])
    #expect(DiskAdmission.allCases.map(\.description) == ["everything", "secondTime"])
    #expect(DiskSync.allCases.map(\.description) == ["never", "removals", "everyStore"])
    for option in EvictionPolicy.allCases { #expect(EvictionPolicy(option.description) == option) }
    for option in DiskAdmission.allCases { #expect(DiskAdmission(option.description) == option) }
    for option in DiskSync.allCases { #expect(DiskSync(option.description) == option) }
    for option in UnreadableDirectory.allCases {
      #expect(UnreadableDirectory(option.description) == option)
    }
    #expect(EvictionPolicy("LRU") == nil && DiskAdmission("") == nil)
    #expect(DiskSync("always") == nil && UnreadableDirectory("ignore") == nil)
  }
}
