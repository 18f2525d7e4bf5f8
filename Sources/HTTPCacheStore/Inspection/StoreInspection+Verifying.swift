// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

extension StoreInspection {
  /// Bytes that differ from the bytes that were written.
  package struct Damage: Sendable, Hashable, CustomStringConvertible {
    /// The file.
    package let path: FilePath
    /// The offset in the file, in bytes; `nil` if it concerns the whole file.
    package let offset: Int?
    /// The kind of damage.
    package let what: String
    /// The key of the entry, if known.
    package let key: StoreKey?

    package var description: String {
      path.string + (offset.map { ", byte \($0)" } ?? "") + ": " + what
    }
  }

  /// The result of verifying every byte that has a checksum.
  package struct Verification: Sendable {
    /// What is damaged; a store that opens the directory leaves it out.
    package var damages: [Damage] = []
    /// Findings that are not damage; a store that opens the directory cuts or removes them.
    package var leftovers: [Damage] = []
    /// Number of records of the log that were verified, including dead ones.
    package var records = 0
    /// Number of large bodies that were verified.
    package var bodyFiles = 0
    /// Bytes that were read.
    package var bytes = 0

    package var isSound: Bool { damages.isEmpty }
  }

  /// Reads everything, and compares it with its checksums.
  ///
  /// - Throws: ``StoreError`` of kind `io` if a file cannot be read. Files are left out if a store that has the
  ///   directory open removes them meanwhile.
  /// - Complexity: O(bytes in the directory).
  package func verify() throws(StoreError) -> Verification {
    var result = Verification()
    let segments = names.compactMap(DiskFormat.segmentNumber).sorted()
    var bodies: [UInt64: RecordHeader] = [:]
    do throws(FileFailure) {
      for number in segments {
        try verify(number, isLast: number == segments.last, &bodies, &result)
      }
      try verifyBodies(bodies, &result)
      try verifyPins(&result)
    } catch {
      throw error.storeError
    }
    return result
  }

  private func verifyPins(_ result: inout Verification) throws(FileFailure) {
    for name in DiskFormat.pinsNames where names.contains(name) {
      let file = try files.open(directory.appending(name), creating: false)
      let bytes = try file.read(try file.size(), at: 0) ?? []
      result.bytes += bytes.count
      guard PinFile.decode(bytes, hasher: hasher) == nil else { continue }
      let damage = Damage(
        path: file.path, offset: nil, what: "the checksum of the pinned keys is wrong", key: nil)
      // A store may be writing it at this moment.
      if isInUse { result.leftovers.append(damage) } else { result.damages.append(damage) }
    }
  }

  /// - Parameter bodies: the records' data on body files, by the ids of the entries.
  private func verify(
    _ number: UInt32, isLast: Bool, _ bodies: inout [UInt64: RecordHeader], _ result: inout Verification
  ) throws(FileFailure) {
    // Known since the directory was opened, even if it is gone by now.
    guard let file = catalog.files[number] else {
      let path = directory.appending(DiskFormat.segmentName(number))
      result.leftovers.append(
        Damage(
          path: path, offset: nil, what: "ignored, because a later segment is missing", key: nil)
      )
      return
    }
    let size = try file.size()
    result.bytes += size
    func damage(_ offset: Int, _ what: String, _ key: StoreKey? = nil) {
      result.damages.append(Damage(path: file.path, offset: offset, what: what, key: key))
    }
    func unfinished(_ offset: Int) {
      let what = "incomplete from here to the end"
      let found = Damage(path: file.path, offset: offset, what: what, key: nil)
      if isLast { result.leftovers.append(found) } else { result.damages.append(found) }
    }
    guard let start = try file.read(DiskFormat.segmentHeaderSize, at: 0) else { return unfinished(0) }
    if DiskFormat.floor(inHeader: start, of: number, hasher: hasher) == nil {
      damage(0, "the checksum of the segment's header is wrong")
    }
    var offset = DiskFormat.segmentHeaderSize
    while offset < size {
      guard let bytes = try file.read(RecordHeader.size, at: offset) else { return unfinished(offset) }
      guard let header = bytes.withUnsafeBytes({ RecordHeader($0, hasher: hasher) }) else {
        var window = ScanWindow(file: file, size: size)
        if isLast, try window.isZero(from: offset) { return unfinished(offset) }
        return damage(
          offset, "expected a record; the \(size - offset) bytes to the end cannot be read")
      }
      guard let record = try file.read(header.recordCount, at: offset) else { return unfinished(offset) }
      result.records += 1
      let key = StoreKey(Array(record[header.headRange].prefix(header.keyCount)))
      if Record.verifiedHeader(record, hasher: hasher) == nil {
        damage(offset, "the checksum of a record's head is wrong")
      } else if header.kind == .entry, hasher.checksum(record[header.bodyRange]) != header.bodyChecksum {
        damage(offset, "the checksum of a body is wrong", key)
      } else if header.kind == .entryWithBodyFile {
        bodies[header.id] = header
      } else if header.kind == .summary,
        try SegmentSummary.read(
          from: file, endingAt: offset + header.recordCount, segment: number, hasher: hasher) == nil
      {
        damage(offset, "the summary is damaged")
      }
      offset += header.recordCount
    }
  }

  // MARK: Body files

  private func verifyBodies(
    _ bodies: [UInt64: RecordHeader], _ result: inout Verification
  ) throws(FileFailure) {
    // An opening leaves out an entry whose file is missing; the verification must find it.
    let claimed = bodies.values.map { DiskFormat.bodyName($0.bodyFile) }
    let all = try Self.recover(
      directory, files, hasher, names: Array(Set(names).union(claimed)))
    var live: [UInt64: DiskIndexEntry] = [:]
    all.catalog.index.forEach { _, entry in if entry.hasBodyFile { live[entry.id] = entry } }
    let present = Set(names)
    var named: Set<String> = []
    for (id, header) in bodies.sorted(by: { $0.key < $1.key }) {
      guard let entry = live[id] else { continue }
      let name = DiskFormat.bodyName(header.bodyFile)
      named.insert(name)
      let path = directory.appending(name)
      let key = key(of: entry, header, all.catalog)
      guard present.contains(name) else {
        result.damages.append(Damage(path: path, offset: nil, what: "a body is missing", key: key))
        continue
      }
      // Removed meanwhile, by a store that has the directory open.
      guard let file = try? files.open(path, creating: false) else { continue }
      result.bodyFiles += 1
      try verifyBody(file, header, key, &result)
    }
    for name in names where DiskFormat.bodyNumber(name) != nil && !named.contains(name) {
      result.leftovers.append(
        Damage(path: directory.appending(name), offset: nil, what: "no entry refers to this body", key: nil))
    }
  }

  private func key(of entry: DiskIndexEntry, _ header: RecordHeader, _ catalog: Catalog.Contents) -> StoreKey?
  {
    let offset = Int(entry.location.offset) + RecordHeader.size
    let bytes = try? catalog.files[entry.location.segment]?.read(header.keyCount, at: offset)
    return bytes.flatMap { $0 }.map { StoreKey($0) }
  }

  private func verifyBody(
    _ file: any File, _ header: RecordHeader, _ key: StoreKey?, _ result: inout Verification
  ) throws(FileFailure) {
    func damage(_ offset: Int?, _ what: String) {
      result.damages.append(Damage(path: file.path, offset: offset, what: what, key: key))
    }
    let size = try file.size()
    result.bytes += size
    guard size == DiskFormat.bodyFileSize(header.bodyCount) else {
      return damage(nil, "expected \(DiskFormat.bodyFileSize(header.bodyCount)) bytes, found \(size)")
    }
    guard let table = try file.read(size - header.bodyCount, at: header.bodyCount),
      hasher.checksum(table) == header.bodyChecksum
    else { return damage(header.bodyCount, "the table of checksums is wrong") }
    for (index, checksum) in DiskFormat.words(table).enumerated() {
      let start = index * DiskFormat.bodyChunkSize
      let count = min(DiskFormat.bodyChunkSize, header.bodyCount - start)
      guard let chunk = try file.read(count, at: start), hasher.checksum(chunk) == checksum else {
        damage(start, "the checksum of \(count) bytes of a body is wrong")
        continue
      }
    }
  }
}
