// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// Opens a directory: takes its lock, checks its format, reads its log.
struct DiskOpening {
  struct Result: Sendable {
    let hasher: KeyHasher
    let lockFile: any File
    let log: LogRecovery.Result
    let invalidations: Invalidations
    let counters: DiskCounters
    var pins = Pins()
    /// Why the contents of the directory were discarded, if they were unreadable.
    var discarded: StoreError?
  }

  let directory: FilePath
  let files: any FileSystem
  let hashMask: UInt64
  var progress: (@Sendable (OpeningProgress) -> Void)?
  let counters = DiskCounters()

  /// Bytes counted for the files that are not part of the log.
  static let fixedBytes = DiskFormat.formatFileSize + AcknowledgedRemovals.fileSize + 32

  func open(startEmpty: Bool, whenUnreadable: UnreadableDirectory = .fail) throws(StoreError) -> Result {
    let lockFile = try takeDirectory(withParents: true)
    // List the names again, because until now other processes could use the directory.
    var names = try reporting { () throws(FileFailure) in try files.list(directory) }
    var (known, unreadable) = (UInt64?.none, StoreError?.none)
    switch try state(names) {
    case .empty: break
    case .cache(let seed): known = startEmpty ? nil : seed
    case .unreadable(let error):
      guard startEmpty || whenUnreadable == .startEmpty || error.isOlderFormat else { throw error }
      unreadable = error
    case .other(let name): throw StoreError(.notACache(path: directory, file: name))
    }
    if known == nil {
      try reporting { () throws(FileFailure) in try discard(names) }
      names = []
    }
    let seed = if let known { known } else { try newSeed() }
    let hasher = KeyHasher(seed: seed, mask: hashMask)
    let recovery = LogRecovery(
      directory: directory, files: files, hasher: hasher, counters: counters, progress: progress)
    let log = try reporting { () throws(FileFailure) in try recovery.run(names: names) }
    return Result(
      hasher: hasher, lockFile: lockFile, log: log, invalidations: Invalidations(log.marks, hasher: hasher),
      counters: counters, pins: pins(names, hasher), discarded: unreadable)
  }

  /// Reads the pinned keys. If both files are damaged, nothing is pinned: pins must not keep a directory from opening.
  private func pins(_ names: [String], _ hasher: KeyHasher) -> Pins {
    var pins = Pins()
    for (slot, name) in DiskFormat.pinsNames.enumerated() where names.contains(name) {
      do throws(FileFailure) {
        let file = try files.open(directory.appending(name), creating: false)
        let size = try file.size()
        pins.fileSizes[slot] = size
        guard size <= PinFile.maximumSize, let bytes = try file.read(size, at: 0),
          let found = PinFile.decode(bytes, hasher: hasher), found.number % 2 == UInt64(slot)
        else {
          counters.corruptRecords.increment()
          continue
        }
        guard found.number > pins.number else { continue }
        pins.number = found.number
        pins.list = PinList(found.keys, hasher: hasher)
      } catch {
        counters.ioErrors.increment()
      }
    }
    return pins
  }

  /// Creates the directory again, empty, and returns its lock.
  func remake(seed: UInt64) throws(StoreError) -> any File {
    let lockFile = try takeDirectory(withParents: false)
    let names = try reporting { () throws(FileFailure) in try files.list(directory) }
    let isOurs =
      switch try state(names) {
      case .empty: true
      case .cache(let found): found == seed
      case .unreadable, .other: false
      }
    guard isOurs, lockFile.isInPlace else {
      throw StoreError(.directoryInUse(path: directory, byProcess: nil))
    }
    try reporting { () throws(FileFailure) in try discard(names) }
    try write(seed: seed)
    return lockFile
  }

  private func reporting<Value>(_ body: () throws(FileFailure) -> Value) throws(StoreError) -> Value {
    do throws(FileFailure) {
      return try body()
    } catch {
      throw error.storeError
    }
  }

  /// Creates the directory if it is missing, and takes its lock. A directory with other contents stays as it is.
  ///
  /// - Parameter withParents: whether to create missing parent directories too. A lost directory is not created again
  ///   at its unmounted mount point.
  private func takeDirectory(withParents: Bool) throws(StoreError) -> any File {
    let names = try reporting { () throws(FileFailure) in
      try files.createDirectory(directory, withParents: withParents)
      return try files.list(directory)
    }
    let state = try state(names)
    if case .other(let name) = state { throw StoreError(.notACache(path: directory, file: name)) }
    // An existing directory may be open to other users.
    try reporting { () throws(FileFailure) in try files.makePrivate(directory) }
    return try lock()
  }

  private func state(_ names: [String]) throws(StoreError) -> DirectoryState {
    try reporting { () throws(FileFailure) in try DirectoryState(of: directory, names: names, files: files) }
  }

  private func lock() throws(StoreError) -> any File {
    let path = directory.appending(DiskFormat.lockName)
    let (file, isOurs) = try reporting { () throws(FileFailure) in
      let file = try files.open(path, creating: true)
      return (file, try file.tryLock())
    }
    guard isOurs else {
      let size = min((try? file.size()) ?? 0, 16)
      let holder = (try? file.read(size, at: 0)).flatMap { $0 }
      throw StoreError(
        .directoryInUse(
          path: directory, byProcess: holder.flatMap { Int32(String(decoding: $0, as: UTF8.self)) }))
    }
    try reporting { () throws(FileFailure) in
      try file.truncate(to: 0)
      try file.write(Array(String(POSIXFileSystem.currentProcess).utf8), at: 0)
    }
    return file
  }

  /// Discards the cache, oldest segments first and the format last: a crash halfway leaves a directory that can be
  /// opened.
  private func discard(_ names: [String]) throws(FileFailure) {
    let segments = names.filter { DiskFormat.segmentNumber($0) != nil }.sorted()
    let bodies = names.filter { DiskFormat.bodyNumber($0) != nil }
    let others = (DiskFormat.pinsNames + [DiskFormat.removalsName, DiskFormat.formatName])
      .filter { names.contains($0) }
    for name in segments + bodies + others {
      try files.unlink(directory.appending(name))
    }
    try files.syncDirectory(directory)
  }

  private func newSeed() throws(StoreError) -> UInt64 {
    let seed = UInt64.random(in: .min ... .max)
    try write(seed: seed)
    return seed
  }

  private func write(seed: UInt64) throws(StoreError) {
    try reporting { () throws(FileFailure) in
      let file = try files.open(directory.appending(DiskFormat.formatName), creating: true)
      try file.truncate(to: 0)
      try file.write(DiskFormat.formatFile(seed: seed), at: 0)
      try file.sync()
      try files.syncDirectory(directory)
    }
  }
}
