// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// What the disk tier is configured with.
struct DiskOptions: Sendable {
  var segmentSize: Int?
  var largeBodyThreshold: Int
  var maximumVariants: Int
  var sync: DiskSync
  /// The bytes that may await their writing; 0 writes each record at once.
  var writeBuffer: Int
  var observer: (@Sendable (DiskEvent) -> Void)?

  /// 16 MiB, unless the capacity would then have fewer than 16 segments, or so many that their open files matter.
  ///
  /// It follows the capacity when that changes: a log of few segments, or less than one, loses all it has whenever it
  /// makes room.
  func segmentSize(for capacity: Int) -> Int {
    if let segmentSize { return min(segmentSize, capacity / 4) }
    let most = min(16 << 20, capacity / 16)
    let size = max(DiskFormat.minimumSegmentSize, most, capacity / 256)
    return min(size, DiskFormat.maximumSegmentSize) & ~4095
  }

  /// As many marks as take a sixteenth of a segment, for every segment begins with them.
  func markLimit(for capacity: Int) -> Int {
    min(ScopeMarks.defaultLimit, segmentSize(for: capacity) / 256)
  }

  func largeBodyThreshold(for capacity: Int) -> Int {
    min(largeBodyThreshold, segmentSize(for: capacity) / 4)
  }
}
