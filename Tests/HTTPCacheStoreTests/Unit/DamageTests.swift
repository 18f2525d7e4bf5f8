// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Damaged and failing disks", .timeLimit(.minutes(10)))
struct DamageTests {
  let scratch = ScratchDirectory()

  /// A small log with everything in it: replaced, updated, and removed entries. Key 1 was removed, key 2 replaced.
  func fill(sync: DiskSync = .never, _ files: any FileSystem = POSIXFileSystem()) throws {
    var configuration = scratch.configuration()
    configuration.sync = sync
    let store = try CacheStore(configuration, files: files)
    store.insert(entry(key(1), number: 1, size: 20))
    store.insert(entry(key(2), number: 2, size: 20))
    store.insert(entry(key(3), number: 3, size: 20))
    store.insert(entry(key(2), number: 22, size: 20))
    store.remove(key(1))
    if let id = store.lookup(key(3)).first?.id {
      store.updateMetadata(of: id, key: key(3), metadata: Array("head 3".utf8), storedAt: 9)
    }
    store.insert(entry(key(4), number: 4, size: 20))
  }

  /// Opens what is there, and checks that nothing wrong comes out of it.
  func check(
    _ what: @autoclosure () -> String, mayBringBack: Bool = false, _ files: any FileSystem = POSIXFileSystem()
  ) throws {
    let store = try CacheStore(scratch.configuration(), files: files)
    if !mayBringBack, !store.lookup(key(1)).isEmpty { Issue.record("\(what()): key 1 came back") }
    let allowed = [1: [1], 2: mayBringBack ? [2, 22] : [22], 3: [3], 4: [4]]
    for (number, contents) in allowed {
      for found in store.lookup(key(number))
      where !contents.contains(where: { holds(found, number: $0, size: 20) }) {
        Issue.record("\(what()): key \(number) has the wrong bytes")
      }
    }
    // It goes on.
    guard store.insert(entry(key(5), number: 5)).id != nil, let found = store.lookup(key(5)).first,
      holds(found, number: 5)
    else {
      Issue.record("\(what()): it takes nothing")
      return
    }
  }

  /// The same log in memory: thousands of openings take seconds there, and wait for no disk.
  private func segment(sync: DiskSync = .never) throws -> (
    files: [String: [UInt8]], name: String, bytes: [UInt8]
  ) {
    let files = SimulatedFileSystem()
    try fill(sync: sync, files)
    let name = try #require(files.files.keys.first { $0.hasPrefix("segment-") })
    return (files.files, name, files.files[name] ?? [])
  }

  @Test("A flipped byte in the log never gives wrong bytes or a removed entry")
  func everyByteFlipped() throws {
    var (files, name, bytes) = try segment()
    for index in bytes.indices {
      bytes[index] ^= UInt8(1 << (index % 8))
      files[name] = bytes
      try check("byte \(index)", SimulatedFileSystem(files))
      bytes[index] ^= UInt8(1 << (index % 8))
    }
  }

  @Test(
    "A log cut at any length gives an earlier state and respects noted removals",
    arguments: [DiskSync.never, .removals])
  func everyLength(sync: DiskSync) throws {
    var (files, name, bytes) = try segment(sync: sync)
    for count in stride(from: 0, to: bytes.count, by: usually(7, long: 1)) {
      files[name] = Array(bytes[..<count])
      let cut = SimulatedFileSystem(files)
      try check("length \(count)", mayBringBack: sync == .never, cut)
      // And not at the opening after that, which finds what was stored since.
      if sync != .never { try check("length \(count), again", cut) }
    }
  }

  @Test(
    "A log that ends in zeros gives an earlier state and respects noted removals",
    arguments: [DiskSync.never, .removals])
  func zeros(sync: DiskSync) throws {
    var (files, name, bytes) = try segment(sync: sync)
    for count in stride(from: 0, to: bytes.count, by: 8) {
      files[name] = bytes[..<count] + Array(repeating: 0, count: bytes.count - count)
      try check("zeros from \(count)", mayBringBack: sync == .never, SimulatedFileSystem(files))
    }
  }

  @Test("Entries stored after all segments were lost are found again", arguments: [true, false])
  func noSegment(isLeft: Bool) throws {
    try fill(sync: .removals)
    for name in try scratch.names where name.hasPrefix("segment-") {
      try POSIXFileSystem().unlink(scratch.path.appending(name))
    }
    // An opening that writes nothing, before one that does.
    if isLeft { try CacheStore(scratch.configuration()).close() }
    let store = try CacheStore(scratch.configuration())
    for number in 0..<5 { store.insert(entry(key(number), number: number, tiers: .disk)) }
    store.close()
    let again = try CacheStore(scratch.configuration())
    #expect(again.usage.diskEntries == 5 && again.statistics.corruptRecords == 0)
  }

  @Test("A store with a missing or damaged removals file keeps its entries")
  func notes() throws {
    try fill(sync: .removals)
    let note = try scratch.bytes(of: DiskFormat.removalsName)
    #expect(note.count == 16)
    for index in 0..<16 {
      var damaged = note
      damaged[index] ^= 1
      try scratch.write(damaged, to: DiskFormat.removalsName)
      #expect(try CacheStore(scratch.configuration()).usage.diskEntries == 3)
    }
    try scratch.write(Array(note[..<15]), to: DiskFormat.removalsName)
    #expect(try CacheStore(scratch.configuration()).usage.diskEntries == 3)
    try POSIXFileSystem().unlink(scratch.path.appending(DiskFormat.removalsName))
    #expect(try CacheStore(scratch.configuration()).usage.diskEntries == 3)
  }

  @Test("A missing segment invalidates the segments before it")
  func missingSegment() throws {
    let store = try CacheStore(scratch.configuration(disk: 1 << 20))
    for number in 0..<400 { store.insert(entry(key(number), number: number, size: 1000)) }
    store.close()
    let names = try scratch.names.filter { $0.hasPrefix("segment-") }
    try #require(names.count > 4)
    try POSIXFileSystem().unlink(scratch.path.appending(names[2]))
    let again = try CacheStore(scratch.configuration(disk: 1 << 20))
    #expect(again.lookup(key(0)).isEmpty)
    #expect(holds(try #require(again.lookup(key(399)).first), number: 399, size: 1000))
    #expect(try !scratch.names.contains(names[0]))
  }

  @Test(
    "A disk that refuses writes leaves memory working, and recovers", arguments: [ENOSPC, EIO], [true, false])
  func failingWrites(errno: Int32, writesHalf: Bool) throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(scratch.configuration(memory: 1 << 20), files: files)
    store.insert(entry(key(1), number: 1))
    files.set {
      $0.failing = [.write: errno]
      $0.writesHalf = writesHalf
    }
    #expect(store.insert(entry(key(2), number: 2)).id != nil)
    #expect(store.insert(entry(key(3), number: 3, tiers: .disk)).refusal?.reason == .inputOutput)
    #expect(holds(try #require(store.lookup(key(2)).first), number: 2))
    #expect(store.statistics.ioErrors > 0)
    files.set { $0.failing = [:] }
    store.insert(entry(key(4), number: 4))
    let again = try CacheStore(try scratch.copy().configuration())
    #expect(holds(try #require(again.lookup(key(1)).first), number: 1))
    #expect(holds(try #require(again.lookup(key(4)).first), number: 4))
    #expect(again.lookup(key(2)).isEmpty && again.lookup(key(3)).isEmpty)
  }

  @Test("The log continues in another segment after a torn record that cannot be truncated")
  func failingTruncation() throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(scratch.configuration(), files: files)
    store.insert(entry(key(1), number: 1))
    files.set {
      $0.failing = [.write: EIO, .truncate: EIO]
      $0.writesHalf = true
    }
    store.insert(entry(key(2), number: 2))
    files.set { $0 = .init() }
    store.insert(entry(key(3), number: 3))
    let again = try CacheStore(try scratch.copy().configuration())
    #expect(
      again.lookup(key(1)).count == 1 && again.lookup(key(2)).isEmpty && again.lookup(key(3)).count == 1)
  }

  @Test(
    "A removal that cannot be logged or synced is not lost",
    arguments: [FaultyFileSystem.Operation.write, .sync])
  func unloggableRemoval(failing: FaultyFileSystem.Operation) throws {
    let files = FaultyFileSystem()
    var configuration = scratch.configuration()
    configuration.sync = .removals
    let store = try CacheStore(configuration, files: files)
    store.insert(entry(key(1), number: 1))
    store.insert(entry(key(1), number: 11))
    files.set { $0.failing = [failing: ENOSPC] }
    store.remove(key(1))
    #expect(store.lookup(key(1)).isEmpty)
    let again = try CacheStore(try scratch.copy().configuration())
    #expect(again.lookup(key(1)).isEmpty)
  }

  @Test("An unreadable or damaged record is a miss, and the failure is counted", arguments: [true, false])
  func failingReads(fails: Bool) throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(scratch.configuration(), files: files)
    store.insert(entry(key(1), number: 1))
    store.insert(entry(key(2), number: 2))
    files.set { if fails { $0.failing = [.read: EIO] } else { $0.flippedByte = 130 } }
    #expect(store.lookup(key(1)).isEmpty)
    #expect(fails ? store.statistics.ioErrors == 1 : store.statistics.corruptRecords == 1)
    files.set { $0 = .init() }
    // Dropped without a trace in the log, it must not come back after a removal.
    store.remove(key(1))
    let again = try CacheStore(try scratch.copy().configuration())
    #expect(again.lookup(key(1)).isEmpty && again.lookup(key(2)).count == 1)
  }

  @Test(
    "An entry that the process has no descriptor or memory for stays stored",
    arguments: [EMFILE, ENFILE, ENOMEM, EIO])
  func shortage(errno: Int32) throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(scratch.configuration(), files: files)
    let writer = store.makeWriter(key: key(1), variant: one, metadata: [], storedAt: 0)
    #expect(writer.append(pattern(1, 400_000)) && writer.commit().refusal == nil)
    files.set { $0.failing = [.open: errno] }
    #expect(store.lookup(key(1)).isEmpty && store.statistics.ioErrors == 1)
    files.set { $0 = .init() }
    #expect(store.lookup(key(1)).count == (errno == EIO ? 0 : 1))
    #expect(store.usage.diskEntries == (errno == EIO ? 0 : 1))
  }

  @Test("The readers of a body share its file, which is closed after the last")
  func sharedFile() throws {
    let store = try CacheStore(scratch.configuration())
    func reader() throws -> BodyFileReader {
      guard case .file(let reader as BodyFileReader)? = store.lookup(key(1)).first?.body.storage else {
        throw StoreError(.closed)
      }
      return reader
    }
    for number in 1...2 {
      let writer = store.makeWriter(key: key(1), variant: one, metadata: [], storedAt: 0)
      #expect(writer.append(pattern(number, 400_000)) && writer.commit().refusal == nil)
    }
    weak var file: OpenBody?
    do {
      let (first, second) = (try reader(), try reader())
      file = first.body
      #expect(first.body === second.body)
      // The file stays readable, and a body that replaces it has its own.
      let writer = store.makeWriter(key: key(1), variant: one, metadata: [], storedAt: 0)
      #expect(writer.append(pattern(3, 400_000)) && writer.commit().refusal == nil)
      let third = try reader()
      #expect(third.body !== first.body)
      #expect(try first.read(from: 0, upTo: 100, atOnce: false) == pattern(2, 400_000)[..<100])
      #expect(try third.read(from: 0, upTo: 100, atOnce: false) == pattern(3, 400_000)[..<100])
    }
    #expect(file == nil)
  }

  @Test("A large body that fills the disk is refused and leaves no file")
  func failingLargeBody() throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(scratch.configuration(), files: files)
    let writer = store.makeWriter(key: key(1), variant: one, metadata: [], storedAt: 0)
    #expect(writer.append(pattern(1, 400_000)))
    files.set { $0.failing = [.write: ENOSPC] }
    #expect(!writer.append(pattern(1, 400_000)))
    #expect(writer.commit().refusal?.reason == .inputOutput)
    #expect(try scratch.names.allSatisfy { !$0.hasPrefix("body-") })
  }
}

extension DamageTests {
  @Test("Zeros in the middle of the log bring back no removed entry")
  func zerosInTheMiddle() throws {
    var (files, name, bytes) = try segment()
    for start in stride(from: 32, to: bytes.count - 96, by: 8) {
      files[name] = bytes
      files[name]?.replaceSubrange(start..<start + 96, with: repeatElement(0, count: 96))
      try check("zeros at \(start)", SimulatedFileSystem(files))
    }
  }

  @Test(
    "A directory with unexpected file names opens",
    arguments: [
      "segment-00000000ffffffff", "segment-0000000000000000", "segment-+000000000000001",
      "segment-000000000000000A", "body-+000000000000001", "segment-0000000000000002.txt",
    ])
  func strangeNames(name: String) throws {
    try fill()
    try scratch.write([], to: name)
    try check(name)
    try check(name)
  }

  @Test("An unreadable entry that was replaced in memory only does not come back")
  func unreadableThenReplaced() throws {
    let files = FaultyFileSystem()
    let store = try CacheStore(scratch.configuration(memory: 1 << 20), files: files)
    store.insert(entry(key(1), number: 1, tiers: .disk))
    files.set { $0.failing = [.read: EIO] }
    #expect(store.lookup(key(1)).isEmpty)
    files.set { $0 = .init() }
    store.insert(entry(key(1), number: 2, tiers: .memory))
    let again = try CacheStore(try scratch.copy().configuration())
    #expect(again.lookup(key(1)).isEmpty)
  }

  @Test("A failed sync is repeated by the next removal")
  func failedFlush() throws {
    let files = FaultyFileSystem()
    var configuration = scratch.configuration(disk: 1 << 20)
    configuration.sync = .removals
    let store = try CacheStore(configuration, files: files)
    for number in 0..<1200 { store.insert(entry(key(number), number: number, size: 1000)) }
    #expect(store.lookup(key(0)).isEmpty)
    files.set { $0.failing = [.sync: EIO] }
    store.flush()
    files.set { $0 = .init() }
    // Its segment was unlinked, which no sync has made durable yet.
    store.remove(key(0))
    #expect(files.plan.withLock { $0.syncs } > 0)
  }
}
