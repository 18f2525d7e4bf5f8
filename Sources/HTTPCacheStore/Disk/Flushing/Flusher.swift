// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Dispatch

/// The source of a flusher's bytes. `LockedLog` is one; a test can use another.
protocol FlushSource: AnyObject, Sendable {
  /// The number of bytes that wait to be written, including those being written. Returns at once.
  var bufferedBytes: Int { get }
  /// Takes the first buffered pieces until they have this many bytes; at least one if there are any.
  func take(upTo bytes: Int) -> FlushBatch
  /// Called after consecutive pieces of one file were written.
  func didWrite(_ run: [WriteBuffer.Piece])
  /// Makes room in a full file system for a write that failed. Returns whether to write again.
  func relieve(_ failure: FileFailure, for bytes: Int) -> Bool
  /// Called if the first of these pieces could not be written. Then the others, and the rest of the buffer, must not be
  /// written.
  func lose(_ pieces: [WriteBuffer.Piece], because failure: FileFailure)
  /// Called when no piece of a batch is being written any more.
  func finish(_ batch: FlushBatch)
  /// Returns the open file of a segment; `nil` if it is gone.
  func file(of segment: UInt32) -> (any File)?
  /// Calls ``Flusher/schedule(_:)`` if something is buffered.
  func resume()
}

/// The pieces of one write.
struct FlushBatch: Sendable {
  let pieces: [WriteBuffer.Piece]
  /// Body files to remove after the pieces are written.
  var orphans: [DiskIndex.BodyFile] = []
  /// Files to empty, oldest first.
  var abandoned: [any File] = []
  /// The step in which the flusher allocates blocks.
  let allocation: Int
}

/// Writes buffered bytes to their files, in order, so that an insert does not wait for a write.
///
/// A queue writes soon after ``schedule(_:)``. If the buffer fills up, or a removal must be on disk before it returns,
/// the calling thread writes. One thread writes at a time.
///
/// **State**: the segment that is being written, whether a thread writes, and whether a flush is scheduled.
///
/// **Lock**: its own, `writing`, which is taken before that of the source. During a write it has no lock that inserts
/// and lookups need.
///
/// **Crash**: the bytes taken are in their file up to some byte, and no file holds anything that follows. If a write
/// fails, the flusher does not write the rest, and reports the lost pieces to the source.
final class Flusher: Sendable {
  /// The segment that is being written, and the offset up to which its file has blocks.
  ///
  /// The flusher allocates blocks in steps, ahead of the writes. A write then takes a quarter less processor time, and
  /// never waits for the file system to find blocks. A step is smaller than the room that is kept free for carrying
  /// forward, so that the blocks do not exceed the capacity.
  private struct Writing: Sendable {
    var segment: UInt32 = 0
    var allocated = 0
  }

  /// Maximum bytes that may be buffered.
  private let limit: Int
  private let writing = Mutex(Writing())
  private let queue = DispatchQueue(label: "HTTPCacheStore.flush", qos: .utility)
  /// Whether a thread writes from the buffer. Asking the lock instead takes a system call while it is taken.
  private let isWriting = Atomic<Bool>(false)
  private let isScheduled = Atomic<Bool>(false)
  /// Number of further calls of `awaitBuffer` that do not expect the queue to write.
  private let ownWrites = Atomic<Int>(0)

  /// After a longer wait for a write, an insert counts as having waited for a processor.
  private static let patience = Duration.milliseconds(1)
  /// After this many own writes, inserts test again whether the queue's thread keeps up.
  private static let mostOwnWrites = 256
  /// The delay after which the queue's thread writes the rest, while inserting threads write themselves.
  private static let lateFlush = DispatchTimeInterval.milliseconds(20)
  /// Minimum bytes that a thread writes before it releases the lock, if as many are buffered.
  private static let leastWritten = 256 << 10

  init(limit: Int) {
    self.limit = limit
  }

  /// Schedules a write on the queue, unless one is scheduled or a thread is writing. Call it under the lock of the
  /// source, so that nothing is buffered between a writing thread's last look and this call.
  func schedule(_ source: some FlushSource) {
    guard !isWriting.load(ordering: .relaxed), !isScheduled.load(ordering: .relaxed) else { return }
    isScheduled.store(true, ordering: .relaxed)
    if ownWrites.load(ordering: .relaxed) > 0 {
      queue.asyncAfter(deadline: .now() + Self.lateFlush) { self.flushBehind(source) }
    } else {
      queue.async { self.flushBehind(source) }
    }
  }

  /// Writes on the queue, in the background. Never waits for another writing thread: the lock would then be reserved
  /// for this thread until a processor is free for it.
  private func flushBehind(_ source: some FlushSource) {
    while let isWritten = writing.withLockIfAvailable({ writeNext(of: source, &$0) }) {
      if isWritten == nil { break }
    }
    isScheduled.store(false, ordering: .relaxed)
    source.resume()
  }

  /// Writes the buffered bytes. Returns `false` if some of them were lost.
  func flush(_ source: some FlushSource) -> Bool {
    writing.withLock { writing in
      var isWhole = true
      while let isWritten = writeNext(of: source, &writing) { isWhole = isWritten && isWhole }
      return isWhole
    }
  }

  /// Keeps the buffer from growing above its limit. Call it without any lock.
  ///
  /// If the buffer is half full and no thread is writing, the calling thread writes. If it is full, the calling thread
  /// waits for the writing thread. If that takes long, because the processors are busy, inserting threads write
  /// themselves for a while. A wait for a thread that waits for a processor takes milliseconds, in which the caller
  /// could write megabytes.
  func awaitBuffer(of source: some FlushSource) {
    guard source.bufferedBytes >= limit / 2 else { return }
    guard !isWriting.load(ordering: .relaxed) || source.bufferedBytes >= limit else { return }
    let start = ContinuousClock.now
    writing.withLock { writing in
      let isLate = start.duration(to: .now) > Self.patience
      ownWrites.store(
        isLate ? Self.mostOwnWrites : max(0, ownWrites.load(ordering: .relaxed) - 1), ordering: .relaxed)
      // The thread that had the lock may have made room.
      if source.bufferedBytes >= limit / 2 { _ = writeNext(of: source, &writing) }
    }
  }

  /// Calls `body` while nothing is being written, and releases the blocks of the last segment beyond its end.
  func whileIdle<Failure>(for source: some FlushSource, _ body: () throws(Failure) -> Void) throws(Failure) {
    try writing.withLock { writing throws(Failure) in
      release(&writing, of: source)
      try body()
    }
  }

  /// Returns after the scheduled work is done.
  func drain() { queue.sync {} }

  /// Writes the first buffered bytes. Returns `nil` if there are none, `false` if some were lost.
  private func writeNext(of source: some FlushSource, _ writing: inout Writing) -> Bool? {
    isWriting.store(true, ordering: .relaxed)
    // A bounded amount, because other threads may wait to write.
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
      // Consecutive pieces of one file become one write.
      var end = start + 1
      while end < pieces.count, pieces[end].segment == pieces[start].segment { end += 1 }
      let run = Array(pieces[start..<end])
      do throws(FileFailure) {
        prepare(run, step: batch.allocation, of: source, &writing)
        try write(run, of: source)
      } catch {
        source.lose(Array(pieces[start...]), because: error)
        return false
      }
      source.didWrite(run)
      start = end
    }
    return true
  }

  private func write(_ run: [WriteBuffer.Piece], of source: some FlushSource) throws(FileFailure) {
    var arrays: [[UInt8]] = []
    for piece in run { piece.bytes.append(to: &arrays) }
    var reliefs = 0
    while true {
      do throws(FileFailure) {
        return try run[0].file.write(arrays, at: run[0].offset)
      } catch {
        reliefs += 1
        guard reliefs <= Log.mostReliefs,
          source.relieve(error, for: run.reduce(0) { $0 + $1.bytes.count })
        else { throw error }
      }
    }
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

  /// Releases unused blocks of the last segment: nothing follows in it.
  private func release(_ writing: inout Writing, of source: some FlushSource) {
    source.file(of: writing.segment)?.releaseUnused()
    writing = Writing()
  }
}
