// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// The contents of a store's directory, read by the code that opens it, without changing anything in it.
///
/// ```swift
/// let inspection = try StoreInspection(directory: "/var/cache/app")
/// inspection.forEachEntry { print($0.key, $0.bodyCount) }
/// ```
///
/// You can also inspect a directory that a store has open. The inspection then sees what had reached the files, and
/// leaves out entries that are removed meanwhile.
package struct StoreInspection: Sendable {
  /// One entry, without its body.
  package struct Entry: Sendable {
    /// The identity of the entry; the newest entry of a key and variant has the greatest.
    package let id: EntryID
    /// The key of the entry.
    package let key: StoreKey
    /// Which variant of the resource it is.
    package let variant: VariantID
    /// When it was stored or last updated, in milliseconds since 1970.
    package let storedAt: Int64
    /// The caller's latest opaque bytes.
    package let metadata: [UInt8]
    /// The length of the body in bytes.
    package let bodyCount: Int
    /// Bytes that it occupies in the directory.
    package let diskBytes: Int
    /// Whether it was hit in its first segment, and therefore carried forward when that was reclaimed. Other hits are
    /// counted in memory only.
    package let wasCarried: Bool
  }

  /// The directory and its files, in numbers.
  package struct Summary: Sendable, Hashable {
    /// The version of the format.
    package var formatVersion: UInt32
    /// Bytes of all files.
    package var bytes = 0
    /// Bytes that the entries in the index occupy.
    package var liveBytes = 0
    package var entries = 0
    /// Files of the log.
    package var segments = 0
    /// Files with one large body each.
    package var bodyFiles = 0
    /// Number of marked scopes: older entries in them are outdated.
    package var marks = 0
  }

  /// The inspected directory.
  package let directory: FilePath
  /// Whether a store had the directory open at the beginning.
  package let isInUse: Bool
  /// The process of that store, if the lock file names it.
  package let usedByProcess: Int32?

  let files: ReadOnlyFileSystem
  let hasher: KeyHasher
  let names: [String]
  let catalog: Catalog.Contents
  private let invalidations: Invalidations

  /// Reads what is needed to know the entries, not the entries themselves.
  ///
  /// - Throws: ``StoreError``: `io` if the directory cannot be listed; `notACache` if it holds other files, or nothing;
  ///   `unreadableDirectory` if its format file is damaged or missing; `unknownFormat` if another version wrote it.
  /// - Complexity: as opening it in a store.
  package init(directory: FilePath) throws(StoreError) {
    try self.init(directory: directory, files: POSIXFileSystem())
  }

  init(directory: FilePath, files base: any FileSystem) throws(StoreError) {
    let files = ReadOnlyFileSystem(base: base)
    self.directory = directory
    self.files = files
    (isInUse, usedByProcess) = Self.user(of: directory, files)
    hasher = KeyHasher(seed: try Self.seed(of: directory, files))
    var attempts = 5
    while true {
      do throws(FileFailure) {
        let names = try files.list(directory)
        let result = try Self.recover(directory, files, hasher, names: names)
        (self.names, catalog) = (names, result.catalog)
        invalidations = Invalidations(result.marks, hasher: hasher)
        return
      } catch {
        attempts -= 1
        // A store that has the directory open may reclaim a file that was just listed.
        guard error.errno == Errno.noSuchFileOrDirectory.rawValue, attempts > 0 else {
          throw error.storeError
        }
      }
    }
  }

  static func recover(
    _ directory: FilePath, _ files: ReadOnlyFileSystem, _ hasher: KeyHasher, names: [String]
  ) throws(FileFailure) -> LogRecovery.Result {
    let recovery = LogRecovery(
      directory: directory, files: files, hasher: hasher, counters: DiskCounters(), progress: nil)
    return try recovery.run(names: names)
  }

  /// Takes the lock, if it is free, only for as long as the test takes.
  private static func user(of directory: FilePath, _ files: ReadOnlyFileSystem) -> (Bool, Int32?) {
    guard let file = try? files.open(directory.appending(DiskFormat.lockName), creating: false),
      let isFree = try? file.tryLock(), !isFree
    else { return (false, nil) }
    let text = (try? file.read(min(file.size(), 16), at: 0)) ?? []
    return (true, Int32(String(decoding: text, as: UTF8.self)))
  }

  private static func seed(of directory: FilePath, _ files: ReadOnlyFileSystem) throws(StoreError) -> UInt64 {
    let state: DirectoryState
    do throws(FileFailure) {
      state = try DirectoryState(of: directory, names: try files.list(directory), files: files)
    } catch {
      throw error.storeError
    }
    switch state {
    case .cache(let seed): return seed
    case .unreadable(let error): throw error
    case .empty: throw StoreError(.notACache(path: directory, file: nil))
    case .other(let name): throw StoreError(.notACache(path: directory, file: name))
    }
  }

  // MARK: Looking

  /// The directory and its files, in numbers.
  package var summary: Summary {
    var summary = Summary(formatVersion: DiskFormat.version)
    for name in names {
      guard let file = try? files.open(directory.appending(name), creating: false) else { continue }
      summary.bytes += (try? file.size()) ?? 0
      if DiskFormat.segmentNumber(name) != nil { summary.segments += 1 }
      if DiskFormat.bodyNumber(name) != nil { summary.bodyFiles += 1 }
    }
    summary.entries = catalog.index.count
    summary.liveBytes = catalog.index.recordBytes + catalog.index.bodyFileBytes
    summary.marks = invalidations.markCount
    return summary
  }

  /// Whether an entry is outdated in a scope; see ``CacheStore/isMarked(_:in:)``.
  package func isMarked(_ id: EntryID, in scope: StoreScope) -> Bool {
    invalidations.mayBeMarked(id.rawValue)
      && invalidations.isMarked(id.rawValue, hash: invalidations.hash(scope))
  }

  /// Calls `body` with every entry whose key and metadata are undamaged, in the order of their places on disk.
  ///
  /// - Returns: the number of entries that are damaged, or gone meanwhile.
  /// - Complexity: O(entries): a read for each, or two.
  @discardableResult
  package func forEachEntry(_ body: (Entry) throws -> Void) rethrows -> Int {
    var order: [(position: UInt64, slot: UInt32)] = []
    order.reserveCapacity(catalog.index.count)
    catalog.index.forEach { slot, entry in order.append((entry.location.position, slot)) }
    order.sort { $0.position < $1.position }
    let floors = floors
    var unreadable = 0
    for (_, slot) in order {
      if let entry = entry(catalog.index[slot], floors: floors) {
        try body(entry)
      } else {
        unreadable += 1
      }
    }
    return unreadable
  }

  private func entry(_ known: DiskIndexEntry, floors: [UInt32: UInt64]) -> Entry? {
    guard let (header, key, metadata) = head(at: known.location), header.id == known.id else { return nil }
    var (storedAt, latest, diskBytes) = (header.storedAt, metadata, Int(known.location.count))
    if known.hasUpdate, let update = catalog.index.updates[known.id] {
      guard let (newer, _, bytes) = head(at: update.location), newer.id == known.id else { return nil }
      (storedAt, latest) = (newer.storedAt, bytes)
      diskBytes += Int(update.location.count)
    }
    diskBytes += catalog.index.bodyFiles[known.id]?.size ?? 0
    // The first entry of a segment may have taken its id just before the segment began, so compare with the segment
    // before.
    let segment = known.location.segment
    let wasCarried = segment > 0 && floors[segment - 1].map { known.id < $0 } ?? false
    return Entry(
      id: EntryID(rawValue: header.id), key: StoreKey(key), variant: VariantID(rawValue: header.variant),
      storedAt: storedAt, metadata: latest, bodyCount: header.bodyCount, diskBytes: diskBytes,
      wasCarried: wasCarried)
  }

  /// Returns the head of a record, verified; `nil` if it is damaged.
  private func head(
    at location: RecordLocation
  ) -> (header: RecordHeader, key: [UInt8], metadata: [UInt8])? {
    guard let file = catalog.files[location.segment],
      let (header, bytes) = Record.readHead(at: location, of: file, hasher: hasher)
    else { return nil }
    let keyEnd = RecordHeader.size + header.keyCount
    return (header, Array(bytes[RecordHeader.size..<keyEnd]), Array(bytes[header.metadataRange]))
  }

  /// For each segment, the lowest number that could be given after it began.
  private var floors: [UInt32: UInt64] {
    var floors: [UInt32: UInt64] = [:]
    for (number, file) in catalog.files.all {
      guard let bytes = try? file.read(DiskFormat.segmentHeaderSize, at: 0) else { continue }
      floors[number] = DiskFormat.floor(inHeader: bytes, of: number, hasher: hasher)
    }
    return floors
  }
}
