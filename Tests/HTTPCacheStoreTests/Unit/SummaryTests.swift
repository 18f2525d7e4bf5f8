// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Segment summaries", .timeLimit(.minutes(10)))
struct SummaryTests {
  let scratch = ScratchDirectory()

  private func segments() throws -> [String] { try scratch.names.filter { $0.hasPrefix("segment-") } }

  /// Several segments with all kinds of records, closed.
  private func fill(disk: Int = 4 << 20) throws {
    let store = try CacheStore(scratch.configuration(disk: disk))
    for number in 0..<1500 { store.insert(entry(key(number), number: number, size: 500)) }
    for number in 0..<50 { store.remove(key(number)) }
    for number in 50..<60 { store.insert(entry(key(number), number: number + 5000, size: 500)) }
    for number in 60..<70 {
      guard let id = store.lookup(key(number)).first?.id else { continue }
      store.updateMetadata(of: id, key: key(number), metadata: Array("head \(number)".utf8), storedAt: 77)
    }
    store.insert(entry(key(3000), number: 3000, size: 200_000))
    store.mark([StoreScope("a")])
    store.close()
  }

  private func check(_ store: CacheStore) throws {
    for number in 0..<50 { #expect(store.lookup(key(number)).isEmpty) }
    for number in 50..<1500 {
      let content = number < 60 ? number + 5000 : number
      let found = try #require(store.lookup(key(number)).first, "\(number)")
      #expect(holds(found, number: content, size: 500))
      if (60..<70).contains(number) { #expect(found.storedAt == 77) }
    }
    let large = try #require(store.lookup(key(3000)).first)
    #expect(holds(large, number: 3000, size: 200_000))
    #expect(store.isMarked(large.id, in: StoreScope("a")))
    #expect(store.usage.diskEntries == 1451 && store.statistics.corruptRecords == 0)
  }

  @Test("Opening reads only the summaries after a clean close")
  func readsNoRecords() throws {
    try fill()
    let files = FaultyFileSystem()
    let segments = try segments().count
    try #require(segments > 3)
    let store = try CacheStore(scratch.configuration(), files: files)
    // The end of each, the marks where there are some, the format file.
    #expect(files.plan.withLock { $0.reads } <= segments * 2 + 2)
    try check(store)
  }

  @Test(
    "A segment with a missing or damaged summary is read from its records",
    arguments: [0, 1, 20, 47, 60, 500])
  func damaged(fromEnd: Int) throws {
    try fill()
    for name in try segments() {
      var bytes = try scratch.bytes(of: name)
      // 0 cuts the summary's last bytes off: those of the last segment only, for it would be damage in any other.
      if fromEnd == 0 {
        guard try name == segments().last else { continue }
        bytes.removeLast(8)
      } else {
        guard bytes.count > fromEnd + 200 else { continue }
        bytes[bytes.count - fromEnd] ^= 4
      }
      try scratch.write(bytes, to: name)
    }
    let store = try CacheStore(scratch.configuration())
    #expect(store.usage.diskEntries == 1451)
    #expect(holds(try #require(store.lookup(key(1400)).first), number: 1400, size: 500))
    #expect(store.lookup(key(7)).isEmpty)
  }

  @Test("A summary covers only new records and leads to the previous one")
  func chained() throws {
    for round in 0..<20 {
      let store = try CacheStore(scratch.configuration())
      for number in 0..<10 { store.insert(entry(key(round * 10 + number), number: round, size: 50)) }
      store.close()
    }
    #expect(try segments().count == 1)
    let size = try scratch.totalBytes
    for _ in 0..<3 { try CacheStore(scratch.configuration()).close() }
    #expect(try scratch.totalBytes == size)
    let files = FaultyFileSystem()
    let store = try CacheStore(scratch.configuration(), files: files)
    #expect(files.plan.withLock { $0.reads } <= 22)
    #expect(store.usage.diskEntries == 200)
    for number in 0..<200 {
      #expect(holds(try #require(store.lookup(key(number)).first), number: number / 10, size: 50))
    }
    // Killed now, what follows the last of them is scanned.
    store.insert(entry(key(500), number: 500))
    store.remove(key(3))
    let again = try CacheStore(scratch.copy().configuration())
    #expect(again.usage.diskEntries == 200 && again.lookup(key(3)).isEmpty)
    again.close()
    #expect(holds(try #require(store.lookup(key(500)).first), number: 500))
  }

  @Test("No summary is read from a file larger than any segment")
  func hugeFile() throws {
    try fill()
    let last = try #require(try segments().last)
    let file = try POSIXFileSystem().open(scratch.path.appending(last), creating: false)
    // Sparse: it takes no room.
    try file.truncate(to: 5 << 30)
    let store = try CacheStore(scratch.configuration())
    #expect(store.usage.diskEntries == 0 && store.usage.diskBytes <= 4 << 20)
    #expect(store.insert(entry(key(1), number: 1)).id != nil)
  }

  @Test("Opening a directory reports the progress by segments")
  func progress() throws {
    try fill()
    let seen = Recorder<OpeningProgress>()
    var configuration = scratch.configuration()
    configuration.openingProgress = { seen.add($0) }
    _ = try CacheStore(configuration)
    let reports = seen.all
    #expect(reports.map(\.segmentsRead) == Array(1...reports.count))
    #expect(reports.allSatisfy { $0.segments == reports.count })
  }

  @Test("Entry ids are not reused after everything was removed")
  func idsGoOn() throws {
    var last = EntryID(rawValue: 0)
    for round in 0..<4 {
      let store = try CacheStore(scratch.configuration())
      for number in 0..<10 {
        let id = try #require(store.insert(entry(key(number), number: number)).id)
        #expect(id > last)
        last = id
      }
      if round < 3 { store.removeAll() } else { store.removeAll(since: 0) }
      #expect(store.usage.diskEntries == 0)
      store.close()
    }
    #expect(try CacheStore(scratch.configuration()).insert(entry(key(1))).id.map { $0 > last } ?? false)
  }
}

@Suite("The disk index", .timeLimit(.minutes(10)))
struct DiskIndexTests {
  /// Counted as the capacities of all that it is made of.
  @Test(
    "The index takes at most 40 bytes for each entry",
    arguments: usually([28_400], long: [100_000, 113_500, 250_000]))
  func bytesPerEntry(count: Int) {
    var index = DiskIndex()
    var generator = SplitMix64(seed: 7)
    var hashes: [UInt64] = []
    for number in 0..<count {
      let hash = generator.next()
      hashes.append(hash)
      _ = index.insert(entry(hash, number), hash: hash)
    }
    #expect(Double(index.bytes) / Double(count) <= 40)
    // Replaced over and over, it stays as it is.
    let before = index.bytes
    for number in 0..<count {
      guard let slot = index.slot(for: hashes[number], id: UInt64(number + 1)) else {
        Issue.record("entry \(number) is not there")
        return
      }
      index.remove(slot)
      let hash = generator.next()
      _ = index.insert(entry(hash, count + number), hash: hash)
      hashes[number] = hash
    }
    #expect(index.count == count && index.bytes == before)
    #expect(hashes.allSatisfy { index.contains($0) })
  }

  @Test("The index finds every variant, and the remaining ones after removals")
  func variants() {
    var index = DiskIndex()
    var generator = SplitMix64(seed: 1)
    var expected: Set<UInt64> = []
    for number in 0..<5000 {
      // Few hashes, so that there are long runs.
      let hash = (generator.next() % 300) &* 0x9E37_79B9_7F4A_7C15
      let entry = entry(hash, number)
      if let old = index.slot(for: hash, fingerprint: entry.fingerprint) {
        expected.remove(index[old].id)
        index.remove(old)
      }
      expected.insert(entry.id)
      let slot = index.insert(entry, hash: hash)
      if number % 3 == 0 {
        index.remove(slot)
        expected.remove(entry.id)
      }
      #expect(index.slots(for: hash).contains(slot) == (number % 3 != 0))
    }
    var found: Set<UInt64> = []
    index.forEach { found.insert($1.id) }
    #expect(found == expected && index.count == expected.count)
  }

  private func entry(_ hash: UInt64, _ number: Int) -> DiskIndexEntry {
    DiskIndexEntry(
      hash: hash, fingerprint: DiskIndexEntry.fingerprint(of: UInt64(number % 7), hash: hash),
      id: UInt64(number + 1), location: RecordLocation(segment: 1, offset: 40, count: 96), storedSeconds: 0)
  }
}
