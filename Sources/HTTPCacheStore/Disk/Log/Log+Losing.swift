// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension Log {
  /// Records that bytes of the buffer are in their file.
  mutating func didWrite(_ run: [WriteBuffer.Piece]) {
    buffer.finished(run)
    health.succeed("write")
    if let index = segments.firstIndex(where: { $0.number == run[0].segment }) {
      segments[index].isDirty = true
    }
    context.counters.bytesWritten.increment(by: run.reduce(0) { $0 + $1.bytes.count })
    catalog.withLock { catalog in
      for piece in run { catalog.unbuffer(piece) }
    }
  }

  /// Handles a failed write: the pieces, and everything after them in the buffer, are lost. The result is as if they
  /// had never been stored; what they replaced stays forgotten.
  mutating func lose(_ pieces: [WriteBuffer.Piece], because failure: FileFailure) {
    fail(failure)
    let lost = pieces + buffer.take()
    buffer.finished(lost)
    for piece in lost { lose(piece) }
    // The first may belong to a directory that was lost meanwhile.
    let numbers = Set(segments.map(\.number))
    if let first = lost.first(where: { numbers.contains($0.segment) }) { cut(to: first) }
  }

  private mutating func lose(_ piece: WriteBuffer.Piece) {
    catalog.withLock { $0.unbuffer(piece) }
    pins.copies.lose(piece.position)
    guard let header = piece.bytes.head.withUnsafeBytes({ RecordHeader($0, hasher: context.hasher) }) else {
      // The piece is the start of a segment. Its marks are in memory, and at the start of the next segment.
      return
    }
    switch header.kind {
    case .entry, .entryWithBodyFile, .metadata:
      // An entry must also not be found again with its older metadata.
      let orphan = catalog.withLock { catalog -> DiskIndex.BodyFile? in
        guard let slot = catalog.index.slot(for: header.hash, id: header.id),
          header.kind == .metadata || catalog.index[slot].location.segment == piece.segment
        else { return nil }
        return catalog.index.remove(slot)
      }
      if let orphan { removeBodyFile(orphan) }
      suspects.insert(header.hash)
      context.changes.advance(for: header.hash)
      // The update may be part of a sweep.
      if header.kind == .metadata { buffer.lostRemovals += 1 }
    case .removeVariant, .removeKey:
      suspects.insert(header.hash)
      buffer.lostRemovals += 1
    case .clear, .marks:
      suspects.isEverything = true
      buffer.lostRemovals += 1
    case .summary:
      break
    }
  }

  /// Ends the log where the first lost piece would have been.
  private mutating func cut(to piece: WriteBuffer.Piece) {
    guard let index = segments.firstIndex(where: { $0.number == piece.segment }) else { return }
    // Remove segments that began after it: they are empty.
    while segments.count > index + 1, let last = segments.last {
      guard (try? context.files.unlink(last.file.path)) != nil else {
        // Empty or torn, the file does no harm; but its number must not be used again.
        break
      }
      catalog.withLock { $0.files[last.number] = nil }
      space.used -= last.count
      segments.removeLast()
      nextNumber = last.number
    }
    dropSummary()
    for later in index..<segments.count { segments[later].isSealed = true }
    if (try? piece.file.truncate(to: piece.offset)) != nil {
      space.used -= segments[index].count - piece.offset
      segments[index].count = piece.offset
    }
  }
}
