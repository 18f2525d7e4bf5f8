import SystemPackage

/// Opens a directory: takes its lock, checks its format, reads its log.
struct DiskOpening {
  struct Result: Sendable {
    let hasher: KeyHasher
    let log: Log
    let catalog: Catalog
    let marks: ScopeMarks
    let lastSequence: UInt64
    let counters: DiskCounters
  }

  let directory: FilePath
  let files: any FileSystem
  let capacity: Int
  let hashMask: UInt64
  let markLimit: Int
  var progress: (@Sendable (OpeningProgress) -> Void)?
  let counters = DiskCounters()

  /// What the files are counted as that are no part of the log.
  static let fixedBytes = DiskFormat.formatFileSize + AcknowledgedRemovals.fileSize + 32

  func open(startEmpty: Bool) throws(StoreError) -> Result {
    try reporting { () throws(FileFailure) in try files.createDirectory(directory) }
    let lockFile = try lock()
    var names = try reporting { () throws(FileFailure) in try files.list(directory) }
    if startEmpty {
      try reporting { () throws(FileFailure) in try discard(names) }
      names = []
    }
    let known = try existingSeed(names)
    let seed = if let known { known } else { try newSeed() }
    let hasher = KeyHasher(seed: seed, mask: hashMask)
    var log = Log(capacity: capacity)
    log.lockFile = lockFile
    log.used = Self.fixedBytes
    let recovery = LogRecovery(
      directory: directory, files: files, hasher: hasher, counters: counters, progress: progress)
    let recovered = try reporting { () throws(FileFailure) in try recovery.run(names: names, log: log) }
    return Result(
      hasher: hasher, log: recovered.log, catalog: recovered.catalog,
      marks: ScopeMarks(recovered.marks, limit: markLimit), lastSequence: recovered.lastSequence,
      counters: counters)
  }

  /// Makes the directory anew, with nothing in it, and gives its lock.
  func remake(seed: UInt64) throws(StoreError) -> any File {
    try reporting { () throws(FileFailure) in try files.createDirectory(directory) }
    let lockFile = try lock()
    let names = try reporting { () throws(FileFailure) in try files.list(directory) }
    let isOurs =
      try existingSeed(names).map { $0 == seed } ?? true
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

  /// Oldest segments first, and the format last: a crash halfway leaves a directory that can be opened.
  private func discard(_ names: [String]) throws(FileFailure) {
    let segments = names.filter { DiskFormat.segmentNumber($0) != nil }.sorted()
    let bodies = names.filter { DiskFormat.bodyNumber($0) != nil }
    let others = [DiskFormat.removalsName, DiskFormat.formatName].filter { names.contains($0) }
    for name in segments + bodies + others {
      try files.unlink(directory.appending(name))
    }
    try files.syncDirectory(directory)
  }

  /// The seed in the directory's format file; `nil` in a directory that holds nothing yet.
  private func existingSeed(_ names: [String]) throws(StoreError) -> UInt64? {
    let path = directory.appending(DiskFormat.formatName)
    let hasSegments = names.contains { DiskFormat.segmentNumber($0) != nil }
    guard names.contains(DiskFormat.formatName) else {
      if hasSegments {
        throw StoreError(.corrupt(what: "it is missing beside segments of a log", path: path))
      }
      return nil
    }
    let bytes = try reporting { () throws(FileFailure) in
      let file = try files.open(path, creating: false)
      return try file.read(min(try file.size(), DiskFormat.formatFileSize), at: 0) ?? []
    }
    // A crash while the directory was made can leave a short one, and no segments.
    if bytes.count < DiskFormat.formatFileSize, !hasSegments { return nil }
    return try DiskFormat.seed(in: bytes, path: path)
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
