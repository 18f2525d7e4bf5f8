import Synchronization
import SystemPackage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A directory that is removed, moved away or replaced under an open store.
///
/// It is noticed by the lock's file, which is not any more what its path names. From then on the disk has nothing, as if
/// everything had been removed: entries are kept in memory only. With what is stored next, ever less often while that
/// fails, the directory is made anew, with a lock and a log of its own. Nothing comes back: what may be there of the old
/// log is discarded. A directory that is another store's by now is left alone.
extension DiskTier {
  /// Whether the directory is the one that was opened. If it is not, the disk has nothing any more.
  func isInPlace(_ log: inout Log) -> Bool {
    guard let lock = log.lockFile else { return false }
    if lock.isInPlace { return true }
    loseDirectory(&log)
    return false
  }

  private func loseDirectory(_ log: inout Log) {
    counters.ioErrors.increment()
    log.health.fail(FileFailure(operation: "create", path: directory, errno: ENOENT))
    let evicted = catalog.withLock { catalog in
      defer { catalog = Catalog() }
      return catalog.index.count
    }
    counters.evictions.increment(by: evicted)
    // It may only have been moved, and be opened where it is now.
    log.abandoned += log.segments.map(\.file)
    log.buffer.drop()
    _ = log.buffer.takeOrphans()
    log.lockFile = nil
    log.segments = []
    log.summary = SegmentSummary()
    log.carried = (0, 0)
    log.used = log.reserved
    // Those that are still being written are in the other directory.
    log.oldestBody = sequence.take()
    log.suspects = []
    log.suspectsAll = false
    log.needsSync = false
    log.hasUnsyncedRemoval = false
    log.unsyncedBodies = []
    acknowledged.forgetFile()
    changes.advanceAll()
    scheduleFlush(&log)
  }

  /// Whether there is a directory to write to: the one that was opened, or one made in its place.
  func hasDirectory(_ log: inout Log) -> Bool {
    if log.lockFile != nil { return true }
    let opening = DiskOpening(
      directory: directory, files: files, capacity: log.capacity, hashMask: hasher.mask, markLimit: 0)
    do throws(StoreError) {
      log.lockFile = try opening.remake(seed: hasher.seed)
    } catch {
      counters.ioErrors.increment()
      log.health.fail(FileFailure(operation: "create", path: directory, errno: error.errno ?? EBUSY))
      return false
    }
    log.used += DiskOpening.fixedBytes
    return true
  }
}
