import Synchronization
import SystemPackage

extension DiskTier {
  /// Reserves bytes for a body file in the making. `false` when there is no room, or no store any more.
  func reserveBody(_ bytes: Int) -> Bool {
    withLog { log in
      guard !log.isClosed, makeRoom(bytes, log: &log) else { return false }
      log.used += bytes
      log.reserved += bytes
      return true
    }
  }

  /// Ends a reservation: the file is an entry's now.
  func keepBodyFile(_ number: UInt64, reserved: Int) {
    withLog { log in
      log.reserved -= reserved
      guard number >= log.oldestBody else {
        // It was an entry's when its directory was lost, and counted still as one in the making.
        log.used -= reserved
        return
      }
      log.unsyncedBodies.insert(number)
    }
  }

  /// Makes a new, empty body file.
  ///
  /// Under the log's lock, as is the removal: after the store was closed the directory may be another's, with files of
  /// the same names.
  func createBodyFile() throws(AppendFailure) -> (number: UInt64, file: any File) {
    let created = withLog { log -> (UInt64, any File)? in
      guard !log.isClosed, log.lockFile != nil || log.health.mayTry(), hasDirectory(&log), isInPlace(&log)
      else { return nil }
      let number = sequence.take()
      do throws(FileFailure) {
        return (number, try files.open(directory.appending(DiskFormat.bodyName(number)), creating: true))
      } catch {
        counters.ioErrors.increment()
        return nil
      }
    }
    guard let created else { throw .inputOutput }
    return created
  }

  /// Removes a body file in the making. When the store is closed, the next opening does.
  func discardBodyFile(_ number: UInt64, reserved: Int) {
    withLog { log in
      log.reserved -= reserved
      guard number >= log.oldestBody else {
        // It went with its directory, where it was counted on.
        log.used -= reserved
        return
      }
      guard !log.isClosed else { return }
      removeBodyFile((number, reserved), log: &log)
    }
  }

  /// Unlinks a body file that no entry names any more.
  func removeBodyFile(_ file: (number: UInt64, size: Int), log: inout Log) {
    log.unsyncedBodies.remove(file.number)
    // It went with its directory, and is not counted since, or its directory is lost.
    guard file.number >= log.oldestBody, log.lockFile?.isInPlace ?? false else { return }
    do throws(FileFailure) {
      try files.unlink(directory.appending(DiskFormat.bodyName(file.number)))
      log.used -= file.size
    } catch {
      // It stays, and stays counted, until the next opening finds that nothing names it.
      counters.ioErrors.increment()
    }
  }
}
