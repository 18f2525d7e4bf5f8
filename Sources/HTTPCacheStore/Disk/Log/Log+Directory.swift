// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// A directory that is removed, moved away or replaced under an open store.
///
/// It is noticed by the lock's file, which is not any more what its path names. From then on the disk has nothing, as if
/// everything had been removed: entries are kept in memory only. With what is stored next, ever less often while that
/// fails, the directory is made anew, with a lock and a log of its own. Nothing comes back: what may be there of the old
/// log is discarded. A directory that is another store's by now is left alone.
extension Log {
  /// Whether the directory is the one that was opened. If it is not, the disk has nothing any more.
  mutating func isInPlace() -> Bool {
    guard let lock = lockFile else { return false }
    if lock.isInPlace { return true }
    loseDirectory()
    return false
  }

  private mutating func loseDirectory() {
    fail(
      FileFailure(operation: "create", path: context.directory, errno: Errno.noSuchFileOrDirectory.rawValue))
    let evicted = catalog.withLock { catalog in
      defer { catalog = Catalog.Contents() }
      return catalog.index.count
    }
    context.counters.evictions.increment(by: evicted)
    // It may only have been moved, and be opened where it is now.
    abandoned += segments.map(\.file)
    buffer.drop()
    _ = buffer.takeOrphans()
    lockFile = nil
    segments = []
    summary = SegmentSummary()
    carried = (0, 0)
    space.used = space.reserved
    // Those that are still being written are in the other directory.
    oldestBody = context.sequence.take()
    suspects = Suspects()
    unsynced = Unsynced()
    acknowledged = AcknowledgedRemovals()
    context.changes.advanceAll()
  }

  /// Whether there is a directory to write to: the one that was opened, or one made in its place.
  mutating func hasDirectory() -> Bool {
    if lockFile != nil { return true }
    let (directory, hasher) = (context.directory, context.hasher)
    let opening = DiskOpening(
      directory: directory, files: context.files, hashMask: hasher.mask, markLimit: 0)
    do throws(StoreError) {
      lockFile = try opening.remake(seed: hasher.seed)
    } catch {
      fail(
        FileFailure(operation: "create", path: directory, errno: error.errno ?? Errno.resourceBusy.rawValue))
      return false
    }
    space.used += DiskOpening.fixedBytes
    return true
  }
}
