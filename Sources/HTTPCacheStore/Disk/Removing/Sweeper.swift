// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Visits all entries, and removes or updates some.
///
/// A sweep reads the heads of a chunk of the catalog, and logs the caller's decision on each. An entry keeps its slot
/// as long as it lives, and the fences of `Invalidations` keep out concurrent inserts.
///
/// **State**: `Sweeps` in the catalog. The caller keeps the `Sweep`, which records its progress.
///
/// **Lock**: that of the catalog for a chunk, that of the log for some dozens of records.
///
/// **Crash**: as for `Removals`, once ``finish(_:)`` returns.
struct Sweeper: Sendable {
  let removals: Removals

  private var log: LockedLog { removals.log }
  private var catalog: Catalog { log.catalog }
  private var hasher: KeyHasher { log.context.hasher }

  /// An entry on disk without its body.
  struct Head: Sendable {
    let id: UInt64
    let variant: UInt64
    let storedAt: Int64
    let key: StoreKey
    let metadata: [UInt8]
    let bodyCount: Int
    /// Bytes that it occupies on disk.
    let diskBytes: Int
  }

  /// The change that a sweep makes to an entry.
  struct Change: Sendable {
    let hash: UInt64
    let id: UInt64
    /// `nil` removes the entry.
    let update: (metadata: [UInt8], storedAt: Int64, revision: UInt64)?
  }

  /// A sweep in progress.
  struct Sweep: Sendable {
    /// The sweep visits entries with a lower id.
    let number: UInt64
    fileprivate var nextSlot = 0
    /// The greatest number that the sweep has logged.
    fileprivate var last: UInt64?
    fileprivate let lostBefore: Int
    fileprivate var hasFailed = false
  }

  /// An entry in the catalog.
  fileprivate struct Place: Sendable {
    let slot: UInt32
    let candidate: Catalog.Candidate
    /// Bytes of the file of its body; 0 if it has none.
    let bodyFileSize: Int
  }

  /// Number of records that are appended each time the log's lock is taken.
  private static let batch = 64

  /// Begins a sweep after its fence is visible.
  ///
  /// Unreadable entries without a record of their removal may come back at the next opening, and their keys are
  /// unknown. So the sweep removes them durably.
  func begin(_ number: UInt64) -> Sweep {
    log.withLock { log in
      log.catalog.withLock { $0.sweeps.begin(number) }
      var sweep = Sweep(number: number, lostBefore: log.buffer.lostRemovals)
      guard !log.isClosed else { return sweep }
      if log.suspects.isEverything { log.wipe() }
      let suspects = log.suspects.hashes
      for hash in suspects {
        log.remove(hash: hash, fingerprint: nil, &sweep)
        log.context.changes.advance(for: hash)
      }
      if !sweep.hasFailed { log.suspects.remove(suspects) }
      return sweep
    }
  }

  /// Returns the next entries that are older than the sweep; `nil` at the end. Removes unreadable entries.
  func nextHeads(_ sweep: inout Sweep) -> [Head]? {
    guard let places = places(from: &sweep.nextSlot, count: DiskIndex.chunkSize, before: sweep.number) else {
      return nil
    }
    return heads(of: places, &sweep)
  }

  /// Returns the readable entries with ids below a number in some slots; `nil` at the end. It changes nothing.
  func listedHeads(from slot: inout Int, count: Int, before number: UInt64) -> [Head]? {
    places(from: &slot, count: count, before: number)?.compactMap { head(of: $0) }
  }

  /// Returns the entries with ids below a number in some slots, in the order of their places on disk; `nil` at the end.
  private func places(from slot: inout Int, count: Int, before number: UInt64) -> [Place]? {
    let start = slot
    let places = catalog.withLock { catalog -> [Place]? in
      guard start < catalog.index.slotCount else { return nil }
      let end = min(start + count, catalog.index.slotCount)
      return (start..<end).compactMap { catalog.place(UInt32($0), before: number) }
    }
    slot = start + count
    return places?.sorted { $0.candidate.source.location.position < $1.candidate.source.location.position }
  }

  /// Returns the entries under a key's hash that are older than the sweep. Removes unreadable entries.
  func heads(for hash: UInt64, _ sweep: inout Sweep) -> [Head] {
    let number = sweep.number
    let places = catalog.withLock { catalog in
      catalog.index.slots(for: hash).compactMap { catalog.place($0, before: number) }
    }
    return heads(of: places, &sweep)
  }

  private func heads(of places: [Place], _ sweep: inout Sweep) -> [Head] {
    var unreadable: [(slot: UInt32, id: UInt64)] = []
    let heads = places.compactMap { place in
      let found = head(of: place)
      if found == nil { unreadable.append((place.slot, place.candidate.id)) }
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
      log.flusher.awaitBuffer(of: log)
      let bytes = part.reduce(0) { $0 + 256 + 2 * ($1.update?.metadata.count ?? 0) }
      sweep = log.withRoom(bytes) { [sweep, part] log -> Sweep in
        var sweep = sweep
        guard !log.isClosed else { return sweep }
        for change in part { log.apply(change, &sweep) }
        return sweep
      }
    }
  }

  /// Removes unreadable entries: their key is unknown, so the sweep may concern them.
  private func drop(_ unreadable: [(slot: UInt32, id: UInt64)], _ sweep: inout Sweep) {
    guard !unreadable.isEmpty else { return }
    sweep = log.withLock { [sweep] log -> Sweep in
      var sweep = sweep
      guard !log.isClosed else { return sweep }
      for (slot, id) in unreadable {
        let known = log.catalog.withLock { catalog -> (hash: UInt64, fingerprint: UInt32)? in
          let entry = catalog.index[slot]
          guard !entry.isFree, entry.id == id else { return nil }
          return (catalog.index.knownHash(of: slot), entry.fingerprint)
        }
        guard let known else { continue }
        log.context.counters.corruptRecords.increment()
        log.remove(hash: known.hash, fingerprint: known.fingerprint, &sweep)
      }
      // The hash is known only in part.
      log.context.changes.advanceAll()
      return sweep
    }
  }

  /// Returns when the sweep's changes would survive a crash.
  func finish(_ sweep: Sweep) {
    catalog.withLock { $0.sweeps.end() }
    if sweep.hasFailed {
      removals.finish(.failed)
    } else {
      // Only records in the log may be acknowledged.
      removals.finish(sweep.last.map { .logged($0, lostBefore: sweep.lostBefore) } ?? .unneeded)
    }
  }

  /// Whether a sweep that has visited the disk has visited an entry that memory holds.
  func hasVisited(_ hash: UInt64, id: UInt64) -> Bool {
    catalog.withLock { $0.index.slot(for: hash, id: id) != nil && $0.sweeps.missed[id] == nil }
  }

  /// The hashes of the keys whose entries came to the disk while a sweep visited it.
  var missedHashes: Set<UInt64> { catalog.withLock { Set($0.sweeps.missed.values) } }

  /// Whether a sweep is in progress. Under the log's lock, none begins meanwhile.
  var isSweeping: Bool { catalog.withLock { $0.sweeps.count > 0 } }

  /// Reads the head of an entry; `nil` if it is damaged.
  private func head(of place: Place) -> Head? {
    let candidate = place.candidate
    guard let (header, bytes) = readHead(candidate.source), header.id == candidate.id,
      header.kind == .entry || header.kind == .entryWithBodyFile
    else { return nil }
    var (latest, metadata) = (header, bytes[header.metadataRange])
    var diskBytes = Int(candidate.source.location.count) + place.bodyFileSize
    if let update = candidate.update {
      guard let (newer, bytes) = readHead(update.source), newer.id == candidate.id, newer.kind == .metadata
      else { return nil }
      (latest, metadata) = (newer, bytes[newer.metadataRange])
      diskBytes += Int(update.source.location.count)
    }
    return Head(
      id: header.id, variant: header.variant, storedAt: latest.storedAt,
      key: StoreKey(Array(bytes[header.headRange].prefix(header.keyCount))),
      metadata: Array(metadata), bodyCount: header.bodyCount, diskBytes: diskBytes)
  }

  private func readHead(_ source: Catalog.Candidate.Source) -> (RecordHeader, [UInt8])? {
    Record.readHead(at: source.location, of: source.file, buffered: source.buffered, hasher: hasher)
  }
}

extension Log {
  fileprivate mutating func apply(_ change: Sweeper.Change, _ sweep: inout Sweeper.Sweep) {
    guard let slot = catalog.slot(for: change.hash, id: change.id) else { return }
    defer { context.changes.advance(for: change.hash) }
    let fingerprint = catalog.withLock { $0.index[slot].fingerprint }
    if let update = change.update,
      appendMetadata(
        of: change.id, hash: change.hash, fingerprint: fingerprint, metadata: update.metadata,
        storedAt: update.storedAt, revision: update.revision)
    {
      unsynced.hasRemoval = true
      sweep.last = max(sweep.last ?? 0, update.revision)
    } else {
      // If the update fails, remove the entry: it must not be found again with its old metadata.
      remove(hash: change.hash, fingerprint: fingerprint, &sweep)
    }
  }

  fileprivate mutating func remove(hash: UInt64, fingerprint: UInt32?, _ sweep: inout Sweeper.Sweep) {
    let record = removalRecord(hash: hash, fingerprint: fingerprint)
    if appendSurely(record) {
      sweep.last = max(sweep.last ?? 0, record.header.id)
    } else {
      sweep.hasFailed = true
    }
    dropFromIndex(hash: hash, fingerprint: fingerprint)
  }
}

extension Catalog.Contents {
  /// Returns an entry if its id is lower than a number. It does not count as hit.
  fileprivate func place(_ slot: UInt32, before number: UInt64) -> Sweeper.Place? {
    let entry = index[slot]
    guard !entry.isFree, entry.id < number,
      let candidate = candidate(slot, hash: index.knownHash(of: slot))
    else { return nil }
    return Sweeper.Place(
      slot: slot, candidate: candidate,
      bodyFileSize: entry.hasBodyFile ? index.bodyFiles[entry.id]?.size ?? 0 : 0)
  }
}

/// The sweeps in progress, and the entries on disk that they may have missed. The catalog's lock guards them.
///
/// A sweep visits the disk first, and then what memory alone holds. Meanwhile a pin can write an entry of memory to the
/// disk, to a place that the sweep has passed. Such an entry is older than the sweep.
struct Sweeps: Sendable {
  private(set) var count = 0
  /// The number of the latest sweep: see ``Sweeper/Sweep/number``.
  private var number: UInt64 = 0
  /// The hashes of their keys, by their ids.
  private(set) var missed: [UInt64: UInt64] = [:]

  mutating func begin(_ number: UInt64) {
    count += 1
    self.number = max(self.number, number)
  }

  mutating func end() {
    count -= 1
    if count == 0 { self = Sweeps() }
  }

  /// Records that an entry was added to the index.
  mutating func add(_ id: UInt64, hash: UInt64) {
    if id < number { missed[id] = hash }
  }
}
