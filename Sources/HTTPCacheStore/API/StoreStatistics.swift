/// What a store occupies now, in bytes and entries.
public struct StoreUsage: Sendable, Hashable {
  /// Bytes that entries occupy in memory, their share of the index included.
  public var memoryBytes = 0
  /// Bytes of all files in the directory.
  public var diskBytes = 0
  /// Entries in memory.
  public var memoryEntries = 0
  /// Entries on disk, whether or not they are in memory too.
  public var diskEntries = 0
  /// Of ``diskBytes``, what entries occupy that can still be found: the rest is reclaimed with its segment.
  public var diskLiveBytes = 0
  /// What memory holds of the entries on disk to find them, in bytes. Not part of ``memoryBytes``.
  public var diskIndexBytes = 0
}

/// What a store may occupy, in bytes.
public struct StoreCapacity: Sendable, Hashable {
  /// The most that entries may occupy in memory.
  public var memory = 0
  /// The most that the directory's files may occupy; 0 without a directory.
  public var disk = 0
}

/// What a store has done since it was opened. Counters only grow; each is exact, the set is not a snapshot.
public struct StoreStatistics: Sendable, Hashable {
  /// Lookups answered from memory.
  public var memoryHits = 0
  /// Lookups answered with at least one entry from disk.
  public var diskHits = 0
  /// Lookups that found nothing.
  public var misses = 0
  /// Entries stored.
  public var inserts = 0
  /// Metadata updates applied.
  public var updates = 0
  /// Entries dropped from memory to make room.
  public var memoryEvictions = 0
  /// Entries dropped from disk to make room.
  public var diskEvictions = 0
  /// Entries kept in memory only, because they came for the first time; see ``DiskAdmission/secondTime``.
  public var diskRejections = 0
  /// Entries on disk copied forward, when their segment was reclaimed, because they had been hit.
  public var diskCarries = 0
  /// Bytes of keys, metadata and bodies that were stored on disk.
  public var diskBytesStored = 0
  /// Bytes written to the disk for them, all that the store adds to them and carries forward included.
  public var diskBytesWritten = 0
  /// Inserts refused, for whatever reason.
  public var refusals = 0
  /// Calls that removed by key, variant, time, or everything, or marked scopes.
  public var removals = 0
  /// Records or bodies whose bytes were not what was written, at opening or when read.
  public var corruptRecords = 0
  /// Operations of the file system that failed.
  public var ioErrors = 0
  /// How often the disk stopped to take what was stored; see ``DiskEvent``.
  public var diskFailures = 0
}
