// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

/// What a sweep covers, by its keys.
func covering(_ isMeant: @escaping @Sendable (StoreKey) -> Bool) -> CacheStore.Coverage {
  { key, _ in key.map { isMeant(StoreKey(Array($0))) } ?? false }
}

/// A directory of its own for one test, removed with everything in it.
final class ScratchDirectory {
  let path: FilePath
  /// They live as long as this one.
  private var copies: [ScratchDirectory] = []

  init() {
    let name = "httpcachestore-\(UInt64.random(in: .min ... .max))"
    path = FilePath(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp").appending(name)
  }

  deinit {
    for name in (try? POSIXFileSystem().list(path)) ?? [] {
      _ = path.appending(name).withPlatformString { unlink($0) }
    }
    _ = path.withPlatformString { rmdir($0) }
  }

  var names: [String] {
    get throws { try POSIXFileSystem().list(path).sorted() }
  }

  func bytes(of name: String) throws -> [UInt8] {
    let file = try POSIXFileSystem().open(path.appending(name), creating: false)
    return try file.read(try file.size(), at: 0) ?? []
  }

  func write(_ bytes: [UInt8], to name: String) throws {
    let file = try POSIXFileSystem().open(path.appending(name), creating: true)
    try file.truncate(to: 0)
    try file.write(bytes, at: 0)
  }

  /// What another process would find if this one were killed now.
  func copy() throws -> ScratchDirectory {
    let other = ScratchDirectory()
    try POSIXFileSystem().createDirectory(other.path, withParents: false)
    for name in try names {
      guard let file = try open(name) else { continue }
      try other.write(try file.read(try file.size(), at: 0) ?? [], to: name)
    }
    copies.append(other)
    return other
  }

  /// The bytes of all files.
  var totalBytes: Int {
    get throws { try names.reduce(0) { try $0 + (open($1)?.size() ?? 0) } }
  }

  /// Opens a file whose name was listed; returns `nil` if another thread has unlinked it since. A store with a write
  /// buffer may do so at any time.
  private func open(_ name: String) throws -> (any File)? {
    do throws(FileFailure) {
      return try POSIXFileSystem().open(path.appending(name), creating: false)
    } catch  where error.errno == ENOENT {
      return nil
    }
  }

  func configuration(memory: Int = 0, disk: Int = 4 << 20) -> CacheStore.Configuration {
    var configuration = CacheStore.Configuration(memoryCapacity: memory, diskCapacity: disk, directory: path)
    configuration.sync = .never
    // So that a copy of the directory has all that was stored before.
    configuration.writeBuffer = 0
    return configuration
  }
}

let one = VariantID(rawValue: 1)
let two = VariantID(rawValue: 2)

/// An entry whose bytes follow from a number.
func entry(
  _ key: StoreKey, _ variant: VariantID = one, number: Int = 0, size: Int = 100, storedAt: Int64 = 1000,
  tiers: StoreTiers = .all
) -> NewEntry {
  NewEntry(
    key: key, variant: variant, metadata: Array("head \(number)".utf8), body: pattern(number, size),
    storedAt: storedAt, tiers: tiers)
}

/// Whether an entry is, whole, the one that a number gives.
func holds(_ entry: StoredEntry, number: Int, size: Int = 100) -> Bool {
  Array(entry.metadata) == Array("head \(number)".utf8)
    && (try? entry.body.readAll()).map { areEqual($0, pattern(number, size)[...]) } == true
}

extension Recorder<DiskEvent> {
  /// Returns the kinds of all events so far, including those that a store still has to report.
  func kinds(_ store: CacheStore) -> [DiskEvent.Kind] {
    store.disk?.log.events.drain()
    return all.map(\.kind)
  }
}

func key(_ number: Int) -> StoreKey { StoreKey("https://example.com/\(number)") }

extension CacheStore {
  /// What memory knows of a key, without the disk.
  func residentEntries(for key: StoreKey) -> ResidentLookup {
    key.bytes.withUnsafeBytes { memory.entries(for: $0, hash: hasher.hash($0)) }
  }

  /// Stores an entry on a disk that works again, after as many attempts as its pause takes.
  func insertAfterPause(_ number: Int, size: Int = 100) {
    var tries = 0
    while insert(entry(key(number), number: number, size: size, tiers: .disk)).id == nil, tries < 5000 {
      tries += 1
    }
    #expect(tries < 5000)
  }

  /// Whether the sums that the index on disk keeps are those of its entries.
  var hasRightSums: Bool {
    guard let disk else { return true }
    return disk.catalog.withLock { catalog in
      let index = catalog.index
      var (records, withFiles) = (index.updates.values.reduce(0) { $0 + Int($1.location.count) }, 0)
      index.forEach { _, entry in
        records += Int(entry.location.count)
        if entry.hasBodyFile { withFiles += 1 }
      }
      var (pinned, pinnedRecords) = (0, 0)
      index.forEach { slot, entry in
        guard entry.isPinned else { return }
        pinned += index.pinnedCost(of: slot)
        pinnedRecords += index.pinnedCost(of: slot) - (index.bodyFiles[entry.id]?.size ?? 0)
      }
      guard index.pinnedBytes == pinned, index.pinnedRecordBytes.values.reduce(0, +) == pinnedRecords else {
        return false
      }
      return index.recordBytes == records && index.bodyFiles.count == withFiles
        && index.bodyFileBytes == index.bodyFiles.values.reduce(0) { $0 + $1.size }
    }
  }
}

extension EntryBlock {
  /// As of a new entry: a large body is apart.
  init(
    id: UInt64, revision: UInt64, variant: UInt64 = 1, storedAt: Int64 = 0, key: [UInt8] = [],
    metadata: [UInt8] = [], body: [UInt8] = []
  ) {
    self = key.withUnsafeBytes { key in
      metadata.withUnsafeBytes { metadata in
        body.withUnsafeBytes { bytes in
          EntryBlock(
            id: id, revision: revision, variant: variant, storedAt: storedAt, key: key, metadata: metadata,
            body: bytes.count <= Self.packedBodyLimit ? .within(bytes) : .apart(ApartBody(ownerOf: body)))
        }
      }
    }
  }
}
