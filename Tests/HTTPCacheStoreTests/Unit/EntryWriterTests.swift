// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Entry writers", .timeLimit(.minutes(10)))
struct EntryWriterTests {
  let scratch = ScratchDirectory()

  /// All that can be read of a body, in random pieces.
  private func readAll(_ writer: EntryWriter, upTo most: Int = .max) -> [UInt8]? {
    var all: [UInt8] = []
    while true {
      guard let piece = writer.read(from: all.count, upTo: most) else { return nil }
      if piece.isEmpty { return all }
      all += piece
    }
  }

  @Test("Appended bytes can be read at any time, from memory and from a file", arguments: [0, 7])
  func reading(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let store = try CacheStore(scratch.configuration(memory: 8 << 20, disk: 16 << 20))
    let writer = store.makeWriter(key: key(1), variant: one, metadata: [], storedAt: 0)
    let body = pattern(1, 700_001)
    var count = 0
    while count < body.count {
      let next = min(body.count, count + Int.random(in: 1..<30_000, using: &random))
      #expect(writer.append(body[count..<next]))
      count = next
      #expect(writer.isInMemory == (count <= store.disk?.largeBodyThreshold ?? 0))
      let offset = Int.random(in: 0...count, using: &random)
      let most = Int.random(in: 1..<100_000, using: &random)
      let found = try #require(writer.read(from: offset, upTo: most))
      #expect(found.elementsEqual(body[offset..<offset + found.count]) && found.count <= min(most, 64 << 10))
      #expect(found.isEmpty == (offset == count))
    }
    #expect(readAll(writer) == body)
    #expect(writer.read(from: -1, upTo: 1) == nil && writer.read(from: 1 << 40, upTo: 1) == [])
    #expect(writer.commit().id != nil)
    #expect(try store.lookup(key(1)).first?.body.readAll().elementsEqual(body) == true)
  }

  /// What becomes of an entry that was written.
  enum End: CaseIterable { case stored, removed, refused, overtaken }

  @Test(
    "A file stays readable whatever becomes of its entry, and takes no room for that",
    arguments: End.allCases, [1000, 65_536, 700_001])
  func committed(_ end: End, size: Int) throws {
    let store = try CacheStore(scratch.configuration(memory: 8 << 20, disk: 16 << 20))
    let writer = store.makeWriter(
      key: key(1), variant: one, metadata: [], storedAt: 0,
      unlessRemovedSince: store.removalToken(for: key(1)))
    let body = pattern(1, size)
    #expect(writer.append(body[...]))
    let isFile = size > 100_000
    #expect(writer.isInMemory != isFile)
    switch end {
    case .stored: #expect(writer.commit().id != nil)
    case .removed:
      #expect(writer.commit().id != nil)
      store.remove(key(1))
    case .refused:
      store.remove(key(1))
      #expect(writer.commit().refusal?.reason == .removedSince)
    case .overtaken:
      #expect(store.insert(entry(key(1))).id != nil)
      #expect(writer.commit(metadata: nil, unless: { _ in true }).refusal?.reason == .overtaken)
    }
    for _ in 0..<2 { #expect(readAll(writer) == (isFile ? body : nil)) }
    let isKept = end == .stored
    #expect(store.lookup(key(1)).isEmpty == (end == .removed || end == .refused))
    if end != .overtaken {
      #expect(try scratch.names.contains { $0.hasPrefix("body-") } == (isKept && isFile))
    }
    writer.cancel()
    #expect(writer.read(from: 0, upTo: 1) == nil)
    #expect(try scratch.names.contains { $0.hasPrefix("body-") } == (isKept && isFile))
    if isKept { #expect(try store.lookup(key(1)).first?.body.readAll().elementsEqual(body) == true) }
  }

  /// How a writer comes to refuse what is added.
  enum Refusal: CaseIterable {
    case tooLargeInMemory, tooLargeOnDisk, tooLong, noFile, noWrite, noRoom, closed
  }

  @Test(
    "After a refusal, only the bytes appended before it are readable",
    arguments: Refusal.allCases)
  func refused(_ refusal: Refusal) throws {
    let files = FaultyFileSystem()
    var configuration = scratch.configuration(memory: 300_000, disk: 4 << 20)
    if refusal == .tooLargeInMemory { configuration.directory = nil }
    let store = try CacheStore(configuration, files: files)
    let before = store.usage.diskBytes
    let writer = store.makeWriter(
      key: key(1), variant: one, metadata: [], storedAt: 0,
      expectedLength: refusal == .tooLong ? 500_000 : nil)
    let isLarge = ![.tooLargeInMemory, .noFile].contains(refusal)
    let size = isLarge ? 450_123 : 50_123
    let body = pattern(1, size + (4 << 20))
    for start in stride(from: 0, to: size, by: 10_007) {
      #expect(writer.append(body[start..<min(size, start + 10_007)]))
    }
    #expect(writer.isInMemory != isLarge)
    var others: [EntryWriter] = []
    var more = 300_000
    switch refusal {
    case .noFile: files.set { $0.failing[.create] = 5 }
    case .noWrite: files.set { $0.failing[.write] = 5 }
    case .tooLargeOnDisk: more = 3 << 20
    case .noRoom:
      // The rest of the disk is for bodies in the making.
      while true {
        let other = store.makeWriter(key: key(2), variant: one, metadata: [], storedAt: 0)
        others.append(other)
        if !other.append(pattern(2, 500_000)) { break }
      }
    case .closed: store.close()
    case .tooLong, .tooLargeInMemory: break
    }
    let refusals = store.statistics.refusals
    let reserved = store.usage.diskBytes
    let isAccepted = writer.append(body[size..<size + more])
    #expect(!isAccepted)
    #expect(!writer.append([1]), "it is over")
    files.set { $0.failing = [:] }
    let expected: RefusalReason =
      switch refusal {
      case .tooLargeInMemory: .tooLargeForMemory
      case .tooLargeOnDisk: .tooLargeForDisk
      case .tooLong: .lengthMismatch
      case .noFile, .noWrite: .inputOutput
      case .noRoom: .noRoom
      case .closed: .closed
      }
    #expect(writer.refusal?.reason == expected && store.statistics.refusals == refusals + 1)
    #expect(writer.isInMemory != isLarge)
    // While a reader may have it, the file keeps its room.
    if isLarge { #expect(store.usage.diskBytes >= reserved) }
    #expect(readAll(writer, upTo: 50_000) == Array(body[..<size]))
    if refusal != .tooLargeInMemory { #expect(try scratch.totalBytes <= store.usage.diskBytes) }
    #expect(writer.commit().refusal?.reason == expected)
    #expect(writer.read(from: 0, upTo: 1) == nil && writer.isInMemory != isLarge)
    others.removeAll()
    #expect(store.statistics.refusals >= refusals + 1 && store.lookup(key(1)).isEmpty)
    if refusal != .closed, refusal != .tooLargeInMemory {
      #expect(try scratch.names.allSatisfy { !$0.hasPrefix("body-") } && store.usage.diskBytes >= before)
      #expect(try scratch.totalBytes <= store.usage.diskBytes)
    }
  }

  @Test("A refused body keeps its space until its writer is cancelled or released", arguments: [true, false])
  func released(isCancelled: Bool) throws {
    let store = try CacheStore(scratch.configuration())
    let before = store.usage.diskBytes
    var writer: EntryWriter? = store.makeWriter(
      key: key(1), variant: one, metadata: [], storedAt: 0, expectedLength: 400_000)
    #expect(writer?.append(pattern(1, 400_000)) == true && writer?.append([1]) == false)
    #expect(store.usage.diskBytes > before + 300_000)
    if isCancelled { writer?.cancel() } else { writer = nil }
    #expect(store.usage.diskBytes == before)
    #expect(writer?.read(from: 0, upTo: 1) == nil)
    #expect(isCancelled == (writer?.commit().refusal?.reason == .lengthMismatch))
    #expect(store.statistics.refusals == 1)
  }

  @Test("A reader that waits for the disk does not block the writer")
  func unlocked() async throws {
    let files = PausingFileSystem()
    let store = try CacheStore(scratch.configuration(), files: files)
    let writer = store.makeWriter(key: key(1), variant: one, metadata: [], storedAt: 0)
    let body = pattern(1, 500_000)
    #expect(writer.append(body[..<400_000]))
    files.onRead.withLock { onRead in
      onRead = {
        // With the lock held, this would wait for itself.
        #expect(writer.append(body[400_000...]))
        #expect(writer.commit().id != nil)
      }
    }
    let read = writer.read(from: 100_000, upTo: 1000)
    #expect(read?.elementsEqual(body[100_000..<101_000]) == true)
    #expect(files.onRead.withLock { $0 } == nil, "the disk was read")
    #expect(try store.lookup(key(1)).first?.body.readAll().elementsEqual(body) == true)
  }

  @Test("Damaged bytes in the file are not returned")
  func damaged() throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(scratch.configuration(), files: files)
    let writer = store.makeWriter(key: key(1), variant: one, metadata: [], storedAt: 0)
    #expect(writer.append(pattern(1, 400_000)))
    files.set { $0.flippedByte = 77 }
    #expect(writer.read(from: 0, upTo: 10) == nil)
    #expect(writer.read(from: 399_990, upTo: 100)?.count == 10)
  }

  @Test("Writers are counted while they live")
  func live() throws {
    let store = CacheStore.inMemory(capacity: 1 << 20)
    // Other tests have writers, too, and more of them than go.
    var writers = (0..<10_000).map { _ in
      store.makeWriter(key: key(1), variant: one, metadata: [], storedAt: 0)
    }
    #expect(LiveCount.Kind.writer.count >= 10_000)
    writers.removeAll()
    #expect(LiveCount.Kind.writer.count < 10_000)
  }
}

/// The machine's file system, which calls something in the middle of the next read.
private final class PausingFileSystem: FileSystem {
  let onRead = Mutex<(@Sendable () -> Void)?>(nil)
  private let base = POSIXFileSystem()

  func createDirectory(_ path: FilePath, withParents: Bool) throws(FileFailure) {
    try base.createDirectory(path, withParents: withParents)
  }

  func makePrivate(_ directory: FilePath) throws(FileFailure) { try base.makePrivate(directory) }
  func open(_ path: FilePath, creating: Bool) throws(FileFailure) -> any File {
    PausingFile(base: try base.open(path, creating: creating), system: self)
  }
  func list(_ directory: FilePath) throws(FileFailure) -> [String] { try base.list(directory) }
  func unlink(_ path: FilePath) throws(FileFailure) { try base.unlink(path) }
  func syncDirectory(_ path: FilePath) throws(FileFailure) { try base.syncDirectory(path) }
  var uptime: Duration { .zero }
}

private final class PausingFile: File {
  let base: any File
  let system: PausingFileSystem

  init(base: any File, system: PausingFileSystem) {
    self.base = base
    self.system = system
  }

  var path: FilePath { base.path }
  var isInPlace: Bool { base.isInPlace }
  func size() throws(FileFailure) -> Int { try base.size() }
  func tryLock() throws(FileFailure) -> Bool { try base.tryLock() }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFailure) -> Int {
    let action = system.onRead.withLock { action in
      defer { action = nil }
      return action
    }
    action?()
    return try base.read(into: buffer, at: offset)
  }
  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(FileFailure) {
    try base.write(buffer, at: offset)
  }
  func truncate(to size: Int) throws(FileFailure) { try base.truncate(to: size) }
  func sync() throws(FileFailure) { try base.sync() }
}
