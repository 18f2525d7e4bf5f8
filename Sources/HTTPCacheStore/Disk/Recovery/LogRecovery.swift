// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// Rebuilds the index from the log when a directory is opened.
///
/// Of a segment that has a summary only that is read; of any other the headers of its records, and bodies are skipped.
/// `Format.md` says what is made of damage.
struct LogRecovery {
  /// What the log came to.
  struct Result: Sendable {
    var segments: [Log.Segment] = []
    /// Of the records of the last segment that no summary tells of.
    var summary = SegmentSummary()
    var nextNumber: UInt32 = 1
    /// The bytes of segments and body files, and of the summary that is still to be written.
    var used = 0
    /// Something was misread that may read well the next time; see `Suspects`.
    var hasSuspects = false
    var catalog = Catalog.Contents()
    var marks = ScopeMarks.Snapshot()
    /// Nothing that was found has a higher number.
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
    /// The last record was never finished; nothing acknowledged is behind this offset.
    case torn(Int)
    /// Nobody knows what is behind.
    case damaged
  }

  func run(names: [String]) throws(FileFailure) -> Result {
    var result = Result()
    // Before the log is: who only looks at a directory in use must not find the note of what came after that.
    let acknowledged = try acknowledgedRemoval(names)
    let numbers = try survivors(names)
    for (index, number) in numbers.enumerated() {
      try recover(number, remaining: numbers.count - index, &result)
      progress?(OpeningProgress(segmentsRead: index + 1, segments: numbers.count))
    }
    for index in result.segments.indices.dropLast() { result.segments[index].isSealed = true }
    if let acknowledged, acknowledged > result.lastSequence { dropAll(before: acknowledged, &result) }
    if result.segments.last?.isSealed ?? true { result.summary = SegmentSummary() }
    // Room for the summary that is still to be written.
    result.used += result.summary.recordCount
    try settleBodyFiles(names, &result)
    result.catalog.index.trim()
    // What was misread may read well the next time, and need marks that seem to be of no use now.
    if !result.hasSuspects, !result.marks.isEmpty {
      result.marks.drop(upTo: result.catalog.index.lowestID ?? .max)
    }
    return result
  }

  /// The number of the latest removal that the log must have; `nil` where nobody noted one.
  private func acknowledgedRemoval(_ names: [String]) throws(FileFailure) -> UInt64? {
    guard names.contains(DiskFormat.removalsName) else { return nil }
    let file = try files.open(directory.appending(DiskFormat.removalsName), creating: false)
    return try file.read(AcknowledgedRemovals.fileSize, at: 0)
      .flatMap { AcknowledgedRemovals.number(in: $0, hasher: hasher) }
  }

  /// A removal is missing, and nobody knows of what. What follows is behind a gap in the numbers, so that the next opening
  /// drops the same again.
  private func dropAll(before removal: UInt64, _ result: inout Result) {
    // Without it, numbers would begin again below the note, and the next opening take that for the same.
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
      // None was ever made like that.
      end = .damaged
    } else if let chain = try summaries(of: segment) {
      let rows = chain.reduce(0) { $0 + $1.count }
      // Segments are alike: the first tells how many entries there will be.
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
      // The removals that damage has swallowed may have been of anything before it.
      result.catalog.index = DiskIndex()
      // What was misread once may read well the next time: a removal until then must be logged to count.
      result.hasSuspects = true
    }
    // Without even its first record, nobody knows whether it was to begin with marks. The next one does.
    if segment.count <= DiskFormat.segmentHeaderSize { segment.isSealed = true }
    result.used += segment.count
    result.segments.append(segment)
    result.nextNumber = number + 1
  }

  /// The segments after the last gap in the numbers. The others are removed.
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

  /// The summaries of a segment that ends with one, the first of them first; `nil` if any is missing.
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

  /// `nil` when a table does not say what this version knows; scanning finds out.
  private func apply(
    _ chain: [SegmentSummary], of segment: inout Log.Segment, _ result: inout Result
  ) throws(FileFailure) -> End? {
    var marks: [SegmentSummary.Row] = []
    result.summary = SegmentSummary()
    for summary in chain {
      let isKnown = summary.forEach(below: segment.count) { row in
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
      switch header.kind {
      case .marks:
        // A mark that cannot be read may have been of anything before it.
        guard try addMarks(at: offset, count: header.recordCount, of: segment, &result) else {
          return .damaged
        }
      case .summary:
        let isWhole =
          try SegmentSummary.read(
            from: segment.file, endingAt: end, segment: segment.number, hasher: hasher) != nil
        // One that is not is left out: the next will be of the records before it too.
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

  /// Removes body files that nothing names, and entries whose body file is not there.
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
