import Dispatch
import Synchronization
import SystemPackage

/// The disk tier: an append-only log of fixed-size segments, large bodies in files of their own, an index in memory.
///
/// `log` orders everything that is appended. `catalog` guards the index and is held for no I/O, so that finding an entry
/// waits for no write; what is found is read without any lock, through a file that stays open as long as somebody
/// reads it, reclaimed or not.
///
/// What is appended goes to a buffer (`WriteBuffer`), where it is found like what is on disk. A queue writes it as soon as
/// it gets to it, under a lock of its own, `flushing`, so that storing waits for no write. When the buffer fills up, or
/// a removal must be written before it returns, the thread at hand does the same. What must reach the disk itself is
/// synced under a fourth lock, `syncing`. They are taken in the order `syncing`, `flushing`, `log`, `catalog`.
final class DiskTier: Sendable {
  struct Options: Sendable {
    var segmentSize: Int?
    var largeBodyThreshold: Int
    var maximumVariants: Int
    var sync: DiskSync
    /// The bytes that may await their writing; 0 writes each record at once.
    var writeBuffer: Int
    var observer: (@Sendable (DiskEvent) -> Void)?

    /// 16 MiB, unless the capacity would then have fewer than 16 segments, or so many that their open files matter.
    ///
    /// It follows the capacity when that changes: a log of few segments, or less than one, loses all it has whenever it
    /// makes room.
    func segmentSize(for capacity: Int) -> Int {
      if let segmentSize { return min(segmentSize, capacity / 4) }
      let most = min(16 << 20, capacity / 16)
      let size = max(DiskFormat.minimumSegmentSize, most, capacity / 256)
      return min(size, DiskFormat.maximumSegmentSize) & ~4095
    }

    /// As many marks as take a sixteenth of a segment, for every segment begins with them.
    func markLimit(for capacity: Int) -> Int {
      min(ScopeMarks.defaultLimit, segmentSize(for: capacity) / 256)
    }

    func largeBodyThreshold(for capacity: Int) -> Int {
      min(largeBodyThreshold, segmentSize(for: capacity) / 4)
    }
  }

  let directory: FilePath
  let files: any FileSystem
  let hasher: KeyHasher
  let options: Options
  let sequence: SequenceNumbers
  let changes: StripedCounters
  let marks: ScopeMarks
  let counters: DiskCounters
  let acknowledged = AcknowledgedRemovals()
  let log: Mutex<Log>
  let catalog: Mutex<Catalog>
  let syncing = Mutex(())
  let flushing = Mutex(Writing())
  let flusher = DispatchQueue(label: "HTTPCacheStore.flush", qos: .utility)
  /// Whether somebody writes what is in the buffer.
  let isWriting = Atomic<Bool>(false)
  /// `WriteBuffer.count`, to be read without waiting.
  let bufferedBytes = Atomic<Int>(0)
  /// What the observer is to be told, in its order, and who tells it.
  private let untold = Mutex<[DiskEvent]>([])
  private let telling = Mutex(())
  /// `Log.used` and `Log.capacity`, to be read without waiting for a write.
  private let shownBytes: Atomic<Int>
  private let shownCapacity: Atomic<Int>

  init(
    directory: FilePath, files: any FileSystem, options: Options, changes: StripedCounters,
    opened: DiskOpening.Result
  ) {
    self.directory = directory
    self.files = files
    self.options = options
    self.changes = changes
    hasher = opened.hasher
    sequence = SequenceNumbers(after: opened.lastSequence)
    marks = opened.marks
    counters = opened.counters
    log = Mutex(opened.log)
    catalog = Mutex(opened.catalog)
    shownBytes = Atomic(opened.log.used)
    shownCapacity = Atomic(opened.log.capacity)
    // The capacity may be lower than the last time.
    withLog { log in _ = makeRoom(0, log: &log) }
  }

  /// Runs under the log's lock, and then shows how much is used, of what.
  func withLog<Result: Sendable>(_ body: (inout Log) -> Result) -> Result {
    let (result, hasEvents) = log.withLock { log -> (Result, Bool) in
      let result = body(&log)
      shownBytes.store(log.used, ordering: .releasing)
      // A lower capacity is shown only once it is kept.
      if log.used <= log.capacity { shownCapacity.store(log.capacity, ordering: .releasing) }
      bufferedBytes.store(log.buffer.count, ordering: .relaxed)
      guard !log.health.events.isEmpty else { return (result, false) }
      // Under this lock, so that they are in the order in which they happened, whoever tells them.
      untold.withLock { $0 += log.health.events }
      log.health.events = []
      return (result, true)
    }
    if hasEvents { tell() }
    return result
  }

  /// Tells the observer what happened. When it returns, that has been told, by this thread or another.
  private func tell() {
    telling.withLock { _ in
      let events = untold.withLock { untold in
        defer { untold = [] }
        return untold
      }
      for event in events {
        if event.kind == .failing { counters.failures.increment() }
        options.observer?(event)
      }
    }
  }

  // MARK: Adding

  enum Outcome: Sendable {
    /// Visible on disk; the moment is the one just after. Whether the key has no other variant on disk.
    case stored(StripedCounters.Moment, isOnlyVariant: Bool)
    case refused(RefusalReason)
  }

  /// Appends an entry and makes it visible; nothing is synced.
  ///
  /// - Parameters:
  ///   - header: of kind `entry` or `entryWithBodyFile`, complete.
  ///   - objection: asked under the log's lock, where a removal that came first has left its mark.
  func insert(_ header: RecordHeader, record: RecordBytes, objection: () -> RefusalReason?) -> Outcome {
    prepareRoom(for: record.count)
    return withLog { log -> Outcome in
      guard !log.isClosed else { return .refused(.closed) }
      if let reason = objection() { return .refused(reason) }
      guard log.health.mayTry() else {
        forget(hash: header.hash, fingerprint: header.fingerprint, log: &log)
        changes.advance(for: header.hash)
        return .refused(.inputOutput)
      }
      guard hasDirectory(&log), header.kind != .entryWithBodyFile || header.bodyFile >= log.oldestBody else {
        forget(hash: header.hash, fingerprint: header.fingerprint, log: &log)
        changes.advance(for: header.hash)
        return .refused(.inputOutput)
      }
      let (old, count, oldest) = catalog.withLock { $0.index.standing(of: header) }
      if let old {
        guard old < header.id else { return .refused(.superseded) }
      } else if count >= options.maximumVariants, let oldest {
        forget(hash: header.hash, fingerprint: oldest, log: &log)
        counters.evictions.increment()
      }
      while catalog.withLock({ $0.index.count >= DiskIndex.maximumCount }) {
        // The oldest may hold none of them any more.
        guard reclaimOldest(carrying: false, log: &log) else { break }
      }
      let location: RecordLocation
      do throws(AppendFailure) {
        location = try append(record, header, log: &log)
      } catch {
        forget(hash: header.hash, fingerprint: header.fingerprint, log: &log)
        changes.advance(for: header.hash)
        return .refused(error.reason)
      }
      let isOnly = publish(header, at: location, log: &log)
      changes.advance(for: header.hash)
      return .stored(changes.moment(for: header.hash), isOnlyVariant: isOnly)
    }
  }

  private func publish(_ header: RecordHeader, at location: RecordLocation, log: inout Log) -> Bool {
    let entry = DiskIndexEntry(
      hash: header.hash, fingerprint: header.fingerprint, id: header.id, location: location,
      storedSeconds: DiskIndexEntry.seconds(header.storedAt))
    let bodyFileSize = header.kind == .entryWithBodyFile ? DiskFormat.bodyFileSize(header.bodyCount) : 0
    let (orphan, isOnly) = catalog.withLock { catalog in
      let old = catalog.index.slot(for: header.hash, fingerprint: header.fingerprint)
      let orphan = old.flatMap { catalog.index.remove($0) }
      let isOnly = !catalog.index.contains(header.hash)
      let slot = catalog.index.insert(entry, hash: header.hash)
      if bodyFileSize > 0 { catalog.index.setBodyFile((header.bodyFile, bodyFileSize), of: slot) }
      return (orphan, isOnly)
    }
    log.segments[log.segments.count - 1].bodyFileBytes += bodyFileSize
    counters.bytesStored.increment(by: header.keyCount + header.metadataCount + header.bodyCount)
    if let orphan {
      if log.buffer.count > 0 { log.buffer.append(orphan) } else { removeBodyFile(orphan, log: &log) }
    }
    return isOnly
  }

  /// Appends new metadata for an entry. `false` when the disk does not have it, or could not take it and forgot it.
  ///
  /// - Parameter isKeptOut: asked under the log's lock.
  func updateMetadata(
    of id: UInt64, hash: UInt64, metadata: [UInt8], storedAt: Int64, revision: UInt64,
    unless isKeptOut: () -> Bool
  ) -> Bool {
    awaitBuffer()
    let isUpdated = withLog { log -> Bool in
      guard !log.isClosed, !isKeptOut(), let slot = currentSlot(hash: hash, id: id) else { return false }
      let (fingerprint, known) = catalog.withLock {
        ($0.index[slot].fingerprint, $0.index.updates[id]?.revision ?? id)
      }
      guard known < revision else { return true }
      var header = RecordHeader(
        kind: .metadata, hash: hash, variant: UInt64(fingerprint), id: id, revision: revision,
        storedAt: storedAt)
      let record = Record.encode(&header, metadata: metadata[...], hasher: hasher)
      guard log.health.mayTry(), let location = try? append(record, header, log: &log) else {
        // With its old metadata it must not be found again, once memory has lost the new.
        if currentSlot(hash: hash, id: id) != nil { forget(hash: hash, fingerprint: fingerprint, log: &log) }
        changes.advance(for: hash)
        return false
      }
      // Making room may have reclaimed the entry itself.
      guard let slot = currentSlot(hash: hash, id: id) else { return false }
      catalog.withLock {
        $0.index.update(
          slot, at: location, revision: revision, storedSeconds: DiskIndexEntry.seconds(storedAt))
      }
      changes.advance(for: hash)
      return true
    }
    guard isUpdated, options.sync == .everyStore, !sync(withBodies: true) else { return isUpdated }
    if let slot = currentSlot(hash: hash, id: id) {
      _ = self.yield(hash: hash, fingerprint: catalog.withLock { $0.index[slot].fingerprint })
    }
    return false
  }

  /// The number of the insert or update that the metadata of an entry came with; `nil` if the entry is not here.
  func revision(of id: UInt64, hash: UInt64) -> UInt64? {
    catalog.withLock { catalog in
      catalog.index.slot(for: hash, id: id).map { _ in catalog.index.updates[id]?.revision ?? id }
    }
  }

  func currentSlot(hash: UInt64, id: UInt64) -> UInt32? {
    catalog.withLock { $0.index.slot(for: hash, id: id) }
  }

  // MARK: Size

  var bytes: Int { shownBytes.load(ordering: .relaxed) }
  var capacity: Int { shownCapacity.load(ordering: .relaxed) }
  var count: Int { catalog.withLock { $0.index.count } }

  func show(in usage: inout StoreUsage) {
    usage.diskBytes = bytes
    catalog.withLock { catalog in
      usage.diskEntries = catalog.index.count
      usage.diskLiveBytes = catalog.index.recordBytes + catalog.index.bodyFileBytes
      usage.diskIndexBytes = catalog.index.bytes
    }
  }

  func setCapacity(_ bytes: Int) {
    withLog { log in
      if bytes > capacity { shownCapacity.store(bytes, ordering: .relaxed) }
      log.capacity = bytes
      _ = makeRoom(0, log: &log)
    }
  }
}
