// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// The disk tier: an append-only log of fixed-size segments, large bodies in their own files, and an index in
/// memory.
///
/// It connects its parts; the store sees nothing else of them. The comment at the top of each part names its state, the
/// lock that guards it, and what it guarantees after a crash. The order of the locks is at `LockedLog`.
///
/// | part | what it does |
/// |---|---|
/// | `Catalog`, `EntryReader` | finds and reads entries |
/// | `Log` in `LockedLog` | appends, seals and reclaims, under one lock |
/// | `Flusher` | writes appended records, soon after |
/// | `Syncer` | syncs written bytes to the disk |
/// | `Removals`, `Sweeper` | removes entries, and makes that durable |
/// | `BodyFiles` | keeps large bodies in their own files |
/// | `Pinning` | keeps the entries of some keys from eviction |
/// | `DiskHealth`, `DiskEvents` | decides when to try again, and calls the observer |
/// | `DiskOpening`, `LogRecovery` | opens a directory, and rebuilds the catalog |
final class DiskTier: Sendable {
  let context: DiskContext
  let catalog: Catalog
  let log: LockedLog
  let bodies: BodyFiles
  let removals: Removals
  let sweeper: Sweeper
  let pinning: Pinning
  private let reader: EntryReader
  private let syncer: Syncer

  init(
    directory: FilePath, files: any FileSystem, capacity: Int, options: DiskOptions, changes: StripedCounters,
    opened: DiskOpening.Result
  ) {
    context = DiskContext(
      directory: directory, files: files, hasher: opened.hasher, options: options,
      sequence: SequenceNumbers(after: opened.log.lastSequence), changes: changes,
      invalidations: opened.invalidations,
      counters: opened.counters)
    catalog = Catalog(opened.log.catalog)
    log = LockedLog(
      Log(
        opened.log, lockFile: opened.lockFile, capacity: capacity, context: context, catalog: catalog,
        pins: opened.pins),
      flusher: Flusher(limit: options.writeBuffer))
    log.settleOpening()
    bodies = BodyFiles(log: log)
    reader = EntryReader(log)
    syncer = Syncer(log)
    removals = Removals(log: log, syncer: syncer)
    sweeper = Sweeper(removals: removals)
    pinning = Pinning(log: log, syncer: syncer, reader: reader)
  }

  var sequence: SequenceNumbers { context.sequence }
  var counters: DiskCounters { context.counters }

  // MARK: Finding

  func hasEntry(for hash: UInt64) -> Bool { catalog.contains(hash) }

  /// See ``Catalog/candidates(for:)``.
  @inline(__always)
  func candidates(for hash: UInt64) -> (first: Catalog.Candidate?, others: [Catalog.Candidate]) {
    catalog.candidates(for: hash)
  }

  func candidate(for hash: UInt64, variant: UInt64) -> Catalog.Candidate? {
    catalog.candidate(for: hash, variant: variant)
  }

  func read(_ candidate: Catalog.Candidate, key: StoreKey, atOnce: Bool = false) -> EntryReader.Found {
    reader.read(candidate, key: key, atOnce: atOnce)
  }

  func currentSlot(hash: UInt64, id: UInt64) -> UInt32? { catalog.slot(for: hash, id: id) }

  func revision(of id: UInt64, hash: UInt64) -> UInt64? { catalog.revision(of: id, hash: hash) }

  // MARK: Adding

  /// Maximum bytes of key, metadata and body of an entry together: half of the capacity. So a body of unknown length
  /// that proves too large has not evicted everything before the store refuses it.
  var maximumEntrySize: Int { capacity / 2 }

  /// Bodies of more bytes than this have their own file.
  var largeBodyThreshold: Int { context.options.largeBodyThreshold(for: capacity) }

  /// Bodies of more bytes than this are in their own file only, and not in memory. A full file system does not lower it.
  var fileOnlyThreshold: Int { context.options.largeBodyThreshold(for: configuredCapacity) }

  /// Inserts an entry whose body is in memory, or was streamed.
  ///
  /// - Parameters:
  ///   - revision: the number of the update that wrote the metadata (default: the id).
  ///   - file: the streamed body; afterwards it belongs to the tier, or is removed.
  func insert(
    _ entry: NewEntry, id: UInt64, revision: UInt64? = nil, hash: UInt64, file: inout BodyFileWriter?,
    objection: () -> RefusalReason?
  ) -> Log.Outcome {
    var header = RecordHeader(
      kind: .entry, hash: hash, variant: entry.variant.rawValue, id: id, revision: revision ?? id,
      storedAt: entry.storedAt)
    do throws(AppendFailure) {
      if file == nil, entry.body.count > largeBodyThreshold {
        // Check the size before anything is reclaimed for the body.
        guard entry.body.count + entry.key.bytes.count + entry.metadata.count <= maximumEntrySize else {
          _ = self.yield(hash: hash, variant: entry.variant.rawValue)
          return .refused(.tooLargeForDisk)
        }
        file = try BodyFileWriter(bodies)
        try file?.append(entry.body[...])
      }
      if let checksum = try file?.finish(), let file {
        header.kind = .entryWithBodyFile
        header.bodyFile = file.number
        header.bodyCount = file.count
        header.bodyChecksum = checksum
      }
    } catch {
      file?.discard()
      file = nil
      _ = self.yield(hash: hash, variant: entry.variant.rawValue)
      return .refused(error.reason)
    }
    let record = record(of: entry, &header)
    var outcome = Log.Outcome.refused(.tooLargeForDisk)
    if context.room(for: record.count) <= context.options.segmentSize(for: capacity) {
      log.flusher.awaitBuffer(of: log)
      outcome = log.withRoom(context.room(for: record.count), for: .entry) { log in
        log.insert(header, record: record, objection: objection)
      }
    } else {
      _ = self.yield(hash: hash, variant: entry.variant.rawValue)
    }
    if case .stored = outcome {
      file?.keep()
    } else {
      file?.discard()
      log.writeAtOnce()
    }
    file = nil
    // By now the index knows the body file as the entry's. So the sync includes it, and the file is removed once if the
    // sync fails.
    if case .stored = outcome, !persist() {
      // A failed write has already lost the entry.
      if currentSlot(hash: hash, id: id) != nil {
        _ = self.yield(hash: hash, fingerprint: header.fingerprint)
      }
      return .refused(.inputOutput)
    }
    return outcome
  }

  /// Writes what was inserted or updated, as far as the caller must wait for it. Returns `false` if that failed.
  private func persist() -> Bool {
    if context.options.sync == .everyStore { return sync() }
    return !context.options.writesAtOnce || log.flush()
  }

  private func record(of entry: NewEntry, _ header: inout RecordHeader) -> RecordBytes {
    let isInline = header.kind == .entry
    if isInline, entry.body.count >= RecordBytes.leastBody {
      return Record.encodeApart(
        &header, key: entry.key.bytes, metadata: entry.metadata, body: entry.body, hasher: context.hasher)
    }
    return RecordBytes(
      Record.encode(
        &header, key: entry.key.bytes[...], metadata: entry.metadata[...],
        inlineBody: isInline ? entry.body[...] : nil, hasher: context.hasher))
  }

  /// See ``Log/updateMetadata(of:hash:metadata:storedAt:revision:unless:)``.
  func updateMetadata(
    of id: UInt64, hash: UInt64, metadata: [UInt8], storedAt: Int64, revision: UInt64,
    unless isKeptOut: () -> Bool
  ) -> Bool {
    log.flusher.awaitBuffer(of: log)
    // Twice the room: the entry's segment then needs more to be carried forward.
    let isUpdated = log.withRoom(1024 + 2 * metadata.count) { log in
      log.updateMetadata(
        of: id, hash: hash, metadata: metadata, storedAt: storedAt, revision: revision, unless: isKeptOut)
    }
    guard isUpdated, !persist() else { return isUpdated }
    if let slot = currentSlot(hash: hash, id: id) {
      _ = self.yield(hash: hash, fingerprint: catalog.withLock { $0.index[slot].fingerprint })
    }
    return false
  }

  // MARK: Removing

  @discardableResult
  func remove(hash: UInt64, variant: UInt64? = nil) -> [UInt64] {
    removals.remove(hash: hash, variant: variant)
  }

  func removeAll(since time: Int64) { removals.removeAll(since: time) }

  func removeAll() { removals.removeAll() }

  func mark(_ hashes: [UInt64], number: UInt64) { removals.mark(hashes, number: number) }

  /// Forgets a variant that only memory holds from now on. Returns the moment after that, and whether the disk has no
  /// other variant.
  func yield(hash: UInt64, variant: UInt64) -> (StripedCounters.Moment, isOnlyVariant: Bool) {
    self.yield(hash: hash, fingerprint: DiskIndexEntry.fingerprint(of: variant, hash: hash))
  }

  private func yield(hash: UInt64, fingerprint: UInt32) -> (StripedCounters.Moment, isOnlyVariant: Bool) {
    log.withRoom { log in
      log.forget(hash: hash, fingerprint: fingerprint)
      context.changes.advance(for: hash)
      return (context.changes.moment(for: hash), !hasEntry(for: hash))
    }
  }

  // MARK: Size and life

  var bytes: Int { log.bytes }
  /// The bytes that the disk keeps to now: less than configured while the file system has less room.
  var capacity: Int { log.capacity }
  var configuredCapacity: Int { log.configuredCapacity }
  var count: Int { catalog.count }

  func show(in usage: inout StoreUsage) {
    usage.diskBytes = bytes
    catalog.withLock { catalog in
      usage.diskEntries = catalog.index.count
      usage.diskLiveBytes = catalog.index.recordBytes + catalog.index.bodyFileBytes
      usage.diskIndexBytes = catalog.index.bytes
      usage.pinnedBytes = catalog.index.pinnedBytes
    }
    usage.pinnedKeys = log.pinCount
  }

  func setCapacity(_ bytes: Int) { log.setCapacity(bytes) }

  /// Syncs everything that is not yet on the disk. Returns `false` if that failed.
  @discardableResult
  func sync() -> Bool { syncer.sync(withBodies: true) }

  func close() { pinning.whileIdle { log.close(syncer) } }
}
