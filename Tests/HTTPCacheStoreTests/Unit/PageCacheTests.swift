// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Lookups that do not wait for the disk", .timeLimit(.minutes(10)))
struct PageCacheTests {
  let scratch = ScratchDirectory()
  let files = FaultyFileSystem()

  /// What is on disk under a key.
  enum Content: CaseIterable {
    case small, large, updated, severalVariants, ownFile

    var size: Int {
      switch self {
      case .small, .updated, .severalVariants: 100
      case .large: 16 << 10
      case .ownFile: 700_001
      }
    }

    var count: Int { self == .severalVariants ? 2 : 1 }
  }

  /// Stores an entry on disk only.
  private func store(_ content: Content) throws -> CacheStore {
    let store = try CacheStore(scratch.configuration(memory: 1 << 20), files: files)
    let id = store.insert(entry(key(1), number: 1, size: content.size, tiers: .disk)).id
    if content == .severalVariants { store.insert(entry(key(1), two, number: 1, tiers: .disk)) }
    if content == .updated, let id {
      store.updateMetadata(of: id, key: key(1), metadata: Array("head 1".utf8), storedAt: 5)
    }
    return store
  }

  private func isRight(_ found: StoredEntries?, _ content: Content, atOnce: Bool = true) -> Bool {
    guard let found else { return false }
    return found.count == content.count
      && found.allSatisfy {
        $0.tier == .disk && $0.metadata == Array("head 1".utf8)
          && bytes(of: $0.body, atOnce: atOnce) == pattern(1, content.size)
      }
  }

  private func bytes(of body: StoredBody, atOnce: Bool) -> [UInt8]? {
    var bytes: [UInt8] = []
    while bytes.count < body.count {
      guard let piece = try? body.read(from: bytes.count, upTo: 100_000, atOnce: atOnce) else { return nil }
      bytes += piece
    }
    return bytes
  }

  private var reads: Int { files.plan.withLock { $0.reads } }

  @Test(
    "An entry in the page cache is found, counted and copied to memory, and no read may wait",
    arguments: Content.allCases)
  func cached(content: Content) throws {
    let store = try store(content)
    files.set { $0.isCached = true }
    let reads = reads
    #expect(isRight(store.lookup(key(1), atOnce: true), content))
    #expect(self.reads == reads)
    #expect(store.statistics.diskHits == 1 && store.statistics.misses == 0)
    let resident = store.residentEntries(for: key(1))
    #expect(resident.isComplete == (content != .ownFile))
    #expect(resident.entries.count == (content == .ownFile ? 0 : content.count))
    #expect(store.lookup(key(2), atOnce: true)?.isEmpty == true && store.statistics.misses == 1)
  }

  @Test("A record that is not yet written is found at once")
  func buffered() throws {
    var configuration = scratch.configuration(memory: 1 << 20)
    configuration.writeBuffer = 64 << 10
    let store = try CacheStore(configuration, files: files)
    let log = try #require(store.disk).log
    log.flusher.whileIdle(for: log) {
      store.insert(entry(key(1), number: 1, tiers: .disk))
      #expect(isRight(store.lookup(key(1), atOnce: true), .small))
    }
  }

  /// Why a lookup must wait.
  enum Obstacle: CaseIterable {
    case notCached, fails, damaged, isTruncated

    func apply(to plan: inout FaultyFileSystem.Plan) {
      plan.isCached = self != .notCached
      if self == .fails { plan.failing = [.read: 5] }
      if self == .damaged { plan.flippedByte = 70 }
      if self == .isTruncated { plan.readableSize = 80 }
    }
  }

  @Test(
    "A lookup that would wait or fail changes and counts nothing, and the one that may wait does",
    arguments: Content.allCases, Obstacle.allCases)
  func obstacle(content: Content, obstacle: Obstacle) throws {
    let store = try store(content)
    files.set { obstacle.apply(to: &$0) }
    let before = store.statistics
    #expect(store.lookup(key(1), atOnce: true) == nil)
    #expect(store.statistics == before && store.usage.diskEntries == content.count)
    let found = store.lookup(key(1))
    guard obstacle != .notCached else {
      #expect(isRight(found, content, atOnce: false) && store.statistics.diskHits == 1)
      return
    }
    #expect(found.isEmpty && store.usage.diskEntries == 0 && store.statistics.misses == 1)
    #expect(store.statistics.ioErrors == (obstacle == .fails ? content.count : 0))
    #expect(store.statistics.corruptRecords == (obstacle == .fails ? 0 : content.count))
  }

  @Test(
    "A read of a body that would wait or fail changes and counts nothing, and the one that may wait does",
    arguments: Obstacle.allCases, [0, 200_000])
  func body(obstacle: Obstacle, offset: Int) throws {
    let store = try store(.ownFile)
    files.set { $0.isCached = true }
    let body = try #require(store.lookup(key(1), atOnce: true)?.only).body
    files.set { obstacle.apply(to: &$0) }
    let before = store.statistics
    #expect(try !body.prepare(from: offset, atOnce: true))
    #expect(try body.read(from: offset, upTo: 10, atOnce: true) == nil)
    #expect(store.statistics == before && store.usage.diskEntries == 1)
    guard obstacle != .notCached else {
      #expect(try body.prepare(from: offset))
      #expect(try body.read(from: offset, upTo: 10) == pattern(1, 700_001)[offset..<offset + 10])
      return
    }
    #expect(throws: StoreError.self) { try body.prepare(from: offset) }
    #expect(store.usage.diskEntries == 0)
    #expect(store.statistics.ioErrors == (obstacle == .fails ? 1 : 0))
    #expect(store.statistics.corruptRecords == (obstacle == .fails ? 0 : 1))
  }

  enum Change: CaseIterable {
    case removal, clearing, replacement, reclaiming
  }

  @Test(
    "What changes while an entry is read at once waits for no lock, and no old entry stays in memory",
    arguments: Change.allCases, [Content.large, .ownFile])
  func changed(change: Change, content: Content) throws {
    let (store, files) = (try store(content), files)
    files.set {
      $0.isCached = true
      $0.onReadAtOnce = { [weak store, files] in
        files.set { $0.onReadAtOnce = nil }
        switch change {
        case .removal: store?.remove(key(1))
        case .clearing: store?.removeAll()
        case .replacement: store?.insert(entry(key(1), number: 2, tiers: .disk))
        case .reclaiming: store?.setCapacity(disk: 0)
        }
      }
    }
    let found = store.lookup(key(1), atOnce: true)
    if content == .ownFile {
      // The file of the body was removed before it could be opened.
      #expect(found == nil)
    } else {
      #expect(isRight(found, content), "its file is open")
    }
    #expect(store.residentEntries(for: key(1)).entries.isEmpty)
    let next = try #require(store.lookup(key(1), atOnce: true))
    if change == .replacement {
      #expect(holds(try #require(next.only), number: 2))
    } else {
      #expect(next.isEmpty)
    }
  }
}
