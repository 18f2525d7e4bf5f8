// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

/// Small directories with everything in them, damaged in every way that one byte or one length allows. They are in memory:
/// thousands of openings take seconds.
@Suite("Directories with a single defect", .timeLimit(.minutes(10)))
struct CorruptionTests {
  /// How the store was left that is damaged then.
  enum Ending: CaseIterable {
    /// With a summary at the end of its log.
    case closed
    /// With its records only.
    case killed
  }

  private static let directory = FilePath("/simulated")
  private static let scope = StoreScope("marked")
  /// Bodies of more bytes have files of their own.
  private static let threshold = 300

  private static func open(_ files: SimulatedFileSystem) throws -> CacheStore {
    var configuration = CacheStore.Configuration(
      memoryCapacity: 0, diskCapacity: 1 << 20, directory: directory)
    configuration.largeBodyThreshold = threshold
    configuration.segmentSize = DiskFormat.minimumSegmentSize
    configuration.sync = .never
    // What is stored is in the files at once.
    configuration.writeBuffer = 0
    return try CacheStore(configuration, files: files)
  }

  /// The files of a store with entries that were replaced, updated, removed in every way, and marked.
  private static func files(_ ending: Ending) throws -> [String: [UInt8]] {
    let files = SimulatedFileSystem()
    let store = try open(files)
    for number in [1, 2, 3, 4, 5, 8] {
      store.insert(entry(key(number), number: number, size: 20, storedAt: Int64(number) * 1000))
    }
    store.insert(entry(key(5), two, number: 55, size: 20))
    store.insert(entry(key(2), number: 22, size: 20))
    store.insert(entry(key(10), number: 10, size: threshold + 100))
    store.insert(entry(key(11), number: 11, size: threshold + 100))
    store.remove(key(1))
    store.remove(key(11))
    store.remove(key(5), variant: one)
    store.mark([scope])
    if let id = store.lookup(key(3)).first?.id {
      store.updateMetadata(of: id, key: key(3), metadata: Array("head 3".utf8), storedAt: 9)
    }
    store.removeAll(since: 8000)
    store.insert(entry(key(4), number: 44, size: 20))
    if ending == .closed { store.close() }
    defer { store.close() }
    return files.files
  }

  /// Opens files, and says what must not be.
  ///
  /// - Parameter mayBringBack: whether a removal may be lost: nothing tells that the end of a log is missing.
  private static func problems(of damaged: [String: [UInt8]], mayBringBack: Bool) -> [String] {
    var problems: [String] = []
    let store: CacheStore
    do {
      store = try open(SimulatedFileSystem(damaged))
    } catch {
      return error is StoreError ? [] : ["\(error)"]
    }
    defer { store.close() }
    let removed: Set = [1, 8, 11]
    for number in 1...11 {
      for found in store.lookup(key(number)) {
        let text = String(decoding: found.metadata.dropFirst(5), as: UTF8.self)
        let size = number >= 10 ? threshold + 100 : 20
        guard let body = try? found.body.readAll() else { continue }
        guard let said = Int(text), [number, number * 11].contains(said), Array(body) == pattern(said, size),
          said != 55 || found.variant == two
        else {
          problems.append("key \(number) has the wrong bytes")
          continue
        }
        if mayBringBack { continue }
        if removed.contains(number) || number == 5 && said == 5 || number == 2 && said == 2 {
          problems.append("key \(number), number \(said), came back")
        }
        if said != 44, !(store.mayBeMarked(found.id) && store.isMarked(found.id, in: scope)) {
          problems.append("key \(number) is not marked any more")
        }
      }
    }
    // It goes on.
    let isStored = store.insert(entry(key(20), number: 20)).id != nil
    if !isStored || !(store.lookup(key(20)).first.map { holds($0, number: 20) } ?? false) {
      problems.append("it takes nothing")
    }
    return problems
  }

  @Test(
    "A flipped bit never leads to wrong bytes or brings back a removed entry", arguments: Ending.allCases)
  func everyByte(ending: Ending) throws {
    let files = try Self.files(ending)
    #expect(Self.problems(of: files, mayBringBack: false).isEmpty)
    for (name, bytes) in files {
      for index in stride(from: 0, to: bytes.count, by: usually(11, long: 1)) {
        var damaged = files
        damaged[name]?[index] ^= 1 << UInt8(index % 8)
        let problems = Self.problems(of: damaged, mayBringBack: false)
        #expect(problems.isEmpty, "\(name), byte \(index)")
      }
    }
  }

  @Test("A file cut to any length never leads to wrong bytes", arguments: Ending.allCases)
  func everyLength(ending: Ending) throws {
    let files = try Self.files(ending)
    for (name, bytes) in files {
      // What is not a summary is the same in both.
      for count in stride(from: 0, to: bytes.count, by: usually(10, long: ending == .closed ? 5 : 1)) {
        var damaged = files
        damaged[name] = Array(bytes[..<count])
        // A body file has no removals in it.
        let problems = Self.problems(of: damaged, mayBringBack: name.hasPrefix("segment-"))
        #expect(problems.isEmpty, "\(name), cut to \(count)")
      }
    }
  }

  @Test(
    "A missing, empty or extended file never leads to wrong bytes", arguments: Ending.allCases)
  func everyFile(ending: Ending) throws {
    let files = try Self.files(ending)
    for (name, bytes) in files {
      for replacement in [nil, [], bytes + bytes, bytes + [UInt8](repeating: 0, count: 4096)] {
        var damaged = files
        damaged[name] = replacement
        let problems = Self.problems(of: damaged, mayBringBack: (replacement?.count ?? 0) < bytes.count)
        #expect(problems.isEmpty, "\(name), \(replacement?.count ?? -1) bytes")
      }
    }
  }

  /// What was removed is removed in a later segment than it was stored in.
  @Test("Damage to one segment brings back nothing that a later segment removed")
  func severalSegments() throws {
    let files = SimulatedFileSystem()
    let store = try Self.open(files)
    for number in 1...3 { store.insert(entry(key(number), number: number, size: 20)) }
    for number in 0..<400 { store.insert(entry(key(1000 + number), number: number, size: 250)) }
    store.remove(key(1))
    store.insert(entry(key(2), number: 22, size: 20))
    store.mark([Self.scope])
    let before = files.files
    store.close()
    try #require(before.keys.filter { $0.hasPrefix("segment-") }.count > 2)
    for (name, bytes) in before where name.hasPrefix("segment-") {
      // Each head and each summary is met, if not each byte of each body.
      for index in stride(from: 0, to: bytes.count, by: 211) {
        var damaged = before
        damaged[name]?[index] ^= 1 << UInt8(index % 8)
        let problems = Self.problems(of: damaged, mayBringBack: false)
        #expect(problems.isEmpty, "\(name), byte \(index)")
      }
    }
  }
}
