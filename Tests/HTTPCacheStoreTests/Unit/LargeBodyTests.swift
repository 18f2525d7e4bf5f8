// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Large bodies", .timeLimit(.minutes(10)))
struct LargeBodyTests {
  let scratch = ScratchDirectory()
  let size = 700_001

  private func bodyFiles() throws -> [String] { try scratch.names.filter { $0.hasPrefix("body-") } }

  private func write(_ number: Int, _ store: CacheStore, _ key: StoreKey) -> EntryWriter {
    let writer = store.makeWriter(
      key: key, variant: one, metadata: Array("head \(number)".utf8), storedAt: 0, expectedLength: size)
    let body = pattern(number, size)
    for start in stride(from: 0, to: size, by: 10_007) {
      writer.append(body[start..<min(size, start + 10_007)])
    }
    return writer
  }

  @Test("A large body is streamed to its own file, read in pieces, and found after reopening")
  func streaming() throws {
    let store = try CacheStore(scratch.configuration(memory: 4 << 20))
    let writer = write(3, store, key(1))
    #expect(try bodyFiles().count == 1 && store.lookup(key(1)).isEmpty)
    #expect(writer.commit().id != nil)
    #expect(store.usage.memoryEntries == 0)
    for current in [store, nil] {
      if current == nil { store.close() }
      let store = try current ?? CacheStore(scratch.configuration())
      let found = try #require(store.lookup(key(1)).first)
      #expect(found.body.residentBytes == nil && !found.withResidentBody { _ in } && found.body.count == size)
      #expect(!found.body.isResident && !found.body.withResidentBytes { _ in })
      let body = pattern(3, size)
      #expect(try Array(found.body.readAll()) == body)
      for (offset, count) in [(0, 1), (65_535, 2), (65_536, 65_536), (size - 1, 100), (123_456, 300_000)] {
        let expected = body[offset..<min(size, offset + count)]
        let piece = try found.body.read(from: offset, upTo: count)
        #expect(!piece.isEmpty && expected.starts(with: piece))
      }
      #expect(try found.body.read(from: size, upTo: 1).isEmpty)
    }
  }

  @Test("A truncated body is stored only when committed with new metadata", arguments: [5_000, 400_000])
  func brokenOff(count: Int) throws {
    let store = try CacheStore(scratch.configuration(memory: 4 << 20))
    let body = pattern(1, size)
    func write() -> EntryWriter {
      let writer = store.makeWriter(
        key: key(1), variant: one, metadata: Array("whole".utf8), storedAt: 0, expectedLength: size)
      writer.append(body[..<count])
      return writer
    }
    #expect(write().commit().refusal?.reason == .lengthMismatch)
    #expect(store.lookup(key(1)).isEmpty)
    let writer = write()
    #expect(writer.commit(metadata: Array("part".utf8)).id != nil)
    #expect(writer.commit() == writer.commit(metadata: []), "only the first counts")
    store.close()
    let found = try #require(CacheStore(scratch.configuration()).lookup(key(1)).first)
    #expect(Array(found.metadata) == Array("part".utf8))
    #expect(try found.body.readAll() == body[..<count])
  }

  @Test("A large body inserted whole is stored on disk and, if it fits, in memory")
  func inserted() throws {
    let store = try CacheStore(scratch.configuration(memory: 4 << 20))
    store.insert(entry(key(1), number: 1, size: size))
    #expect(store.lookup(key(1)).first?.tier == .memory)
    store.setCapacity(memory: 0)
    let found = try #require(store.lookup(key(1)).first)
    #expect(found.tier == .disk && holds(found, number: 1, size: size))
  }

  @Test("A cancelled, forgotten or crashed writer leaves no body file")
  func cancelled() throws {
    let store = try CacheStore(scratch.configuration())
    let before = store.usage.diskBytes
    write(1, store, key(1)).cancel()
    _ = write(2, store, key(2))
    #expect(try bodyFiles().isEmpty && store.usage.diskBytes == before)
    let open = write(3, store, key(3))
    let copy = try scratch.copy()
    #expect(try copy.names.contains { $0.hasPrefix("body-") })
    let again = try CacheStore(copy.configuration())
    #expect(try !copy.names.contains { $0.hasPrefix("body-") } && again.usage.diskEntries == 0)
    open.cancel()
  }

  @Test("A large body stays readable after its replacement, its removal and the store's closing")
  func readersLast() throws {
    let store = try CacheStore(scratch.configuration())
    write(1, store, key(1)).commit()
    let first = try #require(store.lookup(key(1)).first)
    _ = try first.body.read(from: 0, upTo: 10)
    write(2, store, key(1)).commit()
    let second = try #require(store.lookup(key(1)).first)
    #expect(try bodyFiles().count == 1)
    store.remove(key(1))
    #expect(try bodyFiles().isEmpty)
    store.close()
    #expect(holds(first, number: 1, size: size) && holds(second, number: 2, size: size))
  }

  @Test("A writer that outlives its store touches no file of the next store")
  func writerOutlivesStore() throws {
    let first = try CacheStore(scratch.configuration())
    let writer = write(1, first, key(1))
    first.close()
    let second = try CacheStore(scratch.configuration())
    #expect(write(2, second, key(2)).commit().id != nil)
    writer.cancel()
    #expect(holds(try #require(second.lookup(key(2)).first), number: 2, size: size))
  }

  @Test("A large body counts towards the capacity while it arrives and afterwards")
  func capacity() throws {
    let capacity = 3 << 20
    let store = try CacheStore(scratch.configuration(disk: capacity))
    for number in 0..<20 {
      let writer = write(number, store, key(number))
      #expect(try scratch.totalBytes <= store.usage.diskBytes && store.usage.diskBytes <= capacity)
      #expect(writer.commit().id != nil)
    }
    #expect((2...4).contains(store.usage.diskEntries))
    #expect(holds(try #require(store.lookup(key(19)).first), number: 19, size: size))
    let huge = store.makeWriter(key: key(50), variant: one, metadata: [], storedAt: 0)
    let chunk = [UInt8](repeating: 1, count: 1 << 20)
    while huge.append(chunk) {}
    #expect(huge.commit().refusal?.reason == .tooLargeForDisk)
    #expect(try scratch.totalBytes <= capacity)
  }

  private struct Span: Sendable, CustomTestStringConvertible {
    var start: Int
    var end: Int
    var testDescription: String { "\(start)..<\(end)" }
  }

  @Test(
    "Each block of a body is read from disk once, wherever the read begins",
    arguments: [
      Span(start: 0, end: 700_001), Span(start: 0, end: 10), Span(start: 65_000, end: 65_536),
      Span(start: 65_537, end: 400_000), Span(start: 650_000, end: 700_001),
      Span(start: 700_000, end: 700_001),
    ],
    [false, true])
  private func reads(span: Span, isPrepared: Bool) throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(scratch.configuration(), files: files)
    write(1, store, key(1)).commit()
    let found = try #require(store.lookup(key(1)).first)
    files.set { $0.bytesRead = 0 }
    if isPrepared { for _ in 1...2 { try found.body.prepare(from: span.start) } }
    var bytes: [UInt8] = []
    while span.start + bytes.count < span.end {
      let rest = span.end - span.start - bytes.count
      bytes += try found.body.read(from: span.start + bytes.count, upTo: min(rest, 65_536))
    }
    #expect(bytes[...] == pattern(1, size)[span.start..<span.end])
    let chunks = span.start / 65_536..<(span.end + 65_535) / 65_536
    let content = min(size, chunks.upperBound * 65_536) - chunks.lowerBound * 65_536
    // The table has 8 bytes for each of the 11 chunks.
    #expect(files.plan.withLock { $0.bytesRead } == content + 88)
  }

  @Test("A damaged body is dropped even after its record was carried forward")
  func damageAfterCarrying() throws {
    let store = try CacheStore(scratch.configuration(disk: 2 << 20))
    write(1, store, key(1)).commit()
    let name = try #require(try bodyFiles().first)
    let found = try #require(store.lookup(key(1)).first)
    var bytes = try scratch.bytes(of: name)
    bytes[300_000] ^= 1
    try scratch.write(bytes, to: name)
    let carries = store.statistics.diskCarries
    var number = 10
    while store.statistics.diskCarries == carries, number < 1000 {
      _ = store.lookup(key(1))
      store.insert(entry(key(number), number: number, size: 20_000))
      number += 1
    }
    #expect(store.statistics.diskCarries > carries && !store.lookup(key(1)).isEmpty)
    #expect(throws: StoreError.self) { try found.body.readAll() }
    #expect(store.lookup(key(1)).isEmpty)
    #expect(try bodyFiles().isEmpty)
  }

  @Test(
    "Reading a damaged body throws an error and drops the entry",
    arguments: [0, 70_000, 699_999, 700_002, 700_080])
  func damage(offset: Int) throws {
    let store = try CacheStore(scratch.configuration())
    write(1, store, key(1)).commit()
    let name = try #require(try bodyFiles().first)
    var bytes = try scratch.bytes(of: name)
    bytes[offset] ^= 0x40
    try scratch.write(bytes, to: name)
    let found = try #require(store.lookup(key(1)).first)
    #expect {
      try found.body.readAll()
    } throws: { error in
      guard case .corrupt = (error as? StoreError)?.kind else { return false }
      return true
    }
    #expect(store.lookup(key(1)).isEmpty)
    #expect(store.statistics.corruptRecords == 1)
  }

  @Test(
    "Preparing a read detects a damaged block or table",
    arguments: [(0, 0), (65_535, 0), (70_000, 65_536), (70_000, 100_000), (700_002, 0), (700_080, 699_999)])
  func preparing(damage: Int, offset: Int) throws {
    let store = try CacheStore(scratch.configuration())
    write(1, store, key(1)).commit()
    let name = try #require(try bodyFiles().first)
    var bytes = try scratch.bytes(of: name)
    bytes[damage] ^= 0x40
    try scratch.write(bytes, to: name)
    let found = try #require(store.lookup(key(1)).first)
    #expect(throws: StoreError.self) { try found.body.prepare(from: offset) }
    #expect(store.lookup(key(1)).isEmpty)
    #expect(store.statistics.corruptRecords == 1)
  }
}
