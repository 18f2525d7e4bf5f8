// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// The log and its lock, which orders all appends.
///
/// **State**: the log, and copies of its figures that threads read without the lock. When the lock is released, the
/// figures are current. Events are then scheduled for the observer, and so is a flush if the buffer is not empty.
///
/// **Lock order** of the whole tier: `Syncer`, `Flusher`, `LockedLog`, then `Catalog` or `Invalidations`.
/// The observer of events runs without any of them.
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
  private let shownConfigured: Atomic<Int>
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
    shownConfigured = Atomic(log.space.configured)
    shownPins = Atomic(log.pins.list.count)
    self.log = Mutex(log)
    // Report and write what the opening left.
    withLock { _ in }
  }

  /// Runs `body` under the log's lock, and then publishes the used bytes and the capacity.
  ///
  /// - Parameter reserved: bytes whose reservation ends before `body`.
  func withLock<Result: Sendable>(releasing reserved: Int = 0, _ body: (inout Log) -> Result) -> Result {
    log.withLock { log in
      log.space.reserve(-reserved)
      let result = body(&log)
      publish(&log)
      return result
    }
  }

  /// Publishes what ``withLock(releasing:_:)`` may have changed. Apart, as a copy of that is compiled for each caller.
  @inline(never)
  private func publish(_ log: inout Log) {
    shownBytes.store(log.space.used, ordering: .releasing)
    // A lower capacity is published only once the used bytes fit.
    if log.space.fits(0) { shownCapacity.store(log.space.capacity, ordering: .releasing) }
    shownConfigured.store(log.space.configured, ordering: .relaxed)
    shownBuffer.store(log.buffer.count, ordering: .relaxed)
    shownPins.store(log.pins.list.count, ordering: .relaxed)
    shownBodyState.store(log.health.bodyState, ordering: .relaxed)
    let isBehind = !log.buffer.pieces.isEmpty && !context.options.writesAtOnce
    if isBehind || !log.abandoned.isEmpty { flusher.schedule(self) }
    if !log.health.events.isEmpty { events.add(log.health.takeEvents()) }
  }

  /// The numbers of `DiskSpace`, without waiting for a write.
  var bytes: Int { shownBytes.load(ordering: .relaxed) }
  var capacity: Int { shownCapacity.load(ordering: .relaxed) }
  var configuredCapacity: Int { shownConfigured.load(ordering: .relaxed) }

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
    // Pinned entries are carried forward within the present capacity, as far as the new one may hold them.
    withLock { log in log.pinEntries(within: min(bytes, log.space.capacity)) }
    withRoom(0, for: .pins, within: bytes) { log in
      if bytes > capacity { shownCapacity.store(bytes, ordering: .relaxed) }
      (log.space.capacity, log.space.configured) = (bytes, bytes)
      log.health.succeed(DiskHealth.filling)
      log.pinEntries(within: bytes)
      log.keepToCapacity()
    }
  }

  /// Makes room after an opening: the capacity may be lower than at the last one.
  func settleOpening() {
    let capacity = withLock { log in
      let capacity = log.space.capacity
      log.space.capacity = max(capacity, log.space.used + log.carryBudget + log.pinReserve)
      return capacity
    }
    setCapacity(capacity)
    shownCapacity.store(capacity, ordering: .relaxed)
  }

  /// Makes room, and runs `body` under the log's lock, whether there is room or not. Call it without any lock.
  ///
  /// - Parameters:
  ///   - bytes: by default, the room for a removal.
  ///   - capacity: the capacity to keep to, if it is lower than the present one.
  @inline(__always)
  func withRoom<Result: Sendable>(
    _ bytes: Int = 1024, for use: DiskRoom.Use = .change, within capacity: Int = .max,
    _ body: (inout Log) -> Result
  ) -> Result {
    let reserved = reserve(DiskRoom(bytes: bytes, use: use, capacity: capacity, mayWait: true))
    // Not by a closure around `body`: the compiler would copy what that has captured, for a tenth of an insert.
    let result = withLock(releasing: reserved, body)
    // An insert writes by itself, and learns whether its entry was written.
    if use != .entry { writeAtOnce() }
    return result
  }

  /// Writes what room was made for has carried, if no write may wait.
  func writeAtOnce() { if context.options.writesAtOnce { flush() } }

  /// Makes room, and reserves it. Returns the reserved bytes.
  private func reserve(_ room: DiskRoom) -> Int {
    var room = room
    while true {
      let progress = withLock { log in
        let progress = log.makeRoom(&room)
        if case .done = progress { log.space.reserve(room.bytes) }
        return progress
      }
      switch progress {
      case .done: return room.bytes
      case .stuck: return 0
      case .write: flush()
      case .settle(let batch): if settle(batch) == 0 { room.wasted += 1 }
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
