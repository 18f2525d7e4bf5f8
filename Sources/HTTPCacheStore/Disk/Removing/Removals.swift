import Synchronization
import SystemPackage

extension DiskTier {
  /// Removes one variant of a key, or all, and returns when that would survive a crash.
  ///
  /// - Returns: the ids of the entries.
  @discardableResult
  func remove(hash: UInt64, variant: UInt64? = nil) -> [UInt64] {
    let fingerprint = variant.map { DiskIndexEntry.fingerprint(of: $0, hash: hash) }
    let (removal, removed) = withLog { log -> (Removal, [UInt64]) in
      guard !log.isClosed else { return (.unneeded, []) }
      let isPresent = isPresent(hash: hash, fingerprint: fingerprint)
      // A key that is neither known nor suspect has no record left that an opening could find.
      guard isPresent || log.isSuspect(hash) else { return (.unneeded, []) }
      let record = removalRecord(hash: hash, fingerprint: fingerprint)
      guard appendSurely(record, log: &log) else { return (.failed, []) }
      let removed = dropFromIndex(hash: hash, fingerprint: fingerprint, log: &log)
      changes.advance(for: hash)
      return (.logged(record.0.id, lostBefore: log.buffer.lostRemovals), removed)
    }
    finish(removal)
    return removed
  }

  /// Removes what was stored at or after a time, to the second, and returns when that would survive a crash.
  func removeAll(since time: Int64) {
    let removal = withLog { log -> Removal in
      guard !log.isClosed else { return .unneeded }
      let sequence = sequence.take()
      var header = RecordHeader(kind: .clear, id: sequence, revision: sequence, storedAt: time)
      let record = Record.encode(&header, hasher: hasher)
      guard appendSurely((header, record), log: &log) else { return .failed }
      let orphans = catalog.withLock { $0.index.clear(since: DiskIndexEntry.seconds(time)) }
      for orphan in orphans { removeBodyFile(orphan, log: &log) }
      return .logged(sequence, lostBefore: log.buffer.lostRemovals)
    }
    finish(removal)
  }

  /// Logs a mark that memory has already, and returns when it would survive a crash.
  func mark(_ hashes: [UInt64], number: UInt64) {
    let removal = withLog { log -> Removal in
      // Without a segment there is no entry; the first to be begun begins with this mark.
      guard !log.isClosed, !log.segments.isEmpty else { return .unneeded }
      let mark = ScopeMarks.Snapshot(numbers: Dictionary(hashes.map { ($0, number) }) { first, _ in first })
      guard appendSurely(Record.encode(mark, hasher: hasher), log: &log) else { return .failed }
      return .logged(number, lostBefore: log.buffer.lostRemovals)
    }
    finish(removal)
  }

  /// Removes everything, and returns when that would survive a crash.
  ///
  /// It needs no record: files are unlinked oldest first, so a crash halfway leaves the end of the log.
  func removeAll() {
    withLog { log in
      guard !log.isClosed else { return }
      wipe(log: &log)
    }
    if options.sync != .never { sync() }
  }

  /// Forgets a variant that was replaced elsewhere or exceeds the number of variants. Not synced: should power fail, it
  /// is as if the replacement had been lost too.
  func forget(hash: UInt64, fingerprint: UInt32, log: inout Log) {
    guard !log.isClosed, isPresent(hash: hash, fingerprint: fingerprint) || log.isSuspect(hash) else {
      return
    }
    // Not at any price: where nothing can be written, nothing replaces it either.
    let (header, record) = removalRecord(hash: hash, fingerprint: fingerprint)
    let isLogged = !log.health.isPausing && (try? append(record, header, log: &log)) != nil
    if !isLogged { log.suspect(hash) }
    dropFromIndex(hash: hash, fingerprint: fingerprint, log: &log)
    log.needsSync = true
  }

  private func isPresent(hash: UInt64, fingerprint: UInt32?) -> Bool {
    catalog.withLock { catalog in
      fingerprint.map { catalog.index.slot(for: hash, fingerprint: $0) != nil }
        ?? catalog.index.contains(hash)
    }
  }

  /// Forgets a variant that only memory holds from now on. Tells the moment after, and whether the disk has no other.
  func yield(hash: UInt64, variant: UInt64) -> (StripedCounters.Moment, isOnlyVariant: Bool) {
    self.yield(hash: hash, fingerprint: DiskIndexEntry.fingerprint(of: variant, hash: hash))
  }

  func yield(hash: UInt64, fingerprint: UInt32) -> (StripedCounters.Moment, isOnlyVariant: Bool) {
    withLog { log in
      forget(hash: hash, fingerprint: fingerprint, log: &log)
      changes.advance(for: hash)
      return (changes.moment(for: hash), !hasEntry(for: hash))
    }
  }

  /// Drops an entry that could not be read, if it still is where it was read from.
  ///
  /// - Parameter location: where that was; `nil` if its place does not matter.
  func dropUnreadable(hash: UInt64, id: UInt64, location: RecordLocation?) -> Bool {
    withLog { log in
      guard !log.isClosed, let slot = currentSlot(hash: hash, id: id) else { return false }
      if let location, catalog.withLock({ $0.index[slot].location != location }) { return false }
      let orphan = catalog.withLock { $0.index.remove(slot) }
      if let orphan { removeBodyFile(orphan, log: &log) }
      log.suspect(hash)
      changes.advance(for: hash)
      return true
    }
  }

  /// - Returns: the ids of the entries that were dropped.
  @discardableResult
  func dropFromIndex(hash: UInt64, fingerprint: UInt32?, log: inout Log) -> [UInt64] {
    let (removed, orphans) = catalog.withLock { catalog in
      let slots = catalog.index.slots(for: hash, fingerprint: fingerprint)
      return (slots.map { catalog.index[$0].id }, slots.compactMap { catalog.index.remove($0) })
    }
    for orphan in orphans { removeBodyFile(orphan, log: &log) }
    return removed
  }

  func removalRecord(hash: UInt64, fingerprint: UInt32?) -> (RecordHeader, [UInt8]) {
    let sequence = sequence.take()
    var header = RecordHeader(
      kind: fingerprint == nil ? .removeKey : .removeVariant, hash: hash,
      variant: UInt64(fingerprint ?? 0), id: sequence, revision: sequence)
    let record = Record.encode(&header, hasher: hasher)
    return (header, record)
  }

  /// Appends a removal; when the file system is full, at the price of the oldest segment.
  func appendSurely(_ record: (header: RecordHeader, bytes: [UInt8]), log: inout Log) -> Bool {
    for _ in 0..<2 {
      if (try? append(record.bytes, record.header, log: &log)) != nil {
        log.hasUnsyncedRemoval = true
        return true
      }
      guard log.segments.count > 1, reclaimOldest(carrying: false, log: &log) else { return false }
    }
    return false
  }

  enum Removal {
    /// There was nothing on disk to remove.
    case unneeded
    /// It, or the update that takes its place in a sweep, is in the buffer or in the file, if no more were lost than before.
    case logged(UInt64, lostBefore: Int)
    case failed
  }

  /// Makes a removal durable. One that cannot be logged or synced takes everything with it: a cache may forget.
  func finish(_ removal: Removal) {
    if isDurable(removal) { return }
    withLog { log in wipe(log: &log) }
    if options.sync != .never { sync() }
  }

  private func isDurable(_ removal: Removal) -> Bool {
    switch removal {
    case .failed:
      return false
    case .unneeded:
      return options.sync == .never ? flushRemovals() : sync(onlyRemovals: true)
    case .logged(let number, let lostBefore):
      guard options.sync == .never ? flushBuffer() : sync() else { return false }
      // Who flushed, and failed, may have been another.
      guard withLog({ $0.buffer.lostRemovals }) == lostBefore else { return false }
      if options.sync != .never { acknowledge(number) }
      return true
    }
  }

  /// Notes that the log has this removal. Without the note it is as sure, as long as nobody cuts the log.
  private func acknowledge(_ number: UInt64) {
    withLog { log in
      // Under the log's lock: after the store was closed the directory may be another's, with a note of its own.
      guard !log.isClosed, isInPlace(&log) else { return }
      do throws(FileFailure) {
        try acknowledged.raise(to: number, hasher: hasher) { () throws(FileFailure) in
          try files.open(directory.appending(DiskFormat.removalsName), creating: true)
        }
      } catch {
        counters.ioErrors.increment()
      }
    }
  }

  /// Writes removals that others rely on: a killed process must not bring back what they removed.
  private func flushRemovals() -> Bool {
    guard withLog({ ($0.needsSync || $0.hasUnsyncedRemoval) && $0.buffer.count > 0 }) else { return true }
    return flushBuffer()
  }
}
