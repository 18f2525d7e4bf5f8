// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Reads entries that the catalog found, and verifies each byte.
///
/// **State**: none. **Lock**: none, unless an entry is damaged. Damage is a miss: the reader counts it, and drops the
/// entry under the log's lock.
struct EntryReader: Sendable {
  private let log: LockedLog
  private let context: DiskContext

  init(_ log: LockedLog) {
    self.log = log
    context = log.context
  }

  /// The result of reading a candidate.
  enum Found: Sendable {
    case entry(StoredEntry)
    /// The record belongs to another key with the same hash.
    case otherKey
    /// The entry was removed meanwhile, or it could not be read. Then it has been dropped, unless only the process had no
    /// descriptor or no memory for it.
    case lost
    /// Reading it waits for the disk, or fails.
    case wouldWait
  }

  /// Reads a candidate and verifies all of it: one read, or two if its metadata was updated.
  ///
  /// - Parameter atOnce: whether to read only what the page cache has, without the log's lock. Damage is then left to
  ///   a caller that waits: the result is ``Found/wouldWait``.
  func read(_ candidate: Catalog.Candidate, key: StoreKey, atOnce: Bool = false) -> Found {
    do throws(FileFailure) {
      if let found = try verified(candidate, key: key, atOnce: atOnce) { return found }
      if atOnce { return .wouldWait }
      if dropUnreadable(candidate) { context.counters.corruptRecords.increment() }
    } catch {
      if atOnce { return .wouldWait }
      context.counters.ioErrors.increment()
      if !error.isShortage { _ = dropUnreadable(candidate) }
    }
    return .lost
  }

  /// Reads a candidate; `nil` if it is damaged.
  private func verified(
    _ candidate: Catalog.Candidate, key: StoreKey, atOnce: Bool
  ) throws(FileFailure) -> Found? {
    if candidate.update == nil, candidate.source.buffered == nil, !candidate.hasBodyFile {
      return try readInPlace(candidate, key: key, atOnce: atOnce)
    }
    guard let record = try candidate.source.read(atOnce: atOnce),
      let header = Record.verifiedHeader(record, hasher: context.hasher),
      header.id == candidate.id
    else { return nil }
    guard record.matches(key.bytes, at: RecordHeader.size, count: header.keyCount) else { return .otherKey }
    guard
      header.kind == .entryWithBodyFile
        || context.hasher.checksum(record[header.bodyRange]) == header.bodyChecksum
    else { return nil }

    var newer: (header: RecordHeader, metadata: ArraySlice<UInt8>)?
    if let update = candidate.update {
      guard let record = try update.source.read(atOnce: atOnce),
        let header = Record.verifiedHeader(record, hasher: context.hasher),
        header.kind == .metadata, header.id == candidate.id
      else { return nil }
      newer = (header, record[header.metadataRange])
    }
    return try assemble(candidate, header: header, record: record, newer: newer, atOnce: atOnce)
  }

  /// Reads a record that contains its whole entry, straight to its final place; `nil` if it is damaged.
  ///
  /// The result is one allocation, without a copy of any byte: see ``EntryRecord``.
  private func readInPlace(
    _ candidate: Catalog.Candidate, key: StoreKey, atOnce: Bool
  ) throws(FileFailure) -> Found? {
    let location = candidate.source.location
    var isOtherKey = false
    let read = try EntryRecord(capacity: Int(location.count), keyStart: RecordHeader.size) {
      record throws(FileFailure) in
      guard try candidate.source.file.fill(record, at: Int(location.offset), atOnce: atOnce),
        let header = Record.verifiedHeader(UnsafeRawBufferPointer(record), hasher: context.hasher),
        header.kind == .entry, header.id == candidate.id
      else { return nil }
      isOtherKey = !header.hasKey(key.bytes, in: UnsafeRawBufferPointer(record))
      guard !isOtherKey,
        context.hasher.checksum(UnsafeRawBufferPointer(rebasing: record[header.bodyRange]))
          == header.bodyChecksum
      else { return nil }
      return EntryHead.Fields(
        id: header.id, revision: header.revision, variant: header.variant, storedAt: header.storedAt,
        keyCount: header.keyCount, metadataCount: header.metadataCount, bodyCount: header.bodyCount)
    }
    if let read { return .entry(StoredEntry(read)) }
    return isOtherKey ? .otherKey : nil
  }

  /// Makes an entry from the records that were read; `nil` if its body has another length.
  private func assemble(
    _ candidate: Catalog.Candidate, header: RecordHeader, record: [UInt8],
    newer: (header: RecordHeader, metadata: ArraySlice<UInt8>)?, atOnce: Bool
  ) throws(FileFailure) -> Found? {
    let storedAt = newer?.header.storedAt ?? header.storedAt
    let metadata = newer?.metadata ?? record[header.metadataRange]
    let revision = newer?.header.revision ?? header.revision
    func entry(_ body: EntryBlock.Body) -> Found {
      record.withUnsafeBytes { record in
        metadata.withUnsafeBytes { metadata in
          let block = EntryBlock(
            id: header.id, revision: revision, variant: header.variant, storedAt: storedAt,
            key: UnsafeRawBufferPointer(rebasing: record[RecordHeader.size...].prefix(header.keyCount)),
            metadata: metadata, body: body)
          return .entry(StoredEntry(block, tier: .disk))
        }
      }
    }
    if header.kind != .entryWithBodyFile {
      let range = header.bodyRange
      guard range.count <= EntryBlock.packedBodyLimit else {
        return entry(.apart(ApartBody(body: StoredBody(record[range]), ownerCount: record.count)))
      }
      return record[range].withUnsafeBytes { entry(.within($0)) }
    }
    let path = context.path(DiskFormat.bodyName(header.bodyFile))
    do throws(FileFailure) {
      guard
        let open = try context.openBodies.body(
          header.bodyFile,
          open: { () throws(FileFailure) in
            atOnce ? context.files.openAtOnce(path) : try context.files.open(path, creating: false)
          }),
        try open.file.size() == DiskFormat.bodyFileSize(header.bodyCount)
      else { return nil }
      let body = BodyFileReader(
        open, count: header.bodyCount, checksum: header.bodyChecksum, log: log, candidate: candidate)
      return entry(.apart(ApartBody(body: StoredBody(body), ownerCount: 0)))
    } catch {
      // The entry was removed after the lookup in the index: this is not a failure.
      if log.catalog.slot(for: candidate.hash, id: candidate.id) == nil { return .lost }
      throw error
    }
  }

  /// Drops the entry of a candidate, unless the entry has changed.
  private func dropUnreadable(_ candidate: Catalog.Candidate) -> Bool {
    log.withLock { log in
      log.dropUnreadable(hash: candidate.hash, id: candidate.id, location: candidate.source.location)
    }
  }
}
