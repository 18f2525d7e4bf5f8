// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Dispatch
import Synchronization

/// What a flusher takes its bytes from. `SharedLog` is one; a test can be another.
protocol FlushSource: AnyObject, Sendable {
  /// What awaits being written, what is just being written included. Does not wait.
  var bufferedBytes: Int { get }
  /// Takes the first pieces that are buffered, one at least if there are any, until they have so many bytes.
  func take(upTo bytes: Int) -> FlushBatch
  /// Neighbours in one file were written.
  func didWrite(_ run: [WriteBuffer.Piece])
  /// The first of these could not be written; so the others, and what follows them in the buffer, must not be.
  func lose(_ pieces: [WriteBuffer.Piece], because failure: FileFailure)
  /// Nothing of a batch is being written any more.
  func finish(_ batch: FlushBatch)
  /// The open file of a segment, unless it is gone.
  func file(of segment: UInt32) -> (any File)?
  /// Calls ``Flusher/schedule(_:)`` if something is buffered.
  func resume()
}

/// What is written at a time.
struct FlushBatch: Sendable {
  let pieces: [WriteBuffer.Piece]
  /// Body files that can go once the pieces are written.
  var orphans: [DiskIndex.BodyFile] = []
  /// Files that are to be emptied, oldest first.
  var abandoned: [any File] = []
  /// The step in which blocks are asked for.
  let allocation: Int
}

/// Writes buffered bytes to their files, in order, so that an insert does not wait for a write.
///
/// A queue writes soon after ``schedule(_:)``. If the buffer fills up, or a removal must be on disk before it returns, the calling
/// thread writes. One thread writes at a time.
///
/// **State**: the segment that is being written, whether a thread writes, and whether a flush is scheduled.
///
/// **Lock**: its own, `writing`, which is taken before that of the source. During a write it holds no lock that
/// inserts and lookups need.
///
/// **Crash**: what was taken is in its file up to some byte, and no file holds anything that follows. If a write fails, the rest is
/// not written, and the source is told which pieces are lost.
final class Flusher: Sendable {
  /// The segment that is being written, and up to where its file has blocks.
  ///
  /// They are asked for in steps, ahead of what is written: a write takes a quarter less of the processor then,
  /// and never waits for the file system to find some. A step is less than the room that is kept free for what is carried
  /// forward, so that they do not exceed the capacity.
  private struct Writing: Sendable {
    var segment: UInt32 = 0
    var allocated = 0
  }

  /// The bytes that may be buffered.
  private let limit: Int
  private let writing = Mutex(Writing())
  private let queue = DispatchQueue(label: "HTTPCacheStore.flush", qos: .utility)
  /// Whether a thread writes what is in the buffer. Asking the lock takes a call of the system when it is held.
  private let isWriting = Atomic<Bool>(false)
  private let isScheduled = Atomic<Bool>(false)
  /// Number of further calls of `awaitBuffer` that do not expect the queue to write.
  private let ownWrites = Atomic<Int>(0)

  /// From here on, an insert that waited for a write counts as one that had to wait for a processor.
  private static let patience = Duration.milliseconds(1)
  /// After so many, it is tried again whether the queue's thread is in time.
  private static let mostOwnWrites = 256
  /// When the queue's thread writes what is left, where those who store write by themselves.
  private static let lateFlush = DispatchTimeInterval.milliseconds(20)
  /// The bytes that are written, where there are as many, before the lock goes to another.
  private static let leastWritten = 256 << 10

  init(limit: Int) {
    self.limit = limit
  }

  /// Has the queue write what is buffered, unless it is about to, or another thread is. To be called under the lock of the
  /// source, so that nothing is buffered between the last look of a thread that writes and this.
  func schedule(_ source: some FlushSource) {
    guard !isWriting.load(ordering: .relaxed), !isScheduled.load(ordering: .relaxed) else { return }
    isScheduled.store(true, ordering: .relaxed)
    if ownWrites.load(ordering: .relaxed) > 0 {
      queue.asyncAfter(deadline: .now() + Self.lateFlush) { self.flushBehind(source) }
    } else {
      queue.async { self.flushBehind(source) }
    }
  }

  /// Never waits for another thread that writes: the lock would be kept for this one until the processor has time for it.
  private func flushBehind(_ source: some FlushSource) {
    while let isWritten = writing.withLockIfAvailable({ writeNext(of: source, &$0) }) {
      if isWritten == nil { break }
    }
    isScheduled.store(false, ordering: .relaxed)
    source.resume()
  }

  /// Writes what is buffered. `false` when some of it was lost.
  func flush(_ source: some FlushSource) -> Bool {
    writing.withLock { writing in
      var isWhole = true
      while let isWritten = writeNext(of: source, &writing) { isWhole = isWritten && isWhole }
      return isWhole
    }
  }

  /// Keeps the buffer from growing above its size. To be called without any lock.
  ///
  /// When it is half full, and nobody is writing, the thread at hand does. When it is full, it waits for who is writing; and
  /// where that takes long, because the processors have other things to do, it rather writes by itself for a while. Each
  /// wait for a thread that waits for a processor is one of milliseconds, in which the other could write megabytes.
  func awaitBuffer(of source: some FlushSource) {
    guard limit > 0, source.bufferedBytes >= limit / 2 else { return }
    guard !isWriting.load(ordering: .relaxed) || source.bufferedBytes >= limit else { return }
    let start = ContinuousClock.now
    writing.withLock { writing in
      let isLate = start.duration(to: .now) > Self.patience
      ownWrites.store(
        isLate ? Self.mostOwnWrites : max(0, ownWrites.load(ordering: .relaxed) - 1), ordering: .relaxed)
      // Who had the lock may have made room.
      if source.bufferedBytes >= limit / 2 { _ = writeNext(of: source, &writing) }
    }
  }

  /// Runs while nothing is being written, and gives back what the last segment has of blocks beyond its end.
  func whileIdle<Failure>(for source: some FlushSource, _ body: () throws(Failure) -> Void) throws(Failure) {
    try writing.withLock { writing throws(Failure) in
      release(&writing, of: source)
      try body()
    }
  }

  /// Returns when what was scheduled has been done.
  func drain() { queue.sync {} }

  /// Writes the first of what is in the buffer. `nil` when nothing is, `false` when some was lost.
  private func writeNext(of source: some FlushSource, _ writing: inout Writing) -> Bool? {
    isWriting.store(true, ordering: .relaxed)
    // Not too much, for others may wait to write.
    let batch = source.take(upTo: max(Self.leastWritten, limit / 4))
    // Oldest first, as in `Log.wipe`.
    for file in batch.abandoned { try? file.truncate(to: 0) }
    let isWhole = write(batch, of: source, &writing)
    isWriting.store(false, ordering: .relaxed)
    source.finish(batch)
    return batch.pieces.isEmpty ? nil : isWhole
  }

  private func write(_ batch: FlushBatch, of source: some FlushSource, _ writing: inout Writing) -> Bool {
    let pieces = batch.pieces
    var start = 0
    while start < pieces.count {
      // As one write, what follows each other in a file.
      var end = start + 1
      while end < pieces.count, pieces[end].segment == pieces[start].segment { end += 1 }
      let run = Array(pieces[start..<end])
      do throws(FileFailure) {
        prepare(run, step: batch.allocation, of: source, &writing)
        var arrays: [[UInt8]] = []
        for piece in run { piece.bytes.append(to: &arrays) }
        try run[0].file.write(arrays, at: run[0].offset)
      } catch {
        source.lose(Array(pieces[start...]), because: error)
        return false
      }
      source.didWrite(run)
      start = end
    }
    return true
  }

  private func prepare(
    _ run: [WriteBuffer.Piece], step: Int, of source: some FlushSource, _ writing: inout Writing
  ) {
    let (first, last) = (run[0], run[run.count - 1])
    if first.segment != writing.segment {
      release(&writing, of: source)
      writing = Writing(segment: first.segment, allocated: first.offset)
    }
    let end = last.offset + last.bytes.count
    guard end > writing.allocated else { return }
    let next = max(end, writing.allocated + step)
    first.file.allocate(writing.allocated..<next)
    writing.allocated = next
  }

  /// Nothing follows in the segment that was written last.
  private func release(_ writing: inout Writing, of source: some FlushSource) {
    source.file(of: writing.segment)?.releaseUnused()
    writing = Writing()
  }
}
