// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// The log and its lock, which orders all appends.
///
/// **State**: the log, and copies of its figures that threads read without the lock. When the lock is released, the
/// figures are current. Events are then scheduled for the observer, and so is a flush if the buffer is not empty.
///
/// **Lock order** of the whole tier: `Syncer`, `Flusher`, `SharedLog`, then one of `Catalog`, `ScopeMarks`,
/// `PurgeFences`. The observer of events runs without any of them.
///
/// **Crash**: see `Log`.
final class SharedLog: Sendable {
  let context: DiskContext
  let catalog: Catalog
  let flusher: Flusher
  let events: DiskEvents
  private let log: Mutex<Log>
  private let shownBytes: Atomic<Int>
  private let shownCapacity: Atomic<Int>
  private let shownBuffer = Atomic<Int>(0)

  init(_ log: Log, flusher: Flusher) {
    context = log.context
    catalog = log.catalog
    self.flusher = flusher
    events = DiskEvents(observer: log.context.options.observer, counters: log.context.counters)
    shownBytes = Atomic(log.space.used)
    shownCapacity = Atomic(log.space.capacity)
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
      if !log.buffer.pieces.isEmpty || !log.abandoned.isEmpty { flusher.schedule(self) }
      if !log.health.events.isEmpty { events.add(log.health.takeEvents()) }
      return result
    }
  }

  /// `DiskSpace.used` and `DiskSpace.capacity`, without waiting for a write.
  var bytes: Int { shownBytes.load(ordering: .relaxed) }
  var capacity: Int { shownCapacity.load(ordering: .relaxed) }

  func setCapacity(_ bytes: Int) {
    withLock { log in
      if bytes > capacity { shownCapacity.store(bytes, ordering: .relaxed) }
      log.space.capacity = bytes
      _ = log.makeRoom(0)
    }
  }

  /// Makes room for a record before it is appended, and writes the buffer if carrying forward fills it. Call it without
  /// any lock.
  func prepareRoom(for count: Int) {
    flusher.awaitBuffer(of: self)
    guard context.options.writeBuffer > 0 else { return }
    var turns: Int?
    while withLock({ log in !log.makeRoomWhileBufferLasts(for: count, turns: &turns) }) {
      flush()
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

extension SharedLog: FlushSource {
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
