import Synchronization
import SystemPackage

/// Going through all entries, to remove or to update some.
///
/// No lock is held for longer than a chunk of the index, or a few records, take. That is enough: an entry keeps its slot
/// for as long as it lives, and what is inserted meanwhile was asked for fences.
extension DiskTier {
  /// An entry on disk without its body.
  struct Head: Sendable {
    let id: UInt64
    let variant: UInt64
    let storedAt: Int64
    let key: StoreKey
    let metadata: [UInt8]
  }

  /// What is to become of an entry.
  struct Change: Sendable {
    let hash: UInt64
    let id: UInt64
    /// `nil` removes the entry.
    let update: (metadata: [UInt8], storedAt: Int64, revision: UInt64)?
  }

  /// A sweep under way.
  struct Sweep: Sendable {
    /// What has a lower id is swept.
    let number: UInt64
    fileprivate var nextSlot = 0
    /// The greatest number that it has logged.
    fileprivate var last: UInt64?
    fileprivate let lostBefore: Int
    fileprivate var hasFailed = false
  }

  /// How many records are appended under one hold of the log's lock.
  private static let batch = 64
  /// Most heads are shorter; of a body little is read in vain.
  private static let headSize = 2048

  /// Begins a sweep, when its fence is visible.
  ///
  /// Entries that could not be read, and have left no trace in the log, may come back at the next opening, and nobody knows
  /// their keys: they are removed for good.
  func beginSweep(_ number: UInt64) -> Sweep {
    withLog { log in
      var sweep = Sweep(number: number, lostBefore: log.buffer.lostRemovals)
      guard !log.isClosed else { return sweep }
      if log.suspectsAll { wipe(log: &log) }
      let suspects = log.suspects
      for hash in suspects {
        remove(hash: hash, fingerprint: nil, log: &log, &sweep)
        changes.advance(for: hash)
      }
      if !sweep.hasFailed { log.suspects.subtract(suspects) }
      return sweep
    }
  }

  /// The next entries that are older than the sweep; `nil` at the end. Those that cannot be read are removed.
  func nextHeads(_ sweep: inout Sweep) -> [Head]? {
    let (start, number) = (sweep.nextSlot, sweep.number)
    let candidates = catalog.withLock { catalog -> [(slot: UInt32, Candidate)]? in
      guard start < catalog.index.slotCount else { return nil }
      let end = min(start + DiskIndex.chunkSize, catalog.index.slotCount)
      return (start..<end).compactMap { slot in
        catalog.candidate(UInt32(slot), before: number).map { (UInt32(slot), $0) }
      }
    }
    guard var candidates else { return nil }
    sweep.nextSlot = start + DiskIndex.chunkSize
    // In the order in which they lie on disk.
    candidates.sort { $0.1.source.location.position < $1.1.source.location.position }
    return heads(of: candidates, &sweep)
  }

  /// The entries under a key's hash that are older than the sweep. Those that cannot be read are removed.
  func heads(for hash: UInt64, _ sweep: inout Sweep) -> [Head] {
    let number = sweep.number
    let candidates = catalog.withLock { catalog in
      catalog.index.slots(for: hash).compactMap { slot in
        catalog.candidate(slot, before: number).map { (slot: slot, $0) }
      }
    }
    return heads(of: candidates, &sweep)
  }

  private func heads(of candidates: [(slot: UInt32, Candidate)], _ sweep: inout Sweep) -> [Head] {
    var unreadable: [(slot: UInt32, id: UInt64)] = []
    let heads = candidates.compactMap { slot, candidate in
      let found = head(of: candidate)
      if found == nil { unreadable.append((slot, candidate.id)) }
      return found
    }
    drop(unreadable, &sweep)
    return heads
  }

  /// Removes and updates entries.
  func apply(_ allChanges: [Change], _ sweep: inout Sweep) {
    var rest = allChanges[...]
    while !rest.isEmpty {
      let part = rest.prefix(Self.batch)
      rest = rest.dropFirst(Self.batch)
      awaitBuffer()
      sweep = withLog { [sweep, part] log -> Sweep in
        var sweep = sweep
        guard !log.isClosed else { return sweep }
        for change in part { apply(change, &sweep, log: &log) }
        return sweep
      }
    }
  }

  private func apply(_ change: Change, _ sweep: inout Sweep, log: inout Log) {
    guard let slot = currentSlot(hash: change.hash, id: change.id) else { return }
    defer { changes.advance(for: change.hash) }
    let fingerprint = catalog.withLock { $0.index[slot].fingerprint }
    if let update = change.update {
      var header = RecordHeader(
        kind: .metadata, hash: change.hash, variant: UInt64(fingerprint), id: change.id,
        revision: update.revision, storedAt: update.storedAt)
      let record = Record.encode(&header, metadata: update.metadata[...], hasher: hasher)
      if log.health.mayTry(), let location = try? append(record, header, log: &log) {
        log.hasUnsyncedRemoval = true
        sweep.last = max(sweep.last ?? 0, update.revision)
        // Making room may have reclaimed the entry itself.
        guard let slot = currentSlot(hash: change.hash, id: change.id) else { return }
        catalog.withLock {
          $0.index.update(
            slot, at: location, revision: update.revision,
            storedSeconds: DiskIndexEntry.seconds(update.storedAt))
        }
        return
      }
    }
    // What cannot be updated goes: with its old metadata it must not be found again.
    remove(hash: change.hash, fingerprint: fingerprint, log: &log, &sweep)
  }

  private func remove(hash: UInt64, fingerprint: UInt32?, log: inout Log, _ sweep: inout Sweep) {
    let record = removalRecord(hash: hash, fingerprint: fingerprint)
    if appendSurely(record, log: &log) {
      sweep.last = max(sweep.last ?? 0, record.0.id)
    } else {
      sweep.hasFailed = true
    }
    dropFromIndex(hash: hash, fingerprint: fingerprint, log: &log)
  }

  /// Removes entries whose key is not known because they cannot be read: they may be meant.
  private func drop(_ unreadable: [(slot: UInt32, id: UInt64)], _ sweep: inout Sweep) {
    guard !unreadable.isEmpty else { return }
    sweep = withLog { [sweep] log -> Sweep in
      var sweep = sweep
      guard !log.isClosed else { return sweep }
      for (slot, id) in unreadable {
        let known = catalog.withLock { catalog -> (hash: UInt64, fingerprint: UInt32)? in
          let entry = catalog.index[slot]
          guard !entry.isFree, entry.id == id else { return nil }
          return (catalog.index.knownHash(of: slot), entry.fingerprint)
        }
        guard let known else { continue }
        counters.corruptRecords.increment()
        remove(hash: known.hash, fingerprint: known.fingerprint, log: &log, &sweep)
      }
      // Of the hash not all is known.
      changes.advanceAll()
      return sweep
    }
  }

  /// Returns when what was done would survive a crash.
  func finish(_ sweep: Sweep) {
    if sweep.hasFailed {
      finish(.failed)
    } else {
      // Only what the log has may be acknowledged.
      finish(sweep.last.map { .logged($0, lostBefore: sweep.lostBefore) } ?? .unneeded)
    }
  }

  /// Reads the head of an entry; `nil` when it is not as it was written.
  private func head(of candidate: Candidate) -> Head? {
    guard let (header, bytes) = readHead(candidate.source), header.id == candidate.id,
      header.kind == .entry || header.kind == .entryWithBodyFile
    else { return nil }
    var (latest, metadata) = (header, bytes[header.metadataRange])
    if let update = candidate.update {
      guard let (newer, bytes) = readHead(update.source), newer.id == candidate.id, newer.kind == .metadata
      else { return nil }
      (latest, metadata) = (newer, bytes[newer.metadataRange])
    }
    return Head(
      id: header.id, variant: header.variant, storedAt: latest.storedAt,
      key: StoreKey(Array(bytes[header.headRange].prefix(header.keyCount))),
      metadata: Array(metadata))
  }

  private func readHead(_ source: Candidate.Source) -> (RecordHeader, [UInt8])? {
    let (count, offset) = (Int(source.location.count), Int(source.location.offset))
    guard
      var bytes = source.buffered?.head ?? (try? source.file.read(min(count, Self.headSize), at: offset)),
      let header = bytes.withUnsafeBytes({ RecordHeader($0, hasher: hasher) }), header.recordCount == count
    else { return nil }
    if header.headRange.upperBound > bytes.count {
      guard let more = try? source.file.read(header.headRange.upperBound, at: offset) else { return nil }
      bytes = more
    }
    guard hasher.checksum(bytes[header.headRange]) == header.headChecksum else { return nil }
    return (header, bytes)
  }
}

extension Catalog {
  /// What is known of an entry with a lower id than a number. It does not count as hit.
  fileprivate func candidate(_ slot: UInt32, before number: UInt64) -> DiskTier.Candidate? {
    let entry = index[slot]
    guard !entry.isFree, entry.id < number else { return nil }
    return candidate(slot, hash: index.knownHash(of: slot))
  }
}
