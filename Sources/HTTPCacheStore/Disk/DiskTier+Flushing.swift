import Dispatch
import Synchronization
import SystemPackage

extension DiskTier {
  /// Writes what is buffered to the log's files. `false` when some of it was lost.
  ///
  /// One thread writes at a time, and holds no lock that others need to store or to read.
  @discardableResult
  func flushBuffer() -> Bool {
    flushing.withLock { _ in
      var isWhole = true
      while true {
        let (pieces, orphans) = withLog { log in
          let pieces = log.buffer.take()
          // Whoever adds to it from now on sees to it that it is written.
          if pieces.isEmpty { log.isFlushScheduled = false }
          return (pieces, log.buffer.takeOrphans())
        }
        if !pieces.isEmpty { isWhole = write(pieces) && isWhole }
        if !orphans.isEmpty {
          withLog { log in
            for orphan in orphans { removeBodyFile(orphan, log: &log) }
          }
        }
        guard !pieces.isEmpty else { return isWhole }
      }
    }
  }

  /// A flush is on its way, as soon as the processor has time for it.
  func scheduleFlush(_ log: inout Log) {
    guard log.buffer.count > 0, !log.isFlushScheduled else { return }
    log.isFlushScheduled = true
    flusher.async { self.flushBuffer() }
  }

  private func write(_ pieces: [WriteBuffer.Piece]) -> Bool {
    var start = 0
    while start < pieces.count {
      // As one write, what follows each other in a file.
      var end = start + 1
      while end < pieces.count, pieces[end].segment == pieces[start].segment { end += 1 }
      let run = Array(pieces[start..<end])
      do throws(FileFailure) {
        try run[0].file.write(run.map(\.bytes), at: run[0].offset)
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
    cut(to: pieces[0], log: &log)
  }

  private func lose(_ piece: WriteBuffer.Piece, log: inout Log) {
    catalog.withLock { $0.unbuffer(piece) }
    guard let header = piece.bytes.withUnsafeBytes({ RecordHeader($0, hasher: hasher) }) else {
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
