import Synchronization

extension DiskTier {
  /// Removes one variant of a key, or all, and returns when that would survive a crash.
  func remove(hash: UInt64, variant: UInt64? = nil) {
    let removal = withLog { log -> Removal in
      guard !log.isClosed else { return .unneeded }
      let isPresent = catalog.withLock { catalog in
        catalog.index.slots(for: hash).contains { variant == nil || catalog.index[$0].variant == variant }
      }
      // A key that is neither known nor suspect has no record left that an opening could find.
      guard isPresent || log.isSuspect(hash) else { return .unneeded }
      guard appendSurely(removalRecord(hash: hash, variant: variant), log: &log) else { return .failed }
      dropFromIndex(hash: hash, variant: variant, log: &log)
      changes.advance(for: hash)
      return .logged
    }
    finish(removal)
  }

  /// Removes what was stored at or after a time, to the second, and returns when that would survive a crash.
  func removeAll(since time: Int64) {
    let removal = withLog { log -> Removal in
      guard !log.isClosed else { return .unneeded }
      let sequence = sequence.take()
      var header = RecordHeader(kind: .clear, id: sequence, revision: sequence, storedAt: time)
      let record = Record.encode(&header, hasher: hasher)
      guard appendSurely(record, log: &log) else { return .failed }
      let orphans = catalog.withLock { $0.index.clear(since: time) }
      for orphan in orphans { removeBodyFile(orphan, log: &log) }
      return .logged
    }
    finish(removal)
  }

  /// Logs a mark that memory has already, and returns when it would survive a crash.
  func mark(_ hashes: [UInt64], number: UInt64) {
    let removal = withLog { log -> Removal in
      // Without a segment there is no entry; the first to be begun begins with this mark.
      guard !log.isClosed, !log.segments.isEmpty else { return .unneeded }
      let mark = ScopeMarks.Snapshot(numbers: Dictionary(hashes.map { ($0, number) }) { first, _ in first })
      return appendSurely(Record.encode(mark, hasher: hasher), log: &log) ? .logged : .failed
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
    if options.syncRemovals { sync() }
  }

  /// Forgets a variant that was replaced elsewhere or exceeds the number of variants. Not synced: should power fail, it
  /// is as if the replacement had been lost too.
  func forget(hash: UInt64, variant: UInt64, log: inout Log) {
    let isPresent = catalog.withLock { $0.index.slot(for: hash, variant: variant) != nil }
    guard !log.isClosed, isPresent || log.isSuspect(hash) else { return }
    // Not at any price: where nothing can be written, nothing replaces it either.
    let record = removalRecord(hash: hash, variant: variant)
    if (try? append(record, log: &log)) == nil { log.suspect(hash) }
    dropFromIndex(hash: hash, variant: variant, log: &log)
    log.needsSync = true
  }

  /// Forgets a variant that only memory holds from now on. Tells the moment after, and whether the disk has no other.
  func yield(hash: UInt64, variant: UInt64) -> (StripedCounters.Moment, isOnlyVariant: Bool) {
    withLog { log in
      forget(hash: hash, variant: variant, log: &log)
      changes.advance(for: hash)
      let isOnly = catalog.withLock { $0.index.slots(for: hash).isEmpty }
      return (changes.moment(for: hash), isOnly)
    }
  }

  /// Drops an entry that could not be read, if it still is where it was read from.
  func dropUnreadable(hash: UInt64, id: UInt64, location: RecordLocation) -> Bool {
    withLog { log in
      guard !log.isClosed, let slot = currentSlot(hash: hash, id: id) else { return false }
      guard catalog.withLock({ $0.index[slot].location == location }) else { return false }
      let orphan = catalog.withLock { $0.index.remove(slot) }
      if let orphan { removeBodyFile(orphan, log: &log) }
      log.suspect(hash)
      changes.advance(for: hash)
      return true
    }
  }

  private func dropFromIndex(hash: UInt64, variant: UInt64?, log: inout Log) {
    let orphans = catalog.withLock { catalog in
      var orphans: [(number: UInt64, size: Int)] = []
      for slot in catalog.index.slots(for: hash)
      where variant == nil || catalog.index[slot].variant == variant {
        if let orphan = catalog.index.remove(slot) { orphans.append(orphan) }
      }
      return orphans
    }
    for orphan in orphans { removeBodyFile(orphan, log: &log) }
  }

  private func removalRecord(hash: UInt64, variant: UInt64?) -> [UInt8] {
    let sequence = sequence.take()
    var header = RecordHeader(
      kind: variant == nil ? .removeKey : .removeVariant, hash: hash, variant: variant ?? 0, id: sequence,
      revision: sequence)
    return Record.encode(&header, hasher: hasher)
  }

  /// Appends a removal; when the file system is full, at the price of the oldest segment.
  private func appendSurely(_ record: [UInt8], log: inout Log) -> Bool {
    for _ in 0..<2 {
      if (try? append(record, log: &log)) != nil {
        log.hasUnsyncedRemoval = true
        return true
      }
      guard log.segments.count > 1, reclaimOldest(carrying: false, log: &log) else { return false }
    }
    return false
  }

  private enum Removal {
    /// There was nothing on disk to remove.
    case unneeded
    case logged
    case failed
  }

  /// Makes a removal durable. One that cannot be logged or synced takes everything with it: a cache may forget.
  private func finish(_ removal: Removal) {
    if removal != .failed, !options.syncRemovals || sync(onlyRemovals: removal == .unneeded) { return }
    withLog { log in wipe(log: &log) }
    if options.syncRemovals { sync() }
  }
}

extension DiskIndex {
  /// Forgets what was stored at or after a time, to the second; gives body files back for removal.
  mutating func clear(since time: Int64) -> [(number: UInt64, size: Int)] {
    let seconds = DiskIndexEntry.seconds(time)
    var orphans: [(number: UInt64, size: Int)] = []
    for slot in entries.indices where !entries[slot].isFree && entries[slot].storedSeconds >= seconds {
      if let orphan = remove(UInt32(slot)) { orphans.append(orphan) }
    }
    return orphans
  }
}
