// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

// One import is enough for the literal of a directory's path.
@_exported import struct SystemPackage.FilePath

extension CacheStore {
  /// The capacities, the directory and the policies of a store.
  ///
  /// ``CacheStore/init(_:)`` checks the values.
  public struct Configuration: Sendable {
    /// Maximum bytes that entries occupy in memory; 0 keeps nothing in memory.
    public var memoryCapacity: Int
    /// Maximum bytes that the files in the directory occupy; at least 1 MiB if there is a ``directory``. Without one it
    /// has no effect.
    public var diskCapacity: Int
    /// The directory for entries on disk; `nil` keeps them in memory only (default: `nil`).
    ///
    /// The store creates a missing directory, with its parents, private to its user. It refuses a directory that holds
    /// other files and no cache. The files are not encrypted.
    public var directory: FilePath?
    /// The number of parts that memory is split into, so that threads do not wait for each other: a power of two up to
    /// 1,024. With `nil` the store chooses by capacity.
    package var shardCount: Int?
    /// Which entry memory evicts first when it needs room (default: `s3fifo`).
    public var eviction = EvictionPolicy.s3fifo
    /// Which entries are written to disk (default: `everything`). Without a ``directory`` it has no effect.
    public var diskAdmission = DiskAdmission.everything
    /// Maximum variants kept of one key; beyond it the store removes the oldest.
    package var variantsPerKey = 64
    /// Maximum bytes of key, metadata and body of one entry together (default: `nil`).
    ///
    /// With `nil` only the capacities limit an entry: it may be as large as memory, or as half of the disk.
    public var maximumEntrySize: Int?
    /// Maximum share of the disk's capacity that one entry may take, from 0 to 1 (default: `nil`). With `nil` only the
    /// capacities limit an entry.
    ///
    /// The limit applies only while there is a disk. It then also applies to entries that are kept in memory only.
    public var maximumEntryShare: Double?
    /// The size in bytes of one file of the disk's log, from 64 KiB to 1 GiB. With `nil` the store chooses by capacity.
    package var segmentSize: Int?
    /// Bodies of more bytes than this have their own file on disk, and are streamed to and from it (default:
    /// 256 KiB). Without a ``directory`` it has no effect.
    ///
    /// Such a body is not kept in memory: neither when it is written with an ``EntryWriter``, nor when a lookup finds it
    /// on disk. Every hit reads its file. Increase the value if larger bodies must be hits in memory. A lookup that finds
    /// a body up to this size on disk reads it whole.
    ///
    /// The limit is at most 1/64 of the disk's capacity. It is also at most 4 MiB, or 1/1024 of a disk above 4 GiB. A
    /// larger value counts as that limit: a body without its own file takes at most a quarter of a file of the disk's
    /// log.
    public var largeBodyThreshold = 256 * 1024
    /// Maximum share of ``diskCapacity`` that the entries of pinned keys may take, from 0 to 0.75 (default: 0.5). See
    /// ``CacheStore/pin(_:)``.
    public var pinnedShare = 0.5
    /// When the store syncs written bytes to the disk (default: `removals`).
    public var sync = DiskSync.removals
    /// Maximum bytes that wait in memory to be written to disk, in addition to ``memoryCapacity`` (default: 1 MiB).
    ///
    /// At least 64 KiB and at most 1 GiB, or 0. With 0 an insert returns after its entry is written. Once the buffer is
    /// half full, callers that insert also write.
    public var writeBuffer = 1 << 20
    /// Called when the disk fails and when it works again (default: `nil`). A cache over the store reports the same as
    /// events: this is for a store without a cache.
    ///
    /// The store calls it on its own queue, soon after the change, one event after the other. It may use the
    /// store.
    public var diskObserver: (@Sendable (DiskEvent) -> Void)?
    /// Whether to discard the cache that the directory holds.
    package var startEmpty = false
    /// What to do with a directory whose cache is unreadable: damaged, or of a later version. `nil` (the default) leaves
    /// it to what opens the store: ``CacheStore/init(_:)`` fails, and an adapter that cannot fail begins empty.
    public var whenUnreadable: UnreadableDirectory?
    /// Called with the progress of opening the directory, which may take seconds after a crash.
    package var openingProgress: (@Sendable (OpeningProgress) -> Void)?

    /// Creates the configuration of a store in memory, and also on disk if a directory is given.
    ///
    /// - Parameters:
    ///   - memoryCapacity: maximum bytes in memory.
    ///   - diskCapacity: maximum bytes on disk (default: 0); at least 1 MiB with a directory.
    ///   - directory: the directory for entries on disk (default: none).
    public init(memoryCapacity: Int, diskCapacity: Int = 0, directory: FilePath? = nil) {
      self.memoryCapacity = memoryCapacity
      self.diskCapacity = diskCapacity
      self.directory = directory
    }
  }
}

extension CacheStore.Configuration {
  static let minimumDiskCapacity = 1 << 20
  private static let leastWriteBuffer = 64 << 10
  /// Maximum bytes of key and metadata together.
  static let maximumHeadSize = 16 << 20

  func validate() throws(StoreError) {
    func require(_ condition: Bool, _ what: String) throws(StoreError) {
      guard condition else { throw StoreError(.invalidConfiguration(what)) }
    }
    try require(memoryCapacity >= 0, "memoryCapacity: expected 0 or more bytes, found \(memoryCapacity)")
    try require(
      directory == nil || diskCapacity >= Self.minimumDiskCapacity,
      "diskCapacity: expected at least \(Self.minimumDiskCapacity) bytes, found \(diskCapacity); or set no directory"
    )
    if let shardCount {
      try require(
        (1...1024).contains(shardCount) && shardCount.nonzeroBitCount == 1,
        "shardCount: expected a power of two from 1 to 1024, found \(shardCount)")
    }
    try require(
      (1...1024).contains(variantsPerKey), "variantsPerKey: expected 1 to 1024, found \(variantsPerKey)")
    try require(
      maximumEntrySize ?? 0 >= 0,
      "maximumEntrySize: expected 0 or more bytes, or nil, found \(maximumEntrySize ?? 0)"
    )
    try require(
      (0...1).contains(maximumEntryShare ?? 0),
      "maximumEntryShare: expected 0 to 1, or nil, found \(maximumEntryShare ?? 0)")
    try require((0...0.75).contains(pinnedShare), "pinnedShare: expected 0 to 0.75, found \(pinnedShare)")
    try require(
      largeBodyThreshold >= 0, "largeBodyThreshold: expected 0 or more bytes, found \(largeBodyThreshold)")
    try require(
      writeBuffer == 0 || (Self.leastWriteBuffer...1 << 30).contains(writeBuffer),
      "writeBuffer: expected 64 KiB to 1 GiB, or 0, found \(writeBuffer) bytes")
    if let segmentSize, directory != nil {
      try require(
        (DiskFormat.minimumSegmentSize...DiskFormat.maximumSegmentSize).contains(segmentSize)
          && segmentSize <= diskCapacity / 4,
        "segmentSize: expected 64 KiB to 1 GiB, and at most a quarter of diskCapacity, found \(segmentSize) bytes"
      )
    }
  }

  var diskOptions: DiskOptions {
    DiskOptions(
      segmentSize: segmentSize, largeBodyThreshold: largeBodyThreshold, variantsPerKey: variantsPerKey,
      sync: sync, writeBuffer: max(writeBuffer, Self.leastWriteBuffer), writesAtOnce: writeBuffer == 0,
      observer: diskObserver, pinnedShare: pinnedShare)
  }
}

/// The progress of opening a directory.
package struct OpeningProgress: Sendable, Hashable {
  /// Number of log files read so far.
  package let segmentsRead: Int
  /// Number of log files in the directory.
  package let segments: Int
}
