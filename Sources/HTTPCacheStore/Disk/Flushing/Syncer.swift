import Synchronization
import SystemPackage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension DiskTier {
  /// Brings everything that is not yet on the disk itself there. `false` when that failed.
  ///
  /// Whoever comes while another syncs waits for it: what it relies on may be just what the other is syncing.
  ///
  /// - Parameters:
  ///   - onlyRemovals: do nothing unless an earlier removal or replacement awaits its sync.
  ///   - withBodies: bodies in files of their own, too; no removal is in them.
  @discardableResult
  func sync(onlyRemovals: Bool = false, withBodies: Bool = false) -> Bool {
    syncing.withLock { _ in
      // With its directory, everything is gone.
      guard withLog({ isInPlace(&$0) }) else { return onlyRemovals }
      let needed = withLog { log -> (anything: Bool, names: Bool, bodies: Set<UInt64>) in
        defer {
          // What is logged from here on sets them again.
          log.needsSync = false
          log.hasUnsyncedRemoval = false
          if withBodies { log.unsyncedBodies = [] }
        }
        return (
          !onlyRemovals || log.needsSync || log.hasUnsyncedRemoval, log.needsSync,
          withBodies ? log.unsyncedBodies : []
        )
      }
      guard needed.anything else { return true }
      guard flushBuffer() else {
        withLog { log in
          log.needsSync = true
          log.unsyncedBodies.formUnion(needed.bodies)
        }
        return false
      }
      let (dirty, hasNew) = withLog { log -> ([any File], Bool) in
        var dirty: [any File] = []
        var hasNew = false
        for index in log.segments.indices where log.segments[index].isDirty {
          dirty.append(log.segments[index].file)
          hasNew = hasNew || log.segments[index].isNew
          // What is written later makes it dirty again.
          log.segments[index].isDirty = false
          log.segments[index].isNew = false
        }
        return (dirty, hasNew)
      }
      do throws(FileFailure) {
        for file in dirty { try file.sync() }
        for number in needed.bodies { try syncBodyFile(number) }
        if needed.names || hasNew || !needed.bodies.isEmpty { try files.syncDirectory(directory) }
        if !dirty.isEmpty { withLog { $0.health.succeed("sync") } }
        return true
      } catch {
        counters.ioErrors.increment()
        // Whoever comes next must not take this for done.
        withLog { log in
          log.health.fail(error)
          log.unsyncedBodies.formUnion(needed.bodies)
          for index in log.segments.indices where dirty.contains(where: { $0 === log.segments[index].file }) {
            log.segments[index].isDirty = true
          }
          log.needsSync = true
        }
        return false
      }
    }
  }

  private func syncBodyFile(_ number: UInt64) throws(FileFailure) {
    do throws(FileFailure) {
      try files.open(directory.appending(DiskFormat.bodyName(number)), creating: false).sync()
    } catch {
      // Its entry may have been removed meanwhile.
      guard error.errno == ENOENT else { throw error }
    }
  }

  func close() {
    withLog { log in writeSummary(&log) }
    sync(withBodies: true)
    // Nothing is being written when the lock goes: the directory may be another's then.
    flushing.withLock { writing in
      finish(&writing)
      withLog { log in
        log.isClosed = true
        log.buffer.drop()
        log.segments = []
        log.lockFile = nil
        catalog.withLock { $0 = Catalog() }
      }
    }
  }
}
