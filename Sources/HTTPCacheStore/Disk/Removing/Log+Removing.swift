// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension Log {
  typealias RemovalRecord = (header: RecordHeader, bytes: RecordBytes)

  /// Removes a variant that was replaced elsewhere, or that exceeds the number of variants. This is not synced: if
  /// power fails, the result is as if the replacement had been lost too.
  mutating func forget(hash: UInt64, fingerprint: UInt32) {
    guard !isClosed, mayHave(hash: hash, fingerprint: fingerprint) else { return }
    // The record is optional: if nothing can be written, nothing replaces the variant on disk either.
    let record = removalRecord(hash: hash, fingerprint: fingerprint)
    let isLogged = !isPausing && (try? append(record.bytes, record.header)) != nil
    if !isLogged { suspects.insert(hash) }
    dropFromIndex(hash: hash, fingerprint: fingerprint)
    unsynced.hasReplacement = true
  }

  /// Whether an opening could find a key, or one variant of it. A key that is neither in the catalog nor a suspect has
  /// no record left.
  func mayHave(hash: UInt64, fingerprint: UInt32?) -> Bool {
    catalog.contains(hash, fingerprint: fingerprint) || suspects.contains(hash)
  }

  /// Drops an entry that could not be read, if its record is still in the same place.
  ///
  /// - Parameter location: the place it was read from; `nil` if the place does not matter.
  mutating func dropUnreadable(hash: UInt64, id: UInt64, location: RecordLocation?) -> Bool {
    guard !isClosed, let slot = catalog.slot(for: hash, id: id) else { return false }
    if let location, catalog.withLock({ $0.index[slot].location != location }) { return false }
    if let orphan = catalog.withLock({ $0.index.remove(slot) }) { removeBodyFile(orphan) }
    suspects.insert(hash)
    context.changes.advance(for: hash)
    return true
  }

  /// - Returns: the ids of the entries that were dropped.
  @discardableResult
  mutating func dropFromIndex(hash: UInt64, fingerprint: UInt32?) -> [UInt64] {
    let (removed, orphans) = catalog.withLock { catalog in
      let slots = catalog.index.slots(for: hash, fingerprint: fingerprint)
      return (slots.map { catalog.index[$0].id }, slots.compactMap { catalog.index.remove($0) })
    }
    for orphan in orphans { removeBodyFile(orphan) }
    return removed
  }

  func removalRecord(hash: UInt64, fingerprint: UInt32?) -> RemovalRecord {
    let sequence = context.sequence.take()
    var header = RecordHeader(
      kind: fingerprint == nil ? .removeKey : .removeVariant, hash: hash,
      variant: UInt64(fingerprint ?? 0), id: sequence, revision: sequence)
    let record = Record.encode(&header, hasher: context.hasher)
    return (header, RecordBytes(record))
  }

  /// Appends a removal; if the file system is full, it reclaims the oldest segment for it.
  mutating func appendSurely(_ record: RemovalRecord) -> Bool {
    for _ in 0..<2 {
      if (try? append(record.bytes, record.header)) != nil {
        unsynced.hasRemoval = true
        return true
      }
      // Rather lose pinned entries than everything.
      guard segments.count > 1, reclaimOldest(losingPins: true) else { return false }
    }
    return false
  }

  /// Notes in the directory that this removal is on the disk, in the log. Without the note the removal is just as
  /// durable, unless the end of the log is cut off.
  mutating func acknowledge(_ number: UInt64) {
    // After the store is closed, another store may use the directory, with its own note.
    guard !isClosed, isInPlace() else { return }
    let context = context
    do throws(FileFailure) {
      try acknowledged.raise(to: number, hasher: context.hasher) { () throws(FileFailure) in
        try context.files.open(context.path(DiskFormat.removalsName), creating: true)
      }
    } catch {
      context.counters.ioErrors.increment()
    }
  }
}
