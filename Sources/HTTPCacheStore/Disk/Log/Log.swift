// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The log: appends records, seals segments with a summary, and reclaims the oldest segments when it needs room.
///
/// **State**: the list of segments, the bytes that are not yet written (`WriteBuffer`), the used bytes (`DiskSpace`),
/// the health of the disk, and notes for the parts that remove and sync (`Suspects`, `Unsynced`,
/// `AcknowledgedRemovals`).
///
/// **Lock**: none. It is a value, and `LockedLog` guards it. Its methods take the lock of the catalog or
/// that of the marks, one at a time.
///
/// **Crash**: the files hold the records in order, up to some record. An entry enters the catalog after its record is
/// in the buffer or in the file. It leaves the catalog when that record is lost. A key whose entry left without a
/// removal record is a suspect: the next opening may find it again.
struct Log: Sendable {
  /// One file of the log.
  struct Segment: Sendable {
    let number: UInt32
    let file: any File
    /// The length of the file in bytes.
    var count: Int
    /// Bytes of body files that its records name. They decide when the segment is sealed: a segment is the unit of
    /// reclaiming, and must not stand for much more than its share.
    var bodyFileBytes = 0
    /// Whether the segment takes no more records.
    var isSealed = false
    /// Whether it was written to since the last sync.
    var isDirty = false
    /// Whether its name is not yet synced.
    var isNew = false
  }

  let context: DiskContext
  let catalog: Catalog
  /// Oldest first; only the last may be unsealed.
  var segments: [Segment]
  /// The summary of the last segment's records that no summary in the file covers; empty if the segment is sealed.
  var summary: SegmentSummary
  var nextNumber: UInt32
  /// The numbers of segments that a wipe must unlink.
  var wipedNumbers: PartialRangeUpTo<UInt32> = ..<0
  /// The segment that is being carried forward, and the bytes carried so far.
  var carried: (segment: UInt32, bytes: Int) = (0, 0)
  /// The bytes of segments that are not yet written.
  var buffer = WriteBuffer()
  var space: DiskSpace
  var health = DiskHealth()
  /// Open, and therefore locked, until the store closes; `nil` also while there is no directory.
  var lockFile: (any File)?
  /// Files of a lost directory that must be emptied.
  var abandoned: [any File] = []
  /// Body files with lower numbers are not in the directory.
  var oldestBody: UInt64 = 0
  var suspects = Suspects()
  var unsynced = Unsynced()
  /// The number in the file `removals`.
  var acknowledged = AcknowledgedRemovals()
  /// The pinned keys, and the copies of their entries that are not yet durable.
  var pins: Pins
  var isClosed = false

  /// Continues a log that an opening recovered.
  init(
    _ found: LogRecovery.Result, lockFile: (any File)?, capacity: Int, context: DiskContext, catalog: Catalog,
    pins: Pins = Pins()
  ) {
    self.context = context
    self.catalog = catalog
    self.lockFile = lockFile
    segments = found.segments
    summary = found.summary
    nextNumber = found.nextNumber
    suspects.isEverything = found.hasSuspects
    self.pins = pins
    space = DiskSpace(
      capacity: capacity, used: DiskOpening.fixedBytes + found.used + pins.fileSizes.reduce(0, +))
    pinEntries(within: capacity)
  }

  var segmentSize: Int { context.options.segmentSize(for: space.capacity) }

  /// Whether to try a write now: see ``DiskHealth``.
  mutating func mayTry() -> Bool {
    let files = context.files
    return health.mayTry(at: files.uptime)
  }

  /// The same for a body file.
  mutating func mayTryBody() -> Bool {
    let files = context.files
    return health.mayTryBody(at: files.uptime)
  }

  var isPausing: Bool { health.isPausing(at: context.files.uptime) }

  mutating func fail(_ failure: FileFailure) {
    context.counters.ioErrors.increment()
    health.fail(failure, at: context.files.uptime)
  }

  mutating func failBody(_ failure: FileFailure) {
    context.counters.ioErrors.increment()
    health.failBody(failure, at: context.files.uptime)
  }

  /// Returns the files that were written to since the last call, and whether the name of one is not synced.
  mutating func takeDirty() -> (files: [any File], hasNew: Bool) {
    var dirty: (files: [any File], hasNew: Bool) = ([], false)
    for index in segments.indices where segments[index].isDirty {
      dirty.files.append(segments[index].file)
      dirty.hasNew = dirty.hasNew || segments[index].isNew
      // A later write makes it dirty again.
      segments[index].isDirty = false
    }
    return dirty
  }

  /// Records that taken files, and their names, are synced.
  mutating func didSync(_ files: [any File]) {
    guard !files.isEmpty else { return }
    health.succeed("sync")
    for index in segments.indices where files.contains(where: { $0 === segments[index].file }) {
      segments[index].isNew = false
    }
  }

  /// Records that taken files could not be synced.
  mutating func restoreDirty(_ files: [any File]) {
    for index in segments.indices where files.contains(where: { $0 === segments[index].file }) {
      segments[index].isDirty = true
    }
  }

  /// Closes the log, and with it the lock of the directory.
  mutating func close() {
    isClosed = true
    buffer.drop()
    segments = []
    lockFile = nil
    catalog.withLock { $0.removeAll() }
  }
}

/// Why a record was not appended.
enum AppendFailure: Error {
  case noRoom
  case inputOutput

  var reason: RefusalReason {
    switch self {
    case .noRoom: .noRoom
    case .inputOutput: .inputOutput
    }
  }
}
