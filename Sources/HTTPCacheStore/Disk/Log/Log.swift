/// The log as its writers see it; everything here happens under its lock.
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

  /// Oldest first; only the last may be unsealed.
  var segments: [Segment] = []
  /// Of the records of the last segment that no summary in the file tells of; nothing when it is sealed.
  var summary = SegmentSummary()
  var nextNumber: UInt32 = 1
  /// How much of which segment has been carried forward so far.
  var carried: (segment: UInt32, bytes: Int) = (0, 0)
  /// What is not yet written of the segments; nothing where every record is written at once.
  var buffer = WriteBuffer()
  var isFlushScheduled = false
  /// So many more times, those who store do not expect that another writes.
  var ownWrites = 0
  var health = DiskHealth()
  /// The bytes of all files in the directory, of the summary that is still to be written, and what body files in the
  /// making have reserved.
  var used = 0
  /// What of that body files in the making have reserved; no reclaiming frees it.
  var reserved = 0
  var capacity: Int
  /// Held open, and with it locked, until the store closes; `nil` while there is no directory, too.
  var lockFile: (any File)?
  /// Files of a directory that was lost, which are to be emptied.
  var abandoned: [any File] = []
  /// Body files with lower numbers are not in the directory.
  var oldestBody: UInt64 = 0
  var isClosed = false
  /// Key hashes whose entries were dropped without a trace in the log, because they could not be read: they may come
  /// back at the next opening, so their removal must be logged even though the index does not know them.
  var suspects: Set<UInt64> = []
  /// There were too many of them.
  var suspectsAll = false
  /// Something was removed in a way that a loss of power would undo. The next acknowledged removal syncs it, as it may
  /// rely on it.
  var needsSync = false

  /// A removal was logged that awaits its sync. Another of the same key finds nothing to remove, and relies on it.
  var hasUnsyncedRemoval = false

  /// Body files whose bytes may not be on the disk itself.
  var unsyncedBodies: Set<UInt64> = []

  mutating func suspect(_ hash: UInt64) {
    if suspects.count >= 4096 { suspectsAll = true } else { suspects.insert(hash) }
  }

  func isSuspect(_ hash: UInt64) -> Bool { suspectsAll || suspects.contains(hash) }
}

/// The log as its readers see it; everything here happens under its lock, which is never held for I/O.
struct Catalog: Sendable {
  var index = DiskIndex()
  var files = SegmentFiles()
  /// Records that are not yet in their files, by position.
  private var buffered: [UInt64: RecordBytes] = [:]

  /// The bytes of a record, as long as it is not yet in its file.
  func buffered(at location: RecordLocation) -> RecordBytes? {
    buffered.isEmpty ? nil : buffered[location.position]
  }

  mutating func buffer(_ piece: WriteBuffer.Piece) { buffered[piece.position] = piece.bytes }
  mutating func unbuffer(_ piece: WriteBuffer.Piece) { buffered[piece.position] = nil }
  mutating func unbufferAll() { buffered = [:] }
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
