import Dispatch
import Synchronization
import SystemPackage

/// The segment that is being written, and up to where its file has blocks.
///
/// They are asked for in steps, ahead of what is written: a write takes a quarter less of the processor then,
/// and never waits for the file system to find some. A step is less than the room that is kept free for what is carried
/// forward, so that they do not exceed the capacity.
struct Writing: Sendable {
  var segment: UInt32 = 0
  var allocated = 0
}

extension DiskTier {
  /// Writes what is buffered to the log's files. `false` when some of it was lost.
  ///
  /// One thread writes at a time, and holds no lock that others need to store or to read.
  @discardableResult
  func flushBuffer() -> Bool {
    flushing.withLock { writing in
      var isWhole = true
      while let isWritten = writeTaken(&writing) { isWhole = isWritten && isWhole }
      return isWhole
    }
  }

  /// Keeps the buffer from growing above its size. To be called without any lock.
  ///
  /// When it is half full, and nobody is writing, the thread at hand does. When it is full, it waits for who is writing; and
  /// where that takes long, because the processors have other things to do, it rather writes by itself for a while. Each
  /// wait for a thread that waits for a processor is one of milliseconds, in which the other could write megabytes.
  func awaitBuffer() {
    guard options.writeBuffer > 0, bufferedBytes.load(ordering: .relaxed) >= options.writeBuffer / 2 else {
      return
    }
    // Asking the lock itself whether it is held takes a call of the system when it is.
    guard !isWriting.load(ordering: .relaxed) || isBufferFull else { return }
    let start = ContinuousClock.now
    flushing.withLock { writing in
      let waited = start.duration(to: .now)
      withLog { log in
        log.ownWrites = waited > Self.patience ? Self.mostOwnWrites : max(0, log.ownWrites - 1)
      }
      // Who had the lock may have made room.
      if bufferedBytes.load(ordering: .relaxed) >= options.writeBuffer / 2 { _ = writeTaken(&writing) }
    }
  }

  private static let patience = Duration.milliseconds(1)
  /// After so many, it is tried again whether the queue's thread is in time.
  private static let mostOwnWrites = 256
  /// When the queue's thread writes what is left, where those who store write by themselves.
  private static let lateFlush = DispatchTimeInterval.milliseconds(20)

  /// The bytes that are written, where there are as many, before the lock goes to another.
  private static let leastWritten = 256 << 10

  private var isBufferFull: Bool { bufferedBytes.load(ordering: .relaxed) >= options.writeBuffer }

  /// Writes the first of what is in the buffer. `nil` when nothing is, `false` when some was lost.
  private func writeTaken(_ writing: inout Writing) -> Bool? {
    let (pieces, orphans, abandoned) = withLog { log in
      _ = isInPlace(&log)
      defer { log.abandoned = [] }
      // Not too much, for others may wait to write.
      let taken = log.buffer.take(upTo: max(Self.leastWritten, options.writeBuffer / 4))
      isWriting.store(!taken.pieces.isEmpty, ordering: .relaxed)
      return (taken.pieces, taken.orphans, log.abandoned)
    }
    // Oldest first, as in `wipe`.
    for file in abandoned { try? file.truncate(to: 0) }
    let isWhole = pieces.isEmpty || write(pieces, &writing)
    withLog { log in
      for orphan in orphans { removeBodyFile(orphan, log: &log) }
      isWriting.store(false, ordering: .relaxed)
      scheduleFlush(&log)
    }
    return pieces.isEmpty ? nil : isWhole
  }

  /// A flush is on its way, as soon as the processor has time for it, unless nothing is to be written.
  func scheduleFlush(_ log: inout Log) {
    guard !log.buffer.pieces.isEmpty || !log.abandoned.isEmpty, !log.isFlushScheduled else { return }
    log.isFlushScheduled = true
    if log.ownWrites > 0 {
      flusher.asyncAfter(deadline: .now() + Self.lateFlush) { self.flushBehind() }
    } else {
      flusher.async { self.flushBehind() }
    }
  }

  /// Never waits for who else is writing: the lock would be kept for this thread until the processor has time for it.
  private func flushBehind() {
    while let isWritten = flushing.withLockIfAvailable({ writeTaken(&$0) }) {
      if isWritten == nil { break }
    }
    withLog { log in
      log.isFlushScheduled = false
      // Otherwise who is writing sees to what is left.
      if !isWriting.load(ordering: .relaxed) { scheduleFlush(&log) }
    }
  }

  private func write(_ pieces: [WriteBuffer.Piece], _ writing: inout Writing) -> Bool {
    var start = 0
    while start < pieces.count {
      // As one write, what follows each other in a file.
      var end = start + 1
      while end < pieces.count, pieces[end].segment == pieces[start].segment { end += 1 }
      let run = Array(pieces[start..<end])
      do throws(FileFailure) {
        let end = pieces[end - 1].offset + pieces[end - 1].bytes.count
        prepare(run[0], end: end, &writing)
        var arrays: [[UInt8]] = []
        for piece in run { piece.bytes.append(to: &arrays) }
        try run[0].file.write(arrays, at: run[0].offset)
      } catch {
        let lost = Array(pieces[start...])
        withLog { log in lose(lost, because: error, log: &log) }
        return false
      }
      withLog { log in finish(run, log: &log) }
      start = end
    }
    return true
  }

  private func prepare(_ first: WriteBuffer.Piece, end: Int, _ writing: inout Writing) {
    if first.segment != writing.segment {
      finish(&writing)
      writing = Writing(segment: first.segment, allocated: first.offset)
    }
    guard end > writing.allocated else { return }
    let next = max(end, writing.allocated + options.segmentSize(for: capacity) / 8)
    first.file.allocate(writing.allocated..<next)
    writing.allocated = next
  }

  /// Nothing follows in the segment that was written last.
  func finish(_ writing: inout Writing) {
    catalog.withLock { $0.files[writing.segment] }?.releaseUnused()
    writing = Writing()
  }

  private func finish(_ run: [WriteBuffer.Piece], log: inout Log) {
    log.buffer.finished(run)
    log.health.succeed("write")
    if let index = log.segments.firstIndex(where: { $0.number == run[0].segment }) {
      log.segments[index].isDirty = true
    }
    counters.bytesWritten.increment(by: run.reduce(0) { $0 + $1.bytes.count })
    catalog.withLock { catalog in
      for piece in run { catalog.unbuffer(piece) }
    }
  }

  // MARK: Losing

  /// The disk refused what was to be written. It is as if it had never been stored; what it replaced stays forgotten.
  private func lose(_ pieces: [WriteBuffer.Piece], because failure: FileFailure, log: inout Log) {
    counters.ioErrors.increment()
    log.health.fail(failure)
    let lost = pieces + log.buffer.take()
    log.buffer.finished(lost)
    for piece in lost { lose(piece, log: &log) }
    // The first may be of a directory that was lost meanwhile.
    let numbers = Set(log.segments.map(\.number))
    if let first = lost.first(where: { numbers.contains($0.segment) }) { cut(to: first, log: &log) }
  }

  private func lose(_ piece: WriteBuffer.Piece, log: inout Log) {
    catalog.withLock { $0.unbuffer(piece) }
    guard let header = piece.bytes.head.withUnsafeBytes({ RecordHeader($0, hasher: hasher) }) else {
      // The start of a segment. Marks are in memory, and at the start of the next.
      return
    }
    switch header.kind {
    case .entry, .entryWithBodyFile, .metadata:
      // With its older metadata an entry must not be found again, either.
      let orphan = catalog.withLock { catalog -> DiskIndex.BodyFile? in
        guard let slot = catalog.index.slot(for: header.hash, id: header.id),
          header.kind == .metadata || catalog.index[slot].location.segment == piece.segment
        else { return nil }
        return catalog.index.remove(slot)
      }
      if let orphan { removeBodyFile(orphan, log: &log) }
      log.suspect(header.hash)
      changes.advance(for: header.hash)
      // A sweep may have made it.
      if header.kind == .metadata { log.buffer.lostRemovals += 1 }
    case .removeVariant, .removeKey:
      log.suspect(header.hash)
      log.buffer.lostRemovals += 1
    case .clear, .marks:
      log.suspectsAll = true
      log.buffer.lostRemovals += 1
    case .summary:
      break
    }
  }

  /// Ends the log where the first piece that was lost would have been.
  private func cut(to piece: WriteBuffer.Piece, log: inout Log) {
    guard let index = log.segments.firstIndex(where: { $0.number == piece.segment }) else { return }
    // Segments that were begun behind it: there is nothing in them.
    while log.segments.count > index + 1, let last = log.segments.last {
      guard (try? files.unlink(last.file.path)) != nil else {
        // Empty or torn, it does no harm; its number must not be used again.
        break
      }
      catalog.withLock { $0.files[last.number] = nil }
      log.used -= last.count
      log.segments.removeLast()
      log.nextNumber = last.number
    }
    log.used -= log.summary.recordCount
    log.summary = SegmentSummary()
    for later in index..<log.segments.count { log.segments[later].isSealed = true }
    if (try? piece.file.truncate(to: piece.offset)) != nil {
      log.used -= log.segments[index].count - piece.offset
      log.segments[index].count = piece.offset
    }
  }
}
