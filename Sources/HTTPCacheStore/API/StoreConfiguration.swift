import SystemPackage

extension CacheStore {
  /// How a store is made.
  public struct Configuration: Sendable {
    /// The most bytes that entries may occupy in memory. 0 keeps nothing in memory.
    public var memoryCapacity: Int
    /// The most bytes that the directory's files may occupy. At least 1 MiB when there is a directory.
    public var diskCapacity: Int
    /// Where to keep entries on disk; `nil` keeps them in memory only. Created when missing, private to its user, and
    /// not to be shared with other files.
    public var directory: FilePath?
    /// How many parts memory is split into so that threads do not wait for each other: a power of two up to 1,024;
    /// `nil` chooses by capacity.
    public var shardCount: Int?
    /// The most variants kept of one key; beyond it the oldest goes.
    public var maximumVariants = 64
    /// The most bytes that key, metadata and body of one entry may have together; `nil` leaves it to the capacities.
    public var maximumEntrySize: Int?
    /// The size in bytes of one file of the disk's log; `nil` chooses by capacity. At least 64 KiB, at most 1 GiB.
    public var segmentSize: Int?
    /// Bodies of more bytes than this get a file of their own on disk and are streamed. At most a quarter of a segment
    /// counts.
    public var largeBodyThreshold = 256 * 1024
    /// Whether a removal returns only when it would survive a loss of power. Without it, it survives the end of the
    /// process.
    public var syncRemovals = true
    /// Whether to discard what the directory holds.
    public var startEmpty = false

    /// A store in memory, and on disk too when a directory is given.
    public init(memoryCapacity: Int, diskCapacity: Int = 0, directory: FilePath? = nil) {
      self.memoryCapacity = memoryCapacity
      self.diskCapacity = diskCapacity
      self.directory = directory
    }
  }
}
