// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The configuration of the disk tier.
struct DiskOptions: Sendable {
  var segmentSize: Int?
  var largeBodyThreshold: Int
  var maximumVariants: Int
  var sync: DiskSync
  /// Maximum bytes that wait to be written.
  var writeBuffer: Int
  /// Whether the calls that insert and update write the buffer before they return, instead of another thread.
  var writesAtOnce = false
  var observer: (@Sendable (DiskEvent) -> Void)?
  /// Maximum share of the capacity that pinned entries may take.
  var pinnedShare = 0.5

  /// The segment size: 16 MiB, unless the capacity would then have fewer than 16 segments, or so many that their open
  /// files matter.
  ///
  /// The size follows a change of the capacity: a log with few segments, or with less than one, loses everything when
  /// it makes room.
  func segmentSize(for capacity: Int) -> Int {
    if let segmentSize { return min(segmentSize, capacity / 4) }
    let most = min(16 << 20, capacity / 16)
    let size = max(DiskFormat.minimumSegmentSize, most, capacity / 256)
    return min(size, DiskFormat.maximumSegmentSize) & ~4095
  }

  /// The number of marks that fit into a sixteenth of a segment, because every segment begins with all marks.
  func markLimit(for capacity: Int) -> Int { segmentSize(for: capacity) / 256 }

  /// Maximum bytes of pinned entries.
  func pinLimit(for capacity: Int) -> Int { Int(Double(capacity) * pinnedShare) }

  /// Maximum bytes of the file with the pinned keys.
  func pinFileLimit(for capacity: Int) -> Int { min(PinFile.maximumSize, capacity / 64) }

  func largeBodyThreshold(for capacity: Int) -> Int {
    min(largeBodyThreshold, segmentSize(for: capacity) / 4)
  }
}
