// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// Rebuilds the index from the log when a directory is opened.
///
/// If a segment has a summary, only the summary is read. Otherwise the headers of its records are read, and bodies are
/// skipped. `Format.md` says how damage is handled.
struct LogRecovery {
  /// The result of a recovery.
  struct Result: Sendable {
    var segments: [Log.Segment] = []
    /// The summary of the last segment's records that no summary in the file covers.
    var summary = SegmentSummary()
    var nextNumber: UInt32 = 1
    /// Bytes of segments and body files, and of the summary that is still to be written.
    var used = 0
    /// Whether something was misread that may be readable the next time; see `Suspects`.
    var hasSuspects = false
    var catalog = Catalog.Contents()
    var marks = Invalidations.Marks()
    /// The highest number that was found.
    var lastSequence: UInt64 = 0
  }

  let directory: FilePath
  let files: any FileSystem
  let hasher: KeyHasher
  let counters: DiskCounters
  var progress: (@Sendable (OpeningProgress) -> Void)?

  /// How the reading of a segment ended.
  private enum End {
    case whole
    /// The last record was never finished; nothing after this offset was acknowledged.
    case torn(Int)
    /// What follows is unknown.
    case damaged
  }

  func run(names: [String]) throws(FileFailure) -> Result {
    var result = Result()
    // Before the log is read: an inspection of a directory in use must not find the note of a later removal.
    let acknowledged = try acknowledgedRemoval(names)
    let numbers = try survivors(names)
    for (index, number) in numbers.enumerated() {
      try recover(number, remaining: numbers.count - index, &result)
      progress?(OpeningProgress(segmentsRead: index + 1, segments: numbers.count))
    }
    for index in result.segments.indices.dropLast() { result.segments[index].isSealed = true }
    if let acknowledged, acknowledged > result.lastSequence { dropAll(before: acknowledged, &result) }
    if result.segments.last?.isSealed ?? true { result.summary = SegmentSummary() }
    // Reserve room for the summary that is still to be written.
    result.used += result.summary.recordCount
    try settleBodyFiles(names, &result)
    result.catalog.index.trim()
    // Misread records may be readable the next time, and then need marks that seem useless now.
    if !result.hasSuspects, !result.marks.isEmpty {
      result.marks.drop(upTo: result.catalog.index.lowestID ?? .max)
    }
    return result
  }

  /// Returns the number of the latest removal that the log must have; `nil` if none was noted.
  private func acknowledgedRemoval(_ names: [String]) throws(FileFailure) -> UInt64? {
    guard names.contains(DiskFormat.removalsName) else { return nil }
    let file = try files.open(directory.appending(DiskFormat.removalsName), creating: false)
    return try file.read(AcknowledgedRemovals.fileSize, at: 0)
      .flatMap { AcknowledgedRemovals.number(in: $0, hasher: hasher) }
  }

  /// Drops everything, because an unknown removal is missing. New segments follow after a gap in the numbers, so that
  /// the next opening drops the same again.
  private func dropAll(before removal: UInt64, _ result: inout Result) {
    // Otherwise numbers would begin again below the note, and the next opening would take the note for one of them.
    result.lastSequence = removal
    guard let last = result.segments.indices.last else { return }
    counters.corruptRecords.increment()
    result.catalog.index = DiskIndex()
    result.segments[last].isSealed = true
    result.nextNumber += 1
    result.hasSuspects = true
  }

  private func recover(_ number: UInt32, remaining: Int, _ result: inout Result) throws(FileFailure) {
    let file = try files.open(directory.appending(DiskFormat.segmentName(number)), creating: false)
    var segment = Log.Segment(number: number, file: file, count: try file.size(), isSealed: true)
    result.catalog.files[number] = file
    var end: End?
    if segment.count > DiskFormat.maximumSegmentSize {
      // The store never makes such a segment.
      end = .damaged
    } else if let chain = try summaries(of: segment) {
      let rows = chain.reduce(0) { $0 + $1.count }
      // Segments are alike: the first one predicts the number of entries.
      if result.catalog.index.count == 0 { result.catalog.index.reserve(rows * remaining) }
      end = try apply(chain, of: &segment, &result)
    }
    if end == nil { end = try scan(&segment, &result) }
    switch end ?? .damaged {
    case .whole:
      segment.isSealed = false
    case .torn(let offset):
      if segment.count > offset { counters.corruptRecords.increment() }
      try file.truncate(to: offset)
      segment.count = offset
      segment.isSealed = false
    case .damaged:
      counters.corruptRecords.increment()
      // The removals lost in the damage may concern anything before it.
      result.catalog.index = DiskIndex()
      // Misread records may be readable the next time: a removal until then counts only if it is logged.
      result.hasSuspects = true
    }
    // Without even a first record, it is unknown whether the segment should begin with marks. The next segment does.
    if segment.count <= DiskFormat.segmentHeaderSize { segment.isSealed = true }
    result.used += segment.count
    result.segments.append(segment)
    result.nextNumber = number + 1
  }

  /// Returns the segments after the last gap in the numbers, and removes the others.
  private func survivors(_ names: [String]) throws(FileFailure) -> [UInt32] {
    let numbers = names.compactMap(DiskFormat.segmentNumber).sorted()
    var first = numbers.endIndex
    while first > 0, first == numbers.endIndex || numbers[first - 1] + 1 == numbers[first] { first -= 1 }
    for number in numbers[..<first] {
      try files.unlink(directory.appending(DiskFormat.segmentName(number)))
    }
    return Array(numbers[first...])
  }

  // MARK: By summaries

  /// Returns the summaries of a segment that ends with one, in order; `nil` if any is missing.
  private func summaries(of segment: Log.Segment) throws(FileFailure) -> [SegmentSummary]? {
    var chain: [SegmentSummary] = []
    var end = segment.count
    while end > 0 {
      guard
        let summary = try SegmentSummary.read(
          from: segment.file, endingAt: end, segment: segment.number, hasher: hasher)
      else { return nil }
      chain.append(summary)
      end = summary.previousEnd
    }
    return chain.reversed()
  }

  /// Applies the rows of the summaries. Returns `nil` if a table contains rows that this version does not know; the
  /// caller then scans.
  private func apply(
    _ chain: [SegmentSummary], of segment: inout Log.Segment, _ result: inout Result
  ) throws(FileFailure) -> End? {
    var marks: [SegmentSummary.Row] = []
    var isFirst = true
    result.summary = SegmentSummary()
    for summary in chain {
      let isKnown = summary.forEach(below: segment.count) { row in
        if isFirst { result.marks = Invalidations.Marks() }
        isFirst = false
        if row.kind == .marks { marks.append(row) } else { apply(row, segment: &segment, &result) }
      }
      guard isKnown else { return nil }
      result.summary.raise(summary.highest)
      result.lastSequence = max(result.lastSequence, summary.highest)
    }
    for row in marks {
      guard try addMarks(at: Int(row.offset), count: Int(row.count), of: segment, &result) else {
        return .damaged
      }
    }
    result.summary.begin(after: segment.count)
    return .whole
  }

  // MARK: By headers

  private func scan(_ segment: inout Log.Segment, _ result: inout Result) throws(FileFailure) -> End {
    segment.bodyFileBytes = 0
    result.summary = SegmentSummary()
    var window = ScanWindow(file: segment.file, size: segment.count)
    guard let start = try window.bytes(at: 0, count: DiskFormat.segmentHeaderSize) else { return .torn(0) }
    guard let floor = DiskFormat.floor(inHeader: Array(start), of: segment.number, hasher: hasher) else {
      return try window.isZero(from: 0) ? .torn(0) : .damaged
    }
    result.summary = SegmentSummary(floor: floor)
    result.lastSequence = max(result.lastSequence, result.summary.highest)
    var offset = DiskFormat.segmentHeaderSize
    while offset < segment.count {
      guard let bytes = try window.bytes(at: offset, count: RecordHeader.size) else { return .torn(offset) }
      guard let header = bytes.withUnsafeBytes({ RecordHeader($0, hasher: hasher) }) else {
        return try window.isZero(from: offset) ? .torn(offset) : .damaged
      }
      let end = offset + header.recordCount
      guard end <= segment.count else { return .torn(offset) }
      let row = SegmentSummary.Row(header, offset: offset)
      // If there were marks when the segment began, all that were needed are in its first record.
      if offset == DiskFormat.segmentHeaderSize { result.marks = Invalidations.Marks() }
      switch header.kind {
      case .marks:
        // An unreadable mark may concern anything before it.
        guard try addMarks(at: offset, count: header.recordCount, of: segment, &result) else {
          return .damaged
        }
      case .summary:
        let isWhole =
          try SegmentSummary.read(
            from: segment.file, endingAt: end, segment: segment.number, hasher: hasher) != nil
        // A damaged summary is left out: the next one also covers the records before it.
        if isWhole { result.summary.begin(after: end) }
      default:
        apply(row, segment: &segment, &result)
      }
      if header.kind != .summary { result.summary.add(row, highest: max(header.id, header.revision)) }
      result.lastSequence = max(result.lastSequence, header.id, header.revision)
      offset = end
    }
    return .whole
  }

  // MARK: Applying

  private func addMarks(
    at offset: Int, count: Int, of segment: Log.Segment, _ result: inout Result
  ) throws(FileFailure) -> Bool {
    guard let record = try segment.file.read(count, at: offset),
      let made = Record.marks(record, hasher: hasher)
    else { return false }
    result.marks.add(made)
    return true
  }

  private func apply(_ row: SegmentSummary.Row, segment: inout Log.Segment, _ result: inout Result) {
    let location = RecordLocation(segment: segment.number, offset: row.offset, count: row.count)
    switch row.kind {
    case .entry, .entryWithBodyFile:
      if let old = result.catalog.index.slot(for: row.hash, fingerprint: row.fingerprint) {
        result.catalog.index.remove(old)
      }
      guard result.catalog.index.count < DiskIndex.maximumCount else { return }
      let entry = DiskIndexEntry(
        hash: row.hash, fingerprint: row.fingerprint, id: row.id, location: location,
        storedSeconds: row.storedSeconds)
      let slot = result.catalog.index.insert(entry, hash: row.hash)
      if row.kind == .entryWithBodyFile {
        let size = DiskFormat.bodyFileSize(row.bodyCount)
        result.catalog.index.setBodyFile((row.number, size), of: slot)
        segment.bodyFileBytes += size
      }
    case .metadata:
      guard let slot = result.catalog.index.slot(for: row.hash, id: row.id) else { return }
      result.catalog.index.update(
        slot, at: location, revision: row.number, storedSeconds: row.storedSeconds)
    case .removeVariant:
      if let slot = result.catalog.index.slot(for: row.hash, fingerprint: row.fingerprint) {
        result.catalog.index.remove(slot)
      }
    case .removeKey:
      for slot in result.catalog.index.slots(for: row.hash) { result.catalog.index.remove(slot) }
    case .clear:
      _ = result.catalog.index.clear(since: row.storedSeconds)
    case .marks, .summary:
      break
    }
  }

  /// Removes body files that no record names, and entries whose body file is missing.
  private func settleBodyFiles(_ names: [String], _ result: inout Result) throws(FileFailure) {
    var unnamed = Set(names.compactMap(DiskFormat.bodyNumber))
    var missing: [UInt32] = []
    if !result.catalog.index.bodyFiles.isEmpty {
      result.catalog.index.forEach { slot, entry in
        guard entry.hasBodyFile, let file = result.catalog.index.bodyFiles[entry.id] else { return }
        if unnamed.remove(file.number) != nil { result.used += file.size } else { missing.append(slot) }
      }
    }
    for slot in missing {
      counters.corruptRecords.increment()
      result.catalog.index.remove(slot)
    }
    for number in unnamed {
      try files.unlink(directory.appending(DiskFormat.bodyName(number)))
    }
  }
}
