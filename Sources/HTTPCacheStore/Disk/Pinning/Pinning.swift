// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import SystemPackage

/// Pins keys: their entries are not evicted from the disk, as far as a limit allows.
///
/// A pinned entry is carried forward whenever its segment is reclaimed, whatever that costs. A segment with pinned
/// entries is unlinked after the copies are as durable as it was (`PinnedCopies`). So the log always keeps room free
/// for the pinned entries of any one segment (`Log.pinReserve`), and refuses inserts rather than using it.
///
/// **State**: none. `Pins` are in the log, and the index has a flag for each entry.
///
/// **Lock**: its own, `changing`, which is taken before all others of the tier. It orders the writes of the files
/// `pins-0` and `pins-1`.
///
/// **Crash**: after a change of the pins returns, it survives what a removal survives. Until then the older pins are
/// there, in the other file.
final class Pinning: Sendable {
  private let log: LockedLog
  private let syncer: Syncer
  private let reader: EntryReader
  private let changing = Mutex(())

  init(log: LockedLog, syncer: Syncer, reader: EntryReader) {
    self.log = log
    self.syncer = syncer
    self.reader = reader
  }

  private var isSynced: Bool { log.context.options.sync != .never }

  // MARK: Asking

  /// Whether a key with this hash is pinned: inserts then skip the tests for admission.
  func mayBePinned(_ hash: UInt64) -> Bool {
    log.pinCount > 0 && log.withLock { $0.pins.list.contains(hash) }
  }

  func isPinned(_ key: StoreKey, hash: UInt64) -> Bool {
    log.pinCount > 0 && log.withLock { $0.pins.list.contains(key, hash: hash) }
  }

  /// Whether all entries under a hash are pinned.
  func areEntriesPinned(_ hash: UInt64) -> Bool {
    log.catalog.withLock { catalog in
      catalog.index.slots(for: hash).allSatisfy { catalog.index[$0].isPinned }
    }
  }

  var limit: Int { log.context.options.pinLimit(for: log.capacity) }

  var pinned: [PinnedKey] {
    log.withLock { log in
      let keys = log.pins.list.keys
      let hashes = keys.map { log.context.hasher.hash($0) }
      return log.catalog.withLock { catalog in
        zip(keys, hashes).map { key, hash in
          let slots = catalog.index.slots(for: hash)
          return PinnedKey(
            key: key, entryCount: slots.count,
            byteCount: slots.reduce(0) { $0 + catalog.index.pinnedCost(of: $1) },
            isProtected: slots.allSatisfy { catalog.index[$0].isPinned })
        }
      }
    }
  }

  // MARK: Changing

  /// Pins a key, and its entries on disk.
  ///
  /// - Parameter bytes: bytes of its entries that are not on disk yet.
  /// - Returns: entries that were evicted meanwhile, and must be stored again.
  func pin(_ key: StoreKey, hash: UInt64, adding bytes: Int) throws(StoreError) -> [StoredEntry] {
    try changing.withLock { _ throws(StoreError) in
      let isNew = try log.withLock { log -> Swift.Result<Bool, StoreError> in
        do throws(StoreError) {
          return .success(try log.pin(key, hash: hash, adding: bytes))
        } catch {
          return .failure(error)
        }
      }.get()
      do throws(StoreError) {
        let evicted = try makeRoom(key, hash: hash)
        if isNew { try write() }
        return evicted
      } catch {
        if isNew { _ = log.withLock { $0.unpin(key, hash: hash) } }
        throw error
      }
    }
  }

  /// Makes the room that is kept for pinned entries. It is not there yet when the first key is pinned.
  private func makeRoom(_ key: StoreKey, hash: UInt64) throws(StoreError) -> [StoredEntry] {
    if makeRoomForFile() { return [] }
    // The oldest segment may have entries of the key, and there is no room yet to carry them forward. Read them, let
    // them go with their segment, and have them stored again.
    let (first, others) = log.catalog.candidates(for: hash)
    let entries = ([first].compactMap { $0 } + others).compactMap { candidate -> StoredEntry? in
      if case .entry(let entry) = reader.read(candidate, key: key), entry.isResident { entry } else { nil }
    }
    log.withLock { log in
      log.catalog.withLock { catalog in
        let slots = catalog.index.slots(for: hash)
        for slot in slots where !catalog.index[slot].hasBodyFile { catalog.index.unpin(slot) }
      }
    }
    let hasRoom = makeRoomForFile()
    log.withLock { log in log.pinEntries(of: hash) }
    guard hasRoom else { throw StoreError(.noRoomToPin(key: key)) }
    return entries
  }

  private func makeRoomForFile() -> Bool {
    let growth = log.withLock { $0.pins.list.fileCount }
    return log.withRoom(growth, for: .pins) { log in log.space.fits(growth + log.pinReserve) }
  }

  /// Unpins a key. Returns `false` if it is not pinned.
  ///
  /// If the file cannot be written, the key is unpinned until the next opening.
  func unpin(_ key: StoreKey, hash: UInt64) throws(StoreError) -> Bool {
    guard log.pinCount > 0 else { return false }
    return try changing.withLock { _ throws(StoreError) in
      guard log.withLock({ !$0.isClosed && $0.unpin(key, hash: hash) }) else { return false }
      try write()
      return true
    }
  }

  /// Unpins some keys, with the same exception.
  func unpin(where isMeant: (StoreKey) -> Bool) {
    guard log.pinCount > 0 else { return }
    changing.withLock { _ in
      let meant = log.withLock { $0.pins.list.keys }.filter(isMeant)
      guard !meant.isEmpty else { return }
      log.withLock { log in
        guard !log.isClosed else { return }
        for key in meant { _ = log.unpin(key, hash: log.context.hasher.hash(key)) }
      }
      try? write()
    }
  }

  /// Runs `body` while no file is being written.
  func whileIdle(_ body: () -> Void) { changing.withLock { _ in body() } }

  /// Makes entries durable that were stored because their key is pinned.
  func sync() throws(StoreError) {
    guard isSynced ? syncer.sync(withBodies: true) : log.flush() else {
      throw StoreError(.io(operation: "sync", path: log.context.directory, errno: Errno.ioError.rawValue))
    }
  }

  // MARK: The files

  /// Writes the pinned keys in place of the older file.
  private func write() throws(StoreError) {
    let context = log.context
    let plan = log.withLock { log -> (bytes: [UInt8], number: UInt64, directory: UInt64)? in
      guard !log.isClosed, log.isInPlace() else { return nil }
      let number = log.pins.number + 1
      let bytes = PinFile.encode(log.pins.list, number: number, hasher: context.hasher)
      let slot = Int(number % 2)
      let growth = max(0, bytes.count - log.pins.fileSizes[slot])
      // It may take the room that is kept for pins: a shorter list of pins must find room, too.
      guard log.space.fits(growth) else { return nil }
      log.space.used += growth
      log.pins.fileSizes[slot] += growth
      return (bytes, number, log.oldestBody)
    }
    let slot = Int((plan?.number ?? 0) % 2)
    let path = context.path(DiskFormat.pinsNames[slot])
    guard let plan else {
      throw StoreError(.io(operation: "write", path: path, errno: Errno.noSpace.rawValue))
    }
    do throws(FileFailure) {
      let file = try context.files.open(path, creating: true)
      try file.write(plan.bytes, at: 0)
      try file.truncate(to: plan.bytes.count)
      if isSynced {
        try file.sync()
        try context.files.syncDirectory(context.directory)
      }
    } catch {
      context.counters.ioErrors.increment()
      throw error.storeError
    }
    log.withLock { log in
      // Otherwise the directory was lost, and the file with it.
      guard log.oldestBody == plan.directory else { return }
      log.space.used -= log.pins.fileSizes[slot] - plan.bytes.count
      log.pins.fileSizes[slot] = plan.bytes.count
      log.pins.number = plan.number
    }
  }
}
