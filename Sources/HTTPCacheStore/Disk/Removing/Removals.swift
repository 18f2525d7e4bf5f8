// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Removes entries from the disk, and returns when the removal would survive a crash.
///
/// A removal is a record of the log, or a mark. It takes three steps. First it logs the record and drops the entries
/// from the catalog, under the log's lock. Then it syncs or writes the log, as `DiskSync` says. Last it notes the
/// number in the file `removals`.
///
/// **State**: none. `Suspects` and `AcknowledgedRemovals` are in the log.
///
/// **Lock**: that of the log, which is released before the sync.
///
/// **Crash**: after a removal returns, no crash brings back what it removed. If it cannot be logged or synced, it
/// removes everything: a cache may forget.
struct Removals: Sendable {
  let log: LockedLog
  let syncer: Syncer

  private var isSynced: Bool { log.context.options.sync != .never }

  /// The progress of a removal.
  enum Removal {
    /// The disk had nothing to remove.
    case unneeded
    /// The removal, or the update that takes its place in a sweep, is in the buffer or in the file. This holds as long
    /// as no more removals were lost than before.
    case logged(UInt64, lostBefore: Int)
    case failed
  }

  /// Removes one variant of a key, or all variants.
  ///
  /// - Returns: the ids of the entries.
  @discardableResult
  func remove(hash: UInt64, variant: UInt64? = nil) -> [UInt64] {
    let (removal, removed) = begin(hash: hash, variant: variant)
    finish(removal)
    return removed
  }

  /// Takes the first step of a removal: the others are those of ``finish(_:)``.
  func begin(hash: UInt64, variant: UInt64? = nil) -> (Removal, removed: [UInt64]) {
    let fingerprint = variant.map { DiskIndexEntry.fingerprint(of: $0, hash: hash) }
    return log.withRoom { log -> (Removal, [UInt64]) in
      guard !log.isClosed, log.mayHave(hash: hash, fingerprint: fingerprint) else { return (.unneeded, []) }
      let record = log.removalRecord(hash: hash, fingerprint: fingerprint)
      guard log.appendSurely(record) else { return (.failed, []) }
      let removed = log.dropFromIndex(hash: hash, fingerprint: fingerprint)
      log.context.changes.advance(for: hash)
      return (.logged(record.header.id, lostBefore: log.buffer.lostRemovals), removed)
    }
  }

  /// Removes entries stored at or after a time, to the second.
  func removeAll(since time: Int64) {
    let removal = log.withRoom { log -> Removal in
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

  /// Logs a mark that is already in memory.
  func mark(_ hashes: [UInt64], number: UInt64) {
    let removal = log.withRoom(1024 + 16 * hashes.count) { log -> Removal in
      // Without a segment there is no entry; the first segment begins with this mark.
      guard !log.isClosed, !log.segments.isEmpty else { return .unneeded }
      let mark = Invalidations.Marks(numbers: Dictionary(hashes.map { ($0, number) }) { first, _ in first })
      let (header, record) = Record.encode(mark, hasher: log.context.hasher)
      guard log.appendSurely((header, RecordBytes(record))) else { return .failed }
      return .logged(number, lostBefore: log.buffer.lostRemovals)
    }
    finish(removal)
  }

  /// Removes everything.
  ///
  /// This needs no record: files are unlinked oldest first, so a crash halfway leaves the end of the log.
  func removeAll() {
    log.withLock { log in
      if !log.isClosed { log.wipe() }
    }
    if isSynced { syncer.sync() }
  }

  /// Makes a removal durable. If it cannot be logged or synced, everything is removed: a cache may forget.
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
      // Another thread may have flushed, and failed.
      guard log.withLock({ $0.buffer.lostRemovals }) == lostBefore else { return false }
      if isSynced { log.withLock { log in log.acknowledge(number) } }
      return true
    }
  }

  /// Writes removals that other calls rely on: a killed process must not bring back what they removed.
  private func flushRemovals() -> Bool {
    guard log.withLock({ $0.unsynced.hasRemovals && $0.buffer.count > 0 }) else { return true }
    return log.flush()
  }
}

/// Hashes of keys that are not in the catalog, but that the next opening may find in the log. The log's lock guards
/// them.
///
/// Their entries were unreadable, or were lost with a failed write, and no record says so. Their removal must be
/// logged.
struct Suspects: Sendable {
  /// Maximum number of separate hashes.
  static let limit = 4096

  private(set) var hashes: Set<UInt64> = []
  /// Whether every key is a suspect.
  var isEverything = false

  mutating func insert(_ hash: UInt64) {
    if hashes.count >= Self.limit { isEverything = true } else { hashes.insert(hash) }
  }

  /// Removes hashes whose removals are in the log.
  mutating func remove(_ removed: Set<UInt64>) { hashes.subtract(removed) }

  func contains(_ hash: UInt64) -> Bool { isEverything || hashes.contains(hash) }
}
