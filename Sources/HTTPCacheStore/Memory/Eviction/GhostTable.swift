// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CPlatform

/// Remembers keys that were evicted recently (ghosts), by half of their tag. S3-FIFO considers an entry worth keeping
/// if its key comes back soon.
///
/// The table has buckets of eight records, each in one cache line; a new record replaces the oldest of its bucket.
/// Once in 8,000 times, half a tag in a bucket belongs to another key: that entry then stays a little longer than it
/// should.
struct GhostTable {
  /// An upper bound: the table doubles when five eighths of it are in use.
  static let bytesPerEntry = 13

  /// Half of the tag in the upper bits, the time of eviction in the lower bits. A vector, because it is aligned, and its
  /// elements need no further check of an index.
  private typealias Bucket = SIMD8<UInt32>

  private var buckets: [Bucket] = []
  /// Number of keys ever added. It begins with a value for which no empty record counts as recent.
  private var clock: UInt32 = 0
  /// Times count in units of this many evictions (as a shift), so that 16 bits cover several times what is remembered.
  private var unitShift: UInt32 = 0

  private var now: UInt32 { clock >> unitShift & 0xFFFF }

  private func index(of tag: UInt32) -> Int {
    Int(truncatingIfNeeded: (UInt64(tag) &* UInt64(buckets.count)) &>> 32)
  }

  /// Prefetches the bucket of a key. An insert that waits for both of its buckets takes 70 ns longer.
  @inline(__always)
  func prefetch(_ tag: UInt32) {
    buckets.withUnsafeBufferPointer { all in
      guard let start = all.baseAddress else { return }
      store_prefetch(start + index(of: tag))
    }
  }

  /// Remembers a key.
  ///
  /// - Parameter room: maximum number of keys to remember.
  mutating func add(_ tag: UInt32, room: Int) {
    resize(to: room)
    clock &+= 1
    let (index, now) = (index(of: tag), now)
    let bucket = buckets[index]
    var (oldest, greatestAge) = (0, UInt32(0))
    for lane in 0..<Bucket.scalarCount {
      let age = (now &- bucket[lane]) & 0xFFFF
      if age > greatestAge { (oldest, greatestAge) = (lane, age) }
    }
    buckets[index][oldest] = tag << 16 | now
  }

  /// Forgets a key, and returns whether it was among the last `limit`.
  mutating func remove(_ tag: UInt32, limit: Int) -> Bool {
    guard !buckets.isEmpty else { return false }
    let (index, now) = (index(of: tag), now)
    let bucket = buckets[index]
    for lane in 0..<Bucket.scalarCount where bucket[lane] >> 16 == tag & 0xFFFF {
      guard ((now &- bucket[lane]) & 0xFFFF) << unitShift <= limit else { continue }
      buckets[index][lane] = tag << 16 | (now &- 0x8000) & 0xFFFF
      return true
    }
    return false
  }

  /// Changes the size, and forgets all keys: this happens while a shard fills, and seldom after.
  private mutating func resize(to room: Int) {
    var count = max(buckets.count, 1)
    while room > count * 5 { count *= 2 }
    if room * 2 < count { count = max(1, count / 4) }
    guard count != buckets.count else { return }
    buckets = Array(repeating: Bucket(), count: count)
    unitShift = UInt32(max(0, Int.bitWidth - (count * Bucket.scalarCount).leadingZeroBitCount - 14))
    clock = 0x8000 << unitShift
  }
}
