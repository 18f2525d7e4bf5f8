// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Removes entries from the disk, and returns when the removal would survive a crash.
///
/// A removal is a record of the log, or a mark. It takes three steps: log the record and drop the entries from the catalog, under
/// the log's lock; sync or write the log, as `DiskSync` says; note the number in the file `removals`.
///
/// **State**: none of its own. `Suspects` and `AcknowledgedRemovals` are in the log.
///
/// **Lock**: that of the log, which is released before the sync.
///
/// **Crash**: when a removal returns, no crash brings back what it removed. If it cannot be logged or synced, it removes everything:
/// a cache may forget.
struct Removals: Sendable {
  let log: SharedLog
  let syncer: Syncer

  private var isSynced: Bool { log.context.options.sync != .never }

  /// How far a removal has come.
  enum Removal {
    /// There was nothing on disk to remove.
    case unneeded
    /// It, or the update that takes its place in a sweep, is in the buffer or in the file, if no more were lost than before.
    case logged(UInt64, lostBefore: Int)
    case failed
  }

  /// Removes one variant of a key, or all.
  ///
  /// - Returns: the ids of the entries.
  @discardableResult
  func remove(hash: UInt64, variant: UInt64? = nil) -> [UInt64] {
    let fingerprint = variant.map { DiskIndexEntry.fingerprint(of: $0, hash: hash) }
    let (removal, removed) = log.withLock { log -> (Removal, [UInt64]) in
      guard !log.isClosed, log.mayHave(hash: hash, fingerprint: fingerprint) else { return (.unneeded, []) }
      let record = log.removalRecord(hash: hash, fingerprint: fingerprint)
      guard log.appendSurely(record) else { return (.failed, []) }
      let removed = log.dropFromIndex(hash: hash, fingerprint: fingerprint)
      log.context.changes.advance(for: hash)
      return (.logged(record.header.id, lostBefore: log.buffer.lostRemovals), removed)
    }
    finish(removal)
    return removed
  }

  /// Removes what was stored at or after a time, to the second.
  func removeAll(since time: Int64) {
    let removal = log.withLock { log -> Removal in
      guard !log.isClosed else { return .unneeded }
      let sequence = log.context.sequence.take()
      var header = RecordHeader(kind: .clear, id: sequence, revision: sequence, storedAt: time)
      let record = Record.encode(&header, hasher: log.context.hasher)
      guard log.appendSurely((header, RecordBytes(record))) else { return .failed }
      let orphans = log.catalog.withLock { $0.index.clear(since: DiskIndexEntry.seconds(time)) }
      for orphan in orphans { log.removeBodyFile(orphan) }
      return .logged(sequence, lostBefore: log.buffer.lostRemovals)
    }
    finish(removal)
  }

  /// Logs a mark that memory has already.
  func mark(_ hashes: [UInt64], number: UInt64) {
    let removal = log.withLock { log -> Removal in
      // Without a segment there is no entry; the first to be begun begins with this mark.
      guard !log.isClosed, !log.segments.isEmpty else { return .unneeded }
      let mark = ScopeMarks.Snapshot(numbers: Dictionary(hashes.map { ($0, number) }) { first, _ in first })
      let (header, record) = Record.encode(mark, hasher: log.context.hasher)
      guard log.appendSurely((header, RecordBytes(record))) else { return .failed }
      return .logged(number, lostBefore: log.buffer.lostRemovals)
    }
    finish(removal)
  }

  /// Removes everything.
  ///
  /// It needs no record: files are unlinked oldest first, so a crash halfway leaves the end of the log.
  func removeAll() {
    log.withLock { log in
      if !log.isClosed { log.wipe() }
    }
    if isSynced { syncer.sync() }
  }

  /// Makes a removal durable. One that cannot be logged or synced takes everything with it: a cache may forget.
  func finish(_ removal: Removal) {
    if isDurable(removal) { return }
    log.withLock { log in log.wipe() }
    if isSynced { syncer.sync() }
  }

  private func isDurable(_ removal: Removal) -> Bool {
    switch removal {
    case .failed:
      return false
    case .unneeded:
      return isSynced ? syncer.sync(onlyRemovals: true) : flushRemovals()
    case .logged(let number, let lostBefore):
      guard isSynced ? syncer.sync() : log.flush() else { return false }
      // Who flushed, and failed, may have been another.
      guard log.withLock({ $0.buffer.lostRemovals }) == lostBefore else { return false }
      if isSynced { log.withLock { log in log.acknowledge(number) } }
      return true
    }
  }

  /// Writes removals that others rely on: a killed process must not bring back what they removed.
  private func flushRemovals() -> Bool {
    guard log.withLock({ $0.unsynced.hasRemovals && $0.buffer.count > 0 }) else { return true }
    return log.flush()
  }
}
