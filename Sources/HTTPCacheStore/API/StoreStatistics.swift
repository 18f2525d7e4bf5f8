// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// The bytes and entries in a store at one moment.
public struct StoreUsage: Sendable, Hashable {
  /// Bytes that entries occupy in memory, including their share of the index.
  public var memoryBytes = 0
  /// Bytes of all files in the directory.
  public var diskBytes = 0
  /// Entries in memory.
  public var memoryEntries = 0
  /// Entries on disk, including those that are also in memory.
  public var diskEntries = 0
  /// Keys that are pinned; see ``CacheStore/pin(_:)``.
  public var pinnedKeys = 0
  /// Bytes that the entries of pinned keys occupy on disk, as far as they are safe from eviction. They count towards
  /// ``StoreCapacity/pinned``.
  public var pinnedBytes = 0
  /// The part of ``diskBytes`` that belongs to entries in the index. The rest is reclaimed with its segment.
  package var diskLiveBytes = 0
  /// Bytes of the index of the entries on disk, in memory. Not part of ``memoryBytes``.
  package var diskIndexBytes = 0
}

/// The capacities of a store, in bytes.
public struct StoreCapacity: Sendable, Hashable {
  /// Maximum bytes that entries occupy in memory.
  public var memory = 0
  /// Maximum bytes that the files in the directory occupy; 0 without a directory.
  public var disk = 0
  /// Maximum bytes that the entries of pinned keys occupy on disk; 0 without a directory.
  public var pinned = 0
}

/// Counts of what a store has done since it was opened.
///
/// Counters only grow. Each counter is exact; together they are not a snapshot of one moment.
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
  package var updates = 0
  /// Entries evicted from memory to make room.
  public var memoryEvictions = 0
  /// Entries evicted from disk to make room.
  public var diskEvictions = 0
  /// Entries kept in memory only because their key was stored for the first time; see ``DiskAdmission/secondTime``.
  package var diskRejections = 0
  /// Entries on disk that were copied forward when their segment was reclaimed, because they had been hit.
  package var diskCarries = 0
  /// Bytes of keys, metadata and bodies that were stored on disk.
  package var diskBytesStored = 0
  /// Bytes written to the disk for them, including all that the store adds and carries forward.
  package var diskBytesWritten = 0
  /// Inserts refused, for any reason; see ``InsertRefusal``.
  public var refusals = 0
  /// Calls that removed entries, including calls that found none.
  public var removals = 0
  /// Records or bodies whose bytes differ from those written, found at opening or on a read. Each is treated as
  /// missing.
  public var corruptRecords = 0
  /// Operations of the file system that failed, without writes that succeeded after entries were evicted from a full one.
  public var ioErrors = 0
  /// How often the disk stopped taking new entries; see ``DiskEvent``.
  public var diskFailures = 0
}

/// The counters of a store that its tiers do not keep.
final class StoreCounters: Sendable {
  let diskHits = Atomic<Int>(0)
  let misses = Atomic<Int>(0)
  let inserts = Atomic<Int>(0)
  let updates = Atomic<Int>(0)
  let refusals = Atomic<Int>(0)
  let removals = Atomic<Int>(0)
  let diskRejections = Atomic<Int>(0)

  var statistics: StoreStatistics {
    var result = StoreStatistics()
    result.diskHits = diskHits.value
    result.misses = misses.value
    result.inserts = inserts.value
    result.updates = updates.value
    result.refusals = refusals.value
    result.removals = removals.value
    result.diskRejections = diskRejections.value
    return result
  }
}
