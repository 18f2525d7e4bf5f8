// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Store directories", .timeLimit(.minutes(10)))
struct DirectoryTests {
  private static let directory = FilePath("/simulated/cache")

  private static func open(
    _ files: SimulatedFileSystem, whenUnreadable: UnreadableDirectory = .fail, startEmpty: Bool = false
  ) throws -> CacheStore {
    var configuration = CacheStore.Configuration(
      memoryCapacity: 0, diskCapacity: 1 << 20, directory: directory)
    configuration.whenUnreadable = whenUnreadable
    configuration.startEmpty = startEmpty
    configuration.sync = .never
    configuration.writeBuffer = 0
    configuration.largeBodyThreshold = 300
    return try CacheStore(configuration, files: files)
  }

  /// The files of a closed store with two entries, one of them with a body file.
  private static func files() throws -> [String: [UInt8]] {
    let files = SimulatedFileSystem()
    let store = try open(files)
    store.insert(entry(key(1), number: 1))
    store.insert(entry(key(2), number: 2, size: 1000))
    store.close()
    return files.files
  }

  private static func kind(_ open: () throws -> Void) -> StoreError.Kind? {
    do {
      try open()
      return nil
    } catch {
      return (error as? StoreError)?.kind
    }
  }

  /// A format file of some version, with the right checksum.
  private static func format(version: UInt64) -> [UInt8] {
    let bytes = [DiskFormat.magic, version, 7].flatMap { DiskFormat.littleEndianBytes($0) }
    return bytes + DiskFormat.littleEndianBytes(KeyHasher(seed: 0).checksum(bytes))
  }

  @Test("A flipped bit in the format file is reported as damage, not as another version", arguments: 0..<256)
  func flipped(bit: Int) throws {
    var files = try Self.files()
    files["format"]?[bit / 8] ^= 1 << UInt8(bit % 8)
    let system = SimulatedFileSystem(files)
    let found = Self.kind { _ = try Self.open(system) }
    guard case .unreadableDirectory(Self.directory, let what) = found else {
      Issue.record("\(String(describing: found))")
      return
    }
    #expect(what.contains("format"))
    #expect(system.files.filter { $0.key != "lock" } == files.filter { $0.key != "lock" })
    #expect(Self.kind { _ = try StoreInspection(directory: Self.directory, files: system) } == found)
    let store = try Self.open(system, whenUnreadable: .startEmpty)
    #expect(store.discarded?.kind == found && store.usage.diskEntries == 0)
    #expect(store.insert(entry(key(3), number: 3)).id != nil)
    store.close()
    let again = try Self.open(system, whenUnreadable: .startEmpty)
    #expect(again.discarded == nil && again.usage.diskEntries == 1)
  }

  @Test(
    "A directory of an earlier version is discarded, one of a later version only on demand",
    arguments: [0, 1, 3, 0xFFFF_FFFF] as [UInt64])
  func otherVersion(version: UInt64) throws {
    var files = try Self.files()
    files["format"] = Self.format(version: version)
    // What that version may have, and this one does not know.
    files["extents"] = [1, 2, 3]
    let system = SimulatedFileSystem(files)
    let expected = StoreError.Kind.unknownFormat(
      found: UInt32(version), supported: 2, path: Self.directory)
    #expect(Self.kind { _ = try StoreInspection(directory: Self.directory, files: system) } == expected)
    if version > 2 { #expect(Self.kind { _ = try Self.open(system) } == expected) }
    let store = try Self.open(system, whenUnreadable: version < 2 ? .fail : .startEmpty)
    #expect(store.discarded?.kind == expected && store.usage.diskEntries == 0)
    #expect(store.statistics.diskFailures == 0)
    #expect(system.files["extents"] == [1, 2, 3])
    #expect(!system.files.keys.contains { $0.hasPrefix("body-") })
  }

  @Test("A missing or truncated format file is reported as damage", arguments: [nil, 0, 8, 31] as [Int?])
  func cutFormat(count: Int?) throws {
    var files = try Self.files()
    files["format"] = count.flatMap { files["format"]?.prefix($0) }.map(Array.init)
    let system = SimulatedFileSystem(files)
    let found = Self.kind { _ = try Self.open(system) }
    guard case .unreadableDirectory = found else {
      Issue.record("\(String(describing: found))")
      return
    }
    #expect(try Self.open(system, whenUnreadable: .startEmpty).usage.diskEntries == 0)
  }

  @Test(
    "A directory with foreign files is refused and left unchanged under every setting",
    arguments: [
      ["notes.txt": Array("mine".utf8)], ["lock": Array("held by me".utf8)], ["lock": [], "data": []],
      ["format": Array("# My format".utf8), "a": [1]], ["format": pattern(1, 40)],
      ["format": [UInt8](repeating: 9, count: 32), "photo.png": [1]], ["removals": pattern(1, 16)],
      ["body-000000000000000a": [1, 2]], ["segment-1": [1, 2]], ["segment-00000000000000zz": []],
      ["lost+found": [], "x": []],
    ] as [[String: [UInt8]]], UnreadableDirectory.allCases)
  func foreign(files: [String: [UInt8]], whenUnreadable: UnreadableDirectory) throws {
    for startEmpty in [false, true] {
      let system = SimulatedFileSystem(files)
      let found = Self.kind {
        _ = try Self.open(system, whenUnreadable: whenUnreadable, startEmpty: startEmpty)
      }
      guard case .notACache(Self.directory, let name?) = found else {
        Issue.record("\(String(describing: found))")
        return
      }
      #expect(files.keys.contains(name) && system.files == files)
      #expect(Self.kind { _ = try StoreInspection(directory: Self.directory, files: system) } == found)
    }
  }

  @Test(
    "An empty directory, or one left by a crash during creation, is accepted",
    arguments: [
      [:], ["lost+found": []], ["lock": []], ["lock": Array("4711".utf8)], ["lock": [0, 0, 0, 0]],
      ["lock": Array("12".utf8), "format": []], ["lock": [], "format": Array("HTPCA".utf8)],
      ["lock": [], "format": [UInt8](repeating: 0, count: 32)], ["format": Array("HTPCACHE".utf8)],
    ] as [[String: [UInt8]]])
  func empty(files: [String: [UInt8]]) throws {
    let system = SimulatedFileSystem(files)
    #expect(
      Self.kind { _ = try StoreInspection(directory: Self.directory, files: system) }
        == .notACache(path: Self.directory, file: nil))
    let store = try Self.open(system)
    #expect(store.insert(entry(key(1), number: 1)).id != nil && store.discarded == nil)
    store.close()
    #expect(try Self.open(system).usage.diskEntries == 1)
    #expect((system.files["lost+found"] != nil) == (files["lost+found"] != nil))
  }

  @Test("Files that others add to the directory are kept, even when the cache starts empty")
  func guests() throws {
    var files = try Self.files()
    files["README"] = [1]
    let system = SimulatedFileSystem(files)
    let store = try Self.open(system)
    #expect(store.usage.diskEntries == 2)
    store.close()
    let empty = try Self.open(system, startEmpty: true)
    #expect(empty.usage.diskEntries == 0 && system.files["README"] == [1])
  }

  @Test("A directory error says what is wrong, where, and what to do")
  func texts() {
    for (kind, parts) in [
      (
        StoreError.Kind.unknownFormat(found: 9, supported: 2, path: "/a/b"),
        ["/a/b", "version 9", "reads 2", "whenUnreadable", ".startEmpty"]
      ),
      (.unreadableDirectory(path: "/a/b", what: "the checksum"), ["/a/b", "the checksum", "whenUnreadable"]),
      (.notACache(path: "/a/b", file: "c.txt"), ["/a/b", "'c.txt'", "empty"]),
      (.directoryInUse(path: "/a/b", byProcess: 4711), ["/a/b", "4711", "another directory"]),
    ] {
      let text = StoreError(kind).description
      for part in parts { #expect(text.contains(part), "\(text)") }
    }
  }

  @Test("The directory is created with its parents, and all of them are private")
  func nested() throws {
    let scratch = ScratchDirectory()
    let middle = scratch.path.appending("a")
    let path = middle.appending("b")
    defer {
      for name in (try? POSIXFileSystem().list(path)) ?? [] { unlink(path.appending(name).string) }
      rmdir(path.string)
      rmdir(middle.string)
    }
    var configuration = scratch.configuration()
    configuration.directory = path
    let store = try CacheStore(configuration)
    #expect(store.insert(entry(key(1), number: 1)).id != nil)
    store.close()
    for path in [middle, path] {
      var status = stat()
      #expect(stat(path.string, &status) == 0 && status.st_mode & 0o777 == 0o700)
    }
  }

  @Test("A relative directory is resolved to an absolute path")
  func relative() throws {
    let scratch = ScratchDirectory()
    var configuration = scratch.configuration()
    // More steps up than there are lead to the root.
    configuration.directory = FilePath(
      String(repeating: "../", count: 100) + scratch.path.string.dropFirst())
    let store = try CacheStore(configuration)
    #expect(store.disk?.context.directory.isAbsolute == true)
    store.insert(entry(key(1), number: 1))
    #expect(try scratch.names.contains("format"))
    #expect(holds(try #require(store.lookup(key(1)).first), number: 1))
  }

  @Test("A tilde at the beginning stands for the home directory, and elsewhere for itself")
  func home() throws {
    let home = try #require(ProcessInfo.processInfo.environment["HOME"])
    #expect(FilePath("~/a/b").absolute == FilePath(home).appending("a/b"))
    for path in ["/~/a", "./~/a", "~a/b", "a/~"] {
      #expect(FilePath(path).absolute.components.contains { $0.string.hasPrefix("~") }, "\(path)")
    }
  }

  @Test("A directory path at or below a file is a file-system error")
  func file() throws {
    let scratch = ScratchDirectory()
    try POSIXFileSystem().createDirectory(scratch.path, withParents: false)
    try scratch.write([1], to: "file")
    for path in [scratch.path.appending("file"), scratch.path.appending("file").appending("below")] {
      var configuration = scratch.configuration()
      configuration.directory = path
      guard case .io(_, path, ENOTDIR) = Self.kind({ _ = try CacheStore(configuration) }) else {
        Issue.record("\(path)")
        continue
      }
    }
    #expect(try scratch.bytes(of: "file") == [1])
  }
}
