// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// Large bodies in their own files: created while the body arrives, kept when the entry is logged, removed with the
/// entry.
///
/// **State**: none. The log has the reserved bytes (`DiskSpace`), the files to sync (`Unsynced`), and the
/// lowest number of this directory (`oldestBody`).
///
/// **Lock**: that of the log, to create and to remove a file; none to write and to read it.
///
/// **Crash**: the next opening removes each file that no record names. So a file is whole before its record is
/// appended. It stays until the record that replaces it is written.
struct BodyFiles: Sendable {
  let log: LockedLog

  /// Reserves bytes for an unfinished body file. Returns `false` if there is no room, or the store is closed.
  func reserve(_ bytes: Int) -> Bool {
    defer { log.writeAtOnce() }
    return log.withRoom(bytes, for: .entry) { log in
      guard !log.isClosed, log.space.fits(bytes + log.pinReserve) else { return false }
      log.space.reserve(bytes)
      return true
    }
  }

  /// Ends a reservation: the file now belongs to an entry.
  func keep(_ number: UInt64, reserved: Int) {
    log.withLock { log in
      log.health.succeed(DiskHealth.bodies)
      if log.endReservation(reserved, of: number) { log.unsynced.bodies.insert(number) }
    }
  }

  /// Creates a new, empty body file.
  ///
  /// It does so under the log's lock, as does the removal: after the store is closed, another store may use the
  /// directory, with files of the same names.
  func create() throws(AppendFailure) -> (number: UInt64, file: any File) {
    let created = log.withLock { log -> (UInt64, any File)? in
      guard !log.isClosed, log.mayTryBody(), log.hasDirectory(), log.isInPlace()
      else { return nil }
      let number = log.context.sequence.take()
      do throws(FileFailure) {
        return (number, try log.context.files.open(log.bodyPath(number), creating: true))
      } catch {
        log.failBody(error)
        return nil
      }
    }
    guard let created else { throw .inputOutput }
    return created
  }

  /// Removes an unfinished body file. If the store is closed, the next opening removes it.
  func discard(_ number: UInt64, reserved: Int) {
    log.withLock { log in
      guard log.endReservation(reserved, of: number), !log.isClosed else { return }
      log.removeBodyFile((number, reserved))
    }
  }
}

extension Log {
  func bodyPath(_ number: UInt64) -> FilePath { context.path(DiskFormat.bodyName(number)) }

  /// Returns `false` if the unfinished file was lost with its directory.
  fileprivate mutating func endReservation(_ bytes: Int, of number: UInt64) -> Bool {
    space.reserved -= bytes
    guard number < oldestBody else { return true }
    space.used -= bytes
    return false
  }

  /// Unlinks a body file that no entry names any more.
  mutating func removeBodyFile(_ file: DiskIndex.BodyFile) {
    unsynced.bodies.remove(file.number)
    // The file was lost with its directory and is no longer counted, or the directory is lost.
    guard file.number >= oldestBody, lockFile?.isInPlace ?? false else { return }
    do throws(FileFailure) {
      try context.files.unlink(bodyPath(file.number))
      space.used -= file.size
    } catch {
      // The file stays, and stays counted, until the next opening finds that no record names it.
      context.counters.ioErrors.increment()
    }
  }
}
