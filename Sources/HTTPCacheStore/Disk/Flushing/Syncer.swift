// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import SystemPackage

/// Syncs the log to the disk.
///
/// **State**: none. `Unsynced` and the segments of the log record what waits for a sync.
///
/// **Lock**: its own, `syncing`, which is the first of the tier. A second caller waits, because it may rely on bytes
/// that the first is syncing.
///
/// **Crash**: when a sync returns `true`, everything logged before the call survives a loss of power. If it fails, the
/// next sync repeats it.
final class Syncer: Sendable {
  private let log: LockedLog
  private let syncing = Mutex(())

  init(_ log: LockedLog) {
    self.log = log
  }

  /// Syncs everything that is not yet on the disk. Returns `false` if that failed.
  ///
  /// - Parameters:
  ///   - onlyRemovals: does nothing unless an earlier removal or replacement waits for its sync.
  ///   - withBodies: also syncs body files; they contain no removals.
  @discardableResult
  func sync(onlyRemovals: Bool = false, withBodies: Bool = false) -> Bool {
    syncing.withLock { _ in
      let taken = log.withLock { log in log.isInPlace() ? log.unsynced.take(withBodies: withBodies) : nil }
      // If the directory is gone, everything in it is gone.
      guard let taken else { return onlyRemovals }
      guard !onlyRemovals || taken.hasRemovals else { return true }
      guard log.flush() else {
        log.withLock { log in log.unsynced.restore(taken) }
        return false
      }
      let (dirty, hasNew) = log.withLock { log in log.takeDirty() }
      let context = log.context
      do throws(FileFailure) {
        for file in dirty { try file.sync() }
        for number in taken.bodies { try syncBodyFile(number) }
        if taken.hasReplacement || hasNew || !taken.bodies.isEmpty {
          try context.files.syncDirectory(context.directory)
        }
        log.withLock { log in log.didSync(dirty) }
        return true
      } catch {
        log.withLock { log in
          log.fail(error)
          log.unsynced.restore(taken)
          log.restoreDirty(dirty)
        }
        return false
      }
    }
  }

  private func syncBodyFile(_ number: UInt64) throws(FileFailure) {
    let context = log.context
    do throws(FileFailure) {
      try context.files.open(context.path(DiskFormat.bodyName(number)), creating: false).sync()
    } catch {
      // Its entry may have been removed meanwhile.
      guard error.errno != Errno.noSuchFileOrDirectory.rawValue else { return }
      // Reported as a failed sync, whichever call failed, because only a sync shows that the disk works again.
      throw FileFailure(operation: "sync", path: error.path, errno: error.errno)
    }
  }
}

/// What may not be on the disk yet. The log's lock guards it.
struct Unsynced: Sendable {
  /// Whether something was removed in a way that a loss of power would undo. The next acknowledged removal syncs it,
  /// because it may rely on it.
  var hasReplacement = false
  /// Whether a logged removal waits for its sync. Another removal of the same key finds nothing to remove, and relies
  /// on it.
  var hasRemoval = false
  /// Body files whose bytes may not be on the disk.
  var bodies: Set<UInt64> = []

  var hasRemovals: Bool { hasReplacement || hasRemoval }

  /// Takes what must be synced now; later changes are recorded again.
  mutating func take(withBodies: Bool) -> Unsynced {
    var taken = self
    if withBodies { bodies = [] } else { taken.bodies = [] }
    (hasReplacement, hasRemoval) = (false, false)
    return taken
  }

  /// Puts back what was taken and not synced, so that the next caller does not count it as done.
  mutating func restore(_ taken: Unsynced) {
    hasReplacement = true
    hasRemoval = hasRemoval || taken.hasRemoval
    bodies.formUnion(taken.bodies)
  }
}
