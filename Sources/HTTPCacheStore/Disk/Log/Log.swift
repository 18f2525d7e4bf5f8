// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The log: appends records, seals segments with a summary, and reclaims the oldest segments when it needs room.
///
/// **State**: the list of segments, the bytes that are not yet written (`WriteBuffer`), the room (`DiskSpace`), the health of the
/// disk, and notes for the parts that remove and sync (`Suspects`, `Unsynced`, `AcknowledgedRemovals`).
///
/// **Lock**: none of its own. It is a value, and `SharedLog` guards it. Its methods take the lock of the catalog or that of the
/// marks, one at a time.
///
/// **Crash**: the files hold the records in order, up to some record. An entry enters the catalog after its record is in the buffer
/// or in the file. It leaves the catalog when that record is lost. A key whose entry left without a removal record is a suspect:
/// the next opening may find it again.
struct Log: Sendable {
  /// One file of the log.
  struct Segment: Sendable {
    let number: UInt32
    let file: any File
    /// The bytes of the file.
    var count: Int
    /// The bytes of body files that its records name. They count when the segment is sealed: a segment is the unit of
    /// reclaiming, and must not stand for much more than its share.
    var bodyFileBytes = 0
    /// No more records are added.
    var isSealed = false
    /// Written to since the last sync.
    var isDirty = false
    /// Its name has not been synced.
    var isNew = false
  }

  let context: DiskContext
  let catalog: Catalog
  /// Oldest first; only the last may be unsealed.
  var segments: [Segment]
  /// Of the records of the last segment that no summary in the file tells of; nothing when it is sealed.
  var summary: SegmentSummary
  var nextNumber: UInt32
  /// The numbers of segments that a wipe was to unlink.
  var wipedNumbers: PartialRangeUpTo<UInt32> = ..<0
  /// How much of which segment has been carried forward so far.
  var carried: (segment: UInt32, bytes: Int) = (0, 0)
  /// What is not yet written of the segments; nothing where every record is written at once.
  var buffer = WriteBuffer()
  var space: DiskSpace
  var health = DiskHealth()
  /// Held open, and with it locked, until the store closes; `nil` while there is no directory, too.
  var lockFile: (any File)?
  /// Files of a directory that was lost, which are to be emptied.
  var abandoned: [any File] = []
  /// Body files with lower numbers are not in the directory.
  var oldestBody: UInt64 = 0
  var suspects = Suspects()
  var unsynced = Unsynced()
  /// The number that the file `removals` has.
  var acknowledged = AcknowledgedRemovals()
  var isClosed = false

  /// Goes on where a log ended that was found.
  init(
    _ found: LogRecovery.Result, lockFile: (any File)?, capacity: Int, context: DiskContext, catalog: Catalog
  ) {
    self.context = context
    self.catalog = catalog
    self.lockFile = lockFile
    segments = found.segments
    summary = found.summary
    nextNumber = found.nextNumber
    suspects.isEverything = found.hasSuspects
    space = DiskSpace(capacity: capacity, used: DiskOpening.fixedBytes + found.used)
    // The capacity may be lower than the last time.
    _ = makeRoom(0)
  }

  var segmentSize: Int { context.options.segmentSize(for: space.capacity) }

  mutating func fail(_ failure: FileFailure) {
    context.counters.ioErrors.increment()
    health.fail(failure)
  }

  /// The files that were written to since this was asked before, and whether the name of one is not synced.
  mutating func takeDirty() -> (files: [any File], hasNew: Bool) {
    var dirty: (files: [any File], hasNew: Bool) = ([], false)
    for index in segments.indices where segments[index].isDirty {
      dirty.files.append(segments[index].file)
      dirty.hasNew = dirty.hasNew || segments[index].isNew
      // What is written later makes it dirty again.
      segments[index].isDirty = false
    }
    return dirty
  }

  /// Files that were taken are synced, and so are their names.
  mutating func didSync(_ files: [any File]) {
    guard !files.isEmpty else { return }
    health.succeed("sync")
    for index in segments.indices where files.contains(where: { $0 === segments[index].file }) {
      segments[index].isNew = false
    }
  }

  /// Files that were taken and could not be synced.
  mutating func restoreDirty(_ files: [any File]) {
    for index in segments.indices where files.contains(where: { $0 === segments[index].file }) {
      segments[index].isDirty = true
    }
  }

  /// Ends the log. The lock of the directory goes with it.
  mutating func close() {
    isClosed = true
    buffer.drop()
    segments = []
    lockFile = nil
    catalog.withLock { $0 = Catalog.Contents() }
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
