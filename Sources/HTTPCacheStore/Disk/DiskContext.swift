// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

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
