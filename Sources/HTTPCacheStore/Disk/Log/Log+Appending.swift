// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension Log {
  /// Appends a record, and makes room for it.
  ///
  /// It appends nothing while a wipe is unfinished: the wiped entries would come back with the segments that are still
  /// there.
  mutating func append(_ record: RecordBytes, _ header: RecordHeader) throws(AppendFailure) -> RecordLocation
  {
    guard !owesWipe || settleWipe() else { throw .inputOutput }
    let isEntry = header.kind == .entry || header.kind == .entryWithBodyFile
    var room = DiskRoom(bytes: context.room(for: record.count), use: isEntry ? .entry : .change)
    guard case .done = makeRoom(&room) else { throw .noRoom }
    return try write(record, header)
  }

  /// Writes a record to the end of the log, where there is room for it.
  mutating func write(_ record: RecordBytes, _ header: RecordHeader) throws(AppendFailure) -> RecordLocation {
    guard context.room(for: record.count) <= segmentSize else { throw .noRoom }
    try openSegment(for: record.count, header.kind)
    let location = addToBuffer(record)
    segments[segments.count - 1].isDirty = true
    space.used += summary.growth(header.kind)
    summary.add(
      SegmentSummary.Row(header, offset: Int(location.offset)), highest: max(header.id, header.revision))
    return location
  }

  /// Adds bytes to the last segment; they are written to its file later.
  @discardableResult
  private mutating func addToBuffer(_ bytes: RecordBytes) -> RecordLocation {
    let last = segments.count - 1
    let piece = WriteBuffer.Piece(
      segment: segments[last].number, file: segments[last].file, offset: segments[last].count, bytes: bytes)
    buffer.append(piece)
    segments[last].count += bytes.count
    space.used += bytes.count
    catalog.withLock { $0.buffer(piece) }
    return RecordLocation(
      segment: piece.segment, offset: UInt32(piece.offset), count: UInt32(bytes.count))
  }

  // MARK: Segments

  /// Ensures that the last segment can take a record of this size; begins another segment if necessary.
  private mutating func openSegment(for count: Int, _ kind: RecordHeader.Kind) throws(AppendFailure) {
    if let last = segments.last, !last.isSealed {
      let end = last.count + count + summary.recordCount + summary.growth(kind)
      if end <= segmentSize, last.bodyFileBytes < segmentSize { return }
      seal()
      regainCapacity()
    }
    guard space.fits(context.room(for: count)) else { throw .noRoom }
    try beginSegment()
  }

  /// Begins a segment with a header and all marks made so far. Later marks follow as separate records.
  mutating func beginSegment() throws(AppendFailure) {
    guard isInPlace() else { throw .inputOutput }
    let number = nextNumber
    let path = context.path(DiskFormat.segmentName(number))
    let floor = context.sequence.upcoming
    var start = DiskFormat.segmentHeader(number, floor: floor, hasher: context.hasher)
    summary = SegmentSummary(floor: floor)
    let marks = context.invalidations.marks
    if !marks.isEmpty {
      let (header, record) = Record.encode(marks, hasher: context.hasher)
      summary.add(SegmentSummary.Row(header, offset: start.count), highest: header.id)
      start += record
    }
    do throws(FileFailure) {
      let file = try context.files.open(path, creating: true)
      health.succeed("create")
      // Without another large body, no body file would show that the disk works.
      health.succeed(DiskHealth.bodies)
      nextNumber += 1
      space.used += summary.recordCount
      segments.append(Segment(number: number, file: file, count: 0, isDirty: true, isNew: true))
      catalog.withLock { $0.files[number] = file }
      addToBuffer(RecordBytes(start))
    } catch {
      summary = SegmentSummary()
      fail(error)
      throw .inputOutput
    }
  }

  /// Ends the last segment with a summary of its records.
  mutating func seal() {
    writeSummary()
    sealWithoutSummary()
  }

  /// Ends the last segment; an opening will then read all its records.
  mutating func sealWithoutSummary() {
    dropSummary()
    segments[segments.count - 1].isSealed = true
  }

  /// Discards the summary of the last records.
  mutating func dropSummary() {
    space.used -= summary.recordCount
    summary = SegmentSummary()
  }

  /// Writes a summary of the records since the last summary, for the next opening.
  mutating func writeSummary() {
    guard let last = segments.last, !last.isSealed, summary.count > 0 else { return }
    let record = summary.record(at: last.count, segment: last.number, hasher: context.hasher)
    // Its room is already reserved.
    space.used -= record.count
    let highest = summary.highest
    summary = SegmentSummary()
    addToBuffer(RecordBytes(record))
    segments[segments.count - 1].isDirty = true
    summary.raise(highest)
    summary.begin(after: last.count + record.count)
  }
}
