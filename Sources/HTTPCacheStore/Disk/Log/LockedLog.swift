// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// The log and its lock, which orders all appends.
///
/// **State**: the log, and copies of its figures that threads read without the lock. When the lock is released, the
/// figures are current. Events are then scheduled for the observer, and so is a flush if the buffer is not empty.
///
/// **Lock order** of the whole tier: `Syncer`, `Flusher`, `LockedLog`, then one of `Catalog`, `ScopeMarks`,
/// `PurgeFences`. The observer of events runs without any of them.
///
/// **Crash**: see `Log`.
final class LockedLog: Sendable {
  let context: DiskContext
  let catalog: Catalog
  let flusher: Flusher
  let events: DiskEvents
  private let log: Mutex<Log>
  private let shownBytes: Atomic<Int>
  private let shownCapacity: Atomic<Int>
  private let shownBuffer = Atomic<Int>(0)
  private let shownPins: Atomic<Int>
  private let shownBodyState = Atomic<Int>(0)

  init(_ log: Log, flusher: Flusher) {
    context = log.context
    catalog = log.catalog
    self.flusher = flusher
    events = DiskEvents(observer: log.context.options.observer, counters: log.context.counters)
    shownBytes = Atomic(log.space.used)
    shownCapacity = Atomic(log.space.capacity)
    shownPins = Atomic(log.pins.list.count)
    self.log = Mutex(log)
    // Report and write what the opening left.
    withLock { _ in }
  }

  /// Runs `body` under the log's lock, and then publishes the used bytes and the capacity.
  func withLock<Result: Sendable>(_ body: (inout Log) -> Result) -> Result {
    log.withLock { log in
      let result = body(&log)
      shownBytes.store(log.space.used, ordering: .releasing)
      // A lower capacity is published only once the used bytes fit.
      if log.space.fits(0) { shownCapacity.store(log.space.capacity, ordering: .releasing) }
      shownBuffer.store(log.buffer.count, ordering: .relaxed)
      shownPins.store(log.pins.list.count, ordering: .relaxed)
      shownBodyState.store(log.health.bodyState, ordering: .relaxed)
      if !log.buffer.pieces.isEmpty || !log.abandoned.isEmpty { flusher.schedule(self) }
      if !log.health.events.isEmpty { events.add(log.health.takeEvents()) }
      return result
    }
  }

  /// `DiskSpace.used` and `DiskSpace.capacity`, without waiting for a write.
  var bytes: Int { shownBytes.load(ordering: .relaxed) }
  var capacity: Int { shownCapacity.load(ordering: .relaxed) }

  /// Number of pinned keys.
  var pinCount: Int { shownPins.load(ordering: .relaxed) }

  /// Whether the disk fails, as far as is known, without waiting for a write.
  var isFailing: Bool { shownBodyState.load(ordering: .relaxed) != 0 }

  /// Whether no body file may be written now, because the disk has failed.
  var isPausingBodies: Bool {
    let end = shownBodyState.load(ordering: .relaxed)
    return end > 1 && context.files.uptime.nanoseconds < end
  }

  func setCapacity(_ bytes: Int) {
    if pinCount > 0 {
      // Pinned entries are carried forward within the present capacity, as far as the new one may hold them.
      withLock { log in log.protectPins(capacity: min(bytes, log.space.capacity)) }
      _ = makeRoom(for: 0, isSmall: true, within: bytes)
    }
    withLock { log in
      if bytes > capacity { shownCapacity.store(bytes, ordering: .relaxed) }
      (log.space.capacity, log.space.configured) = (bytes, bytes)
      log.health.succeed(DiskHealth.filling)
      log.protectPins(capacity: bytes)
      _ = log.makeRoom(0)
      log.settlePins()
    }
  }

  /// Makes room for what pins need after an opening: the capacity may be lower than at the last one.
  func settleOpening() {
    guard pinCount > 0 else { return }
    let capacity = withLock { log in
      let capacity = log.space.capacity
      log.space.capacity = max(capacity, log.space.used + log.carryBudget + log.pinReserve)
      return capacity
    }
    _ = makeRoom(for: 0, isSmall: true, within: capacity)
    withLock { log in
      log.space.capacity = capacity
      _ = log.makeRoom(0)
      log.settlePins()
    }
    shownCapacity.store(capacity, ordering: .relaxed)
  }

  /// Makes room for a record before it is appended, and writes the buffer if carrying forward fills it. Call it without
  /// any lock.
  ///
  /// - Returns: the bytes that were reserved for the record: to be returned by `Log.release(_:)`, under the lock that
  ///   the record is appended with.
  func prepareRoom(for count: Int) -> Int {
    flusher.awaitBuffer(of: self)
    if pinCount > 0 { return makeRoom(for: context.room(for: count), isSmall: false) ?? 0 }
    guard context.options.writeBuffer > 0 else { return 0 }
    var turns: Int?
    while withLock({ log in !log.makeRoomWhileBufferLasts(for: count, turns: &turns) }) {
      flush()
    }
    return 0
  }

  /// Makes room beside what pins need, and reserves it. Call it without any lock.
  ///
  /// - Parameters:
  ///   - isSmall: see `Log.makeRoomStep`.
  ///   - target: the capacity to keep to, if it is lower than the present one. Then nothing is reserved.
  /// - Returns: the reserved bytes; `nil` if they do not fit.
  func makeRoom(for needed: Int, isSmall: Bool, within target: Int? = nil) -> Int? {
    var turns: Log.Turns?
    while true {
      let progress = withLock { log -> Log.Progress in
        let progress = log.makeRoomStep(needed, isSmall: isSmall, within: target, turns: &turns)
        if case .done = progress { log.reserve(needed) }
        return progress
      }
      switch progress {
      case .done: return needed
      case .stuck: return nil
      case .write: flush()
      case .settle(let batch): if settle(batch) == 0 { turns?.wasted += 1 }
      }
    }
  }

  /// Makes copies of pinned entries durable, and lets them take the place of their entries. Returns their number.
  private func settle(_ batch: PinnedCopies.Batch) -> Int {
    var failure: FileFailure?
    let isWritten = flush()
    if isWritten, context.options.sync != .never {
      do throws(FileFailure) {
        for file in batch.files { try file.sync() }
        try context.files.syncDirectory(context.directory)
      } catch {
        failure = error
      }
    }
    return withLock { [failure] log in
      if let failure { log.fail(failure) }
      if isWritten, failure == nil { return log.adoptCopies(upTo: batch.position) }
      _ = log.pins.copies.take(upTo: batch.position)
      return 0
    }
  }

  /// Runs `body` under the log's lock, with room for a small record beside what pins need. Without pins it only takes
  /// the lock.
  func withRoom<Result: Sendable>(forSmall bytes: Int = 1024, _ body: (inout Log) -> Result) -> Result {
    let room = pinCount > 0 ? makeRoom(for: bytes, isSmall: true) ?? 0 : 0
    return withLock { log in
      log.release(room)
      return body(&log)
    }
  }

  /// Writes the buffered bytes. Returns `false` if some of them were lost.
  @discardableResult
  func flush() -> Bool { flusher.flush(self) }

  /// Writes the end of the log to its files, and releases the directory.
  func close(_ syncer: Syncer) {
    withLock { log in
      if log.owesWipe { log.settleWipe() }
      log.writeSummary()
    }
    var attempts = 3
    var isClosed = false
    while !isClosed {
      syncer.sync(withBodies: true)
      attempts -= 1
      // Nothing is being written when the lock is released: another store may then use the directory.
      flusher.whileIdle(for: self) {
        isClosed = withLock { [attempts] log in
          // A concurrent removal is not lost. If the disk fails, waiting has no use.
          if log.buffer.count > 0 || log.unsynced.hasRemoval, attempts > 0 { return false }
          log.close()
          return true
        }
      }
    }
  }
}

extension LockedLog: FlushSource {
  var bufferedBytes: Int { shownBuffer.load(ordering: .relaxed) }

  func take(upTo bytes: Int) -> FlushBatch {
    withLock { log in
      _ = log.isInPlace()
      let (pieces, orphans) = log.buffer.take(upTo: bytes)
      defer { log.abandoned = [] }
      return FlushBatch(
        pieces: pieces, orphans: orphans, abandoned: log.abandoned, allocation: log.segmentSize / 8)
    }
  }

  func didWrite(_ run: [WriteBuffer.Piece]) {
    withLock { log in log.didWrite(run) }
  }

  func relieve(_ failure: FileFailure, for bytes: Int) -> Bool {
    withLock { log in log.relieve(failure, for: bytes) }
  }

  func lose(_ pieces: [WriteBuffer.Piece], because failure: FileFailure) {
    withLock { log in log.lose(pieces, because: failure) }
  }

  func finish(_ batch: FlushBatch) {
    withLock { log in
      for orphan in batch.orphans { log.removeBodyFile(orphan) }
    }
  }

  func file(of segment: UInt32) -> (any File)? { catalog.withLock { $0.files[segment] } }

  func resume() { withLock { _ in } }
}
