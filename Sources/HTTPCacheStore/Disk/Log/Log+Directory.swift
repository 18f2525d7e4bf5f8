// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// Handles a directory that is removed, moved away or replaced while a store has it open.
///
/// The log notices it by the lock file, which its path then no longer names. From then on the disk is empty, as if
/// everything had been removed, and entries are kept in memory only. The next inserts create the directory again, with
/// its own lock and its own log. They try less often as that fails. Nothing comes back: the log discards what may be
/// there of the old log. It leaves a directory alone that another store uses by now.
extension Log {
  /// Whether the directory is the one that was opened. If it is not, the disk loses all its entries.
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
      defer { catalog.removeAll() }
      return catalog.index.count
    }
    context.counters.evictions.increment(by: evicted)
    // The directory may only have been moved, and may be opened in its new place.
    abandoned += segments.map(\.file)
    buffer.drop()
    _ = buffer.takeOrphans()
    lockFile = nil
    segments = []
    summary = SegmentSummary()
    carried = (0, 0)
    space.used = space.reserved
    // Body files that are still being written are in the other directory.
    oldestBody = context.sequence.take()
    suspects = Suspects()
    pins = Pins()
    unsynced = Unsynced()
    acknowledged = AcknowledgedRemovals()
    context.changes.advanceAll()
  }

  /// Whether there is a directory to write to: the one that was opened, or a new one in its place.
  mutating func hasDirectory() -> Bool {
    if lockFile != nil { return true }
    let (directory, hasher) = (context.directory, context.hasher)
    let opening = DiskOpening(
      directory: directory, files: context.files, hashMask: hasher.mask)
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
