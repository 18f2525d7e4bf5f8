// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension Log {
  typealias RemovalRecord = (header: RecordHeader, bytes: RecordBytes)

  /// Forgets a variant that was replaced elsewhere or exceeds the number of variants. Not synced: should power fail, it
  /// is as if the replacement had been lost too.
  mutating func forget(hash: UInt64, fingerprint: UInt32) {
    guard !isClosed, mayHave(hash: hash, fingerprint: fingerprint) else { return }
    // Not at any price: where nothing can be written, nothing replaces it either.
    let record = removalRecord(hash: hash, fingerprint: fingerprint)
    let isLogged = !health.isPausing && (try? append(record.bytes, record.header)) != nil
    if !isLogged { suspects.insert(hash) }
    dropFromIndex(hash: hash, fingerprint: fingerprint)
    unsynced.hasReplacement = true
  }

  /// Whether an opening could find a key, or one variant of it. What is neither known nor suspect has no record left.
  func mayHave(hash: UInt64, fingerprint: UInt32?) -> Bool {
    catalog.contains(hash, fingerprint: fingerprint) || suspects.contains(hash)
  }

  /// Drops an entry that could not be read, if it still is where it was read from.
  ///
  /// - Parameter location: where that was; `nil` if its place does not matter.
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

  /// Appends a removal; when the file system is full, at the price of the oldest segment.
  mutating func appendSurely(_ record: RemovalRecord) -> Bool {
    for _ in 0..<2 {
      if (try? append(record.bytes, record.header)) != nil {
        unsynced.hasRemoval = true
        return true
      }
      guard segments.count > 1, reclaimOldest(carrying: false) else { return false }
    }
    return false
  }

  /// Notes in the directory that the log has this removal, on the disk. Without the note it is as sure, as long as nobody
  /// cuts the log.
  mutating func acknowledge(_ number: UInt64) {
    // After the store was closed the directory may be another's, with a note of its own.
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
