// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Remembers keys that were evicted recently (ghosts), by half of their tag. S3-FIFO considers an entry worth keeping
/// if its key comes back soon.
///
/// The table has buckets of eight records, in one or two cache lines; a new record replaces the oldest of its bucket.
/// Once in 8,000 times, half a tag in a bucket belongs to another key: that entry then stays a little longer than it
/// should.
struct GhostTable {
  /// An upper bound: the table doubles when five eighths of it are in use.
  static let bytesPerEntry = 13
  private static let bucketSize = 8

  /// Half of the tag in the upper bits, the time of eviction in the lower bits.
  private var records: [UInt32] = []
  /// Number of keys ever added. It begins with a value for which no empty record counts as recent.
  private var clock: UInt32 = 0

  /// Times count in units of this many evictions (as a shift), so that 16 bits cover several times what is remembered.
  private var unitShift: UInt32 {
    UInt32(max(0, Int.bitWidth - records.count.leadingZeroBitCount - 14))
  }

  private var now: UInt32 { clock >> unitShift & 0xFFFF }

  private func bucket(of tag: UInt32) -> Range<Int> {
    let count = UInt64(records.count / Self.bucketSize)
    let first = Int((UInt64(tag) * count) >> 32) * Self.bucketSize
    return first..<first + Self.bucketSize
  }

  private func age(_ record: UInt32) -> UInt32 { (now &- record) & 0xFFFF }

  /// Remembers a key.
  ///
  /// - Parameter room: maximum number of keys to remember.
  mutating func add(_ tag: UInt32, room: Int) {
    resize(to: room)
    clock &+= 1
    var oldest = bucket(of: tag).lowerBound
    for index in bucket(of: tag) where age(records[index]) > age(records[oldest]) { oldest = index }
    records[oldest] = tag << 16 | now
  }

  /// Forgets a key, and returns whether it was among the last `limit`.
  mutating func remove(_ tag: UInt32, limit: Int) -> Bool {
    guard !records.isEmpty else { return false }
    for index in bucket(of: tag) where records[index] >> 16 == tag & 0xFFFF {
      guard age(records[index]) << unitShift <= limit else { continue }
      records[index] = tag << 16 | (now &- 0x8000) & 0xFFFF
      return true
    }
    return false
  }

  /// Changes the size, and forgets all keys: this happens while a shard fills, and seldom after.
  private mutating func resize(to room: Int) {
    var count = max(records.count, Self.bucketSize)
    while room * 8 > count * 5 { count *= 2 }
    if room * 16 < count { count = max(Self.bucketSize, count / 4) }
    guard count != records.count else { return }
    records = Array(repeating: 0, count: count)
    clock = 0x8000 << unitShift
  }
}
