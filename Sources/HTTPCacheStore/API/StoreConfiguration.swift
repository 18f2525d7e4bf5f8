import SystemPackage

extension CacheStore {
  /// How a store is made.
  public struct Configuration: Sendable {
    /// The most bytes that entries may occupy in memory. 0 keeps nothing in memory.
    public var memoryCapacity: Int
    /// The most bytes that the directory's files may occupy. At least 1 MiB when there is a directory.
    public var diskCapacity: Int
    /// Where to keep entries on disk; `nil` keeps them in memory only. Created when missing, with what leads to it, and
    /// private to its user. A directory that holds other files, and no cache, is refused.
    public var directory: FilePath?
    /// How many parts memory is split into so that threads do not wait for each other: a power of two up to 1,024;
    /// `nil` chooses by capacity.
    public var shardCount: Int?
    /// Which entry of memory goes first when room is needed.
    public var eviction = EvictionPolicy.lru
    /// What is written to disk; counts only with a directory.
    public var diskAdmission = DiskAdmission.everything
    /// The most variants kept of one key; beyond it the oldest goes.
    public var maximumVariants = 64
    /// The most bytes that key, metadata and body of one entry may have together; `nil` leaves it to the capacities.
    public var maximumEntrySize: Int?
    /// The largest share of the disk's capacity, as it is at the time, that one entry may take, from 0 to 1; `nil` leaves it
    /// to the capacities. Counts only while there is a disk, and then for what is kept in memory only, too.
    public var maximumEntryShare: Double?
    /// The size in bytes of one file of the disk's log; `nil` chooses by capacity. At least 64 KiB, at most 1 GiB.
    public var segmentSize: Int?
    /// Bodies of more bytes than this get a file of their own on disk and are streamed. At most a quarter of a segment
    /// counts.
    public var largeBodyThreshold = 256 * 1024
    /// When what is written to disk is to survive a loss of power.
    public var sync = DiskSync.removals
    /// The most bytes that may await being written to disk, in memory and beside ``memoryCapacity``; at least 64 KiB, or 0
    /// to write every entry before its store returns. From half full on, who stores writes as well.
    public var writeBuffer = 1 << 20
    /// Is told when the disk fails, and when it works again, in this order. Called on whatever thread finds out, by one at a
    /// time; it must not block, nor use the store.
    public var diskObserver: (@Sendable (DiskEvent) -> Void)?
    /// Whether to discard what a cache has stored in the directory.
    public var startEmpty = false
    /// What to do with a directory whose cache cannot be read: damaged, or of another version (default: `fail`).
    public var whenUnreadable = UnreadableDirectory.fail
    /// Is told how the opening of the directory comes on, which may take seconds after a crash.
    public var openingProgress: (@Sendable (OpeningProgress) -> Void)?

    /// A store in memory, and on disk too when a directory is given.
    public init(memoryCapacity: Int, diskCapacity: Int = 0, directory: FilePath? = nil) {
      self.memoryCapacity = memoryCapacity
      self.diskCapacity = diskCapacity
      self.directory = directory
    }
  }
}

extension CacheStore.Configuration {
  static let minimumDiskCapacity = 1 << 20
  /// The most bytes of key and metadata together.
  static let maximumHeadSize = 16 << 20

  func validate() throws(StoreError) {
    func require(_ condition: Bool, _ what: String) throws(StoreError) {
      guard condition else { throw StoreError(.invalidConfiguration(what)) }
    }
    try require(memoryCapacity >= 0, "memoryCapacity is \(memoryCapacity); give 0 or more bytes")
    try require(
      directory == nil || diskCapacity >= Self.minimumDiskCapacity,
      "diskCapacity is \(diskCapacity) bytes; give at least \(Self.minimumDiskCapacity), or no directory")
    if let shardCount {
      try require(
        (1...1024).contains(shardCount) && shardCount.nonzeroBitCount == 1,
        "shardCount is \(shardCount); give a power of two from 1 to 1024")
    }
    try require((1...1024).contains(maximumVariants), "maximumVariants is \(maximumVariants); give 1 to 1024")
    try require(
      maximumEntrySize ?? 0 >= 0, "maximumEntrySize is \(maximumEntrySize ?? 0); give 0 or more bytes, or nil"
    )
    try require(
      (0...1).contains(maximumEntryShare ?? 0),
      "maximumEntryShare is \(maximumEntryShare ?? 0); give 0 to 1, or nil")
    try require(largeBodyThreshold >= 0, "largeBodyThreshold is \(largeBodyThreshold); give 0 or more bytes")
    try require(
      writeBuffer == 0 || (64 << 10...1 << 30).contains(writeBuffer),
      "writeBuffer is \(writeBuffer); give 64 KiB to 1 GiB, or 0")
    if let segmentSize, directory != nil {
      try require(
        (DiskFormat.minimumSegmentSize...DiskFormat.maximumSegmentSize).contains(segmentSize)
          && segmentSize <= diskCapacity / 4,
        "segmentSize is \(segmentSize); give 64 KiB to 1 GiB, and at most a quarter of diskCapacity")
    }
  }

  var diskOptions: DiskTier.Options {
    DiskTier.Options(
      segmentSize: segmentSize, largeBodyThreshold: largeBodyThreshold, maximumVariants: maximumVariants,
      sync: sync, writeBuffer: writeBuffer, observer: diskObserver)
  }
}
