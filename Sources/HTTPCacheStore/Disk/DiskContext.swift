// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// What all parts of the disk tier share: constants, and objects that any thread may use.
struct DiskContext: Sendable {
  let directory: FilePath
  let files: any FileSystem
  let hasher: KeyHasher
  let options: DiskOptions
  let sequence: SequenceNumbers
  /// Advanced when the disk has changed; see ``CacheStore``.
  let changes: StripedCounters
  let marks: ScopeMarks
  let counters: DiskCounters

  func path(_ name: String) -> FilePath { directory.appending(name) }

  /// What a record takes beside its own bytes, at the most: its row in a summary, and a segment that is begun for it.
  private static let recordOverhead = RecordHeader.size + SegmentSummary.footerSize + 2 * 48

  /// The room that a record of so many bytes needs.
  func room(for count: Int) -> Int { count + segmentStartSize + Self.recordOverhead }

  /// What a segment begins with.
  private var segmentStartSize: Int {
    let count = marks.count
    return DiskFormat.segmentHeaderSize + (count == 0 ? 0 : RecordHeader.size + count * 16)
  }
}
