// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// The configuration of the disk tier.
struct DiskOptions: Sendable {
  var segmentSize: Int?
  var largeBodyThreshold: Int
  var variantsPerKey: Int
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

/// The constants, and the thread-safe objects, that all parts of the disk tier share.
struct DiskContext: Sendable {
  let directory: FilePath
  let files: any FileSystem
  let hasher: KeyHasher
  let options: DiskOptions
  let sequence: SequenceNumbers
  /// Advanced after the disk has changed; see ``CacheStore``.
  let changes: StripedCounters
  let invalidations: Invalidations
  let counters: DiskCounters
  let openBodies = OpenBodies()

  func path(_ name: String) -> FilePath { directory.appending(name) }

  /// Maximum bytes that a record takes in addition to its own: its row in a summary, and a segment that begins with it.
  private static let recordOverhead = RecordHeader.size + SegmentSummary.footerSize + 2 * 48

  /// The bytes that a record of this size needs.
  func room(for count: Int) -> Int { count + segmentStartSize + Self.recordOverhead }

  /// The number of bytes that a segment begins with.
  private var segmentStartSize: Int {
    let count = invalidations.markCount
    return DiskFormat.segmentHeaderSize + (count == 0 ? 0 : RecordHeader.size + count * 16)
  }
}
