import Synchronization
import SystemPackage

extension DiskTier {
  /// What a record takes beside its own bytes, at the most: its row in a summary, and a segment that is begun for it.
  private static let recordOverhead = RecordHeader.size + SegmentSummary.footerSize + 2 * 48

  /// The room that a record of so many bytes needs.
  func room(for count: Int) -> Int { count + segmentStartSize + Self.recordOverhead }

  /// Appends a record to the log, making room for it.
  func append(_ record: [UInt8], _ header: RecordHeader, log: inout Log) throws(AppendFailure)
    -> RecordLocation
  {
    try append(RecordBytes(record), header, log: &log)
  }

  func append(_ record: RecordBytes, _ header: RecordHeader, log: inout Log) throws(AppendFailure)
    -> RecordLocation
  {
    guard makeRoom(room(for: record.count), log: &log) else { throw .noRoom }
    return try write(record, header, log: &log)
  }

  /// Writes a record for which there is room at the end of the log.
  func write(_ record: RecordBytes, _ header: RecordHeader, log: inout Log) throws(AppendFailure)
    -> RecordLocation
  {
    guard room(for: record.count) <= segmentSize(log) else { throw .noRoom }
    try openSegment(for: record.count, header.kind, log: &log)
    let last = log.segments.count - 1
    let location = try writeToLast(record, log: &log)
    log.segments[last].isDirty = true
    log.used += log.summary.growth(header.kind)
    log.summary.add(
      SegmentSummary.Row(header, offset: Int(location.offset)), highest: max(header.id, header.revision))
    return location
  }

  private func writeToLast(_ record: RecordBytes, log: inout Log) throws(AppendFailure) -> RecordLocation {
    let last = log.segments.count - 1
    let offset = log.segments[last].count
    let location = RecordLocation(
      segment: log.segments[last].number, offset: UInt32(offset), count: UInt32(record.count))
    if options.writeBuffer > 0 {
      buffer(record, log: &log)
      return location
    }
    log.used += record.count
    do throws(FileFailure) {
      try log.segments[last].file.write(record.joined, at: offset)
    } catch {
      counters.ioErrors.increment()
      log.health.fail(error)
      if (try? log.segments[last].file.truncate(to: offset)) != nil {
        log.used -= record.count
      } else {
        // What is there of the record looks like a torn tail, and nothing may follow it.
        log.segments[last].count += record.count
        sealWithoutSummary(&log)
      }
      throw .inputOutput
    }
    log.health.succeed("write")
    log.segments[last].count += record.count
    counters.bytesWritten.increment(by: record.count)
    return location
  }

  /// Adds bytes to the last segment that will be written to its file later.
  private func buffer(_ bytes: RecordBytes, log: inout Log) {
    let last = log.segments.count - 1
    let piece = WriteBuffer.Piece(
      segment: log.segments[last].number, file: log.segments[last].file, offset: log.segments[last].count,
      bytes: bytes)
    log.buffer.append(piece)
    log.segments[last].count += bytes.count
    log.used += bytes.count
    catalog.withLock { $0.buffer(piece) }
    scheduleFlush(&log)
  }

  // MARK: Segments

  /// Sees to it that the last segment takes a record of so many bytes, beginning another if need be.
  private func openSegment(
    for count: Int, _ kind: RecordHeader.Kind, log: inout Log
  ) throws(AppendFailure) {
    if let last = log.segments.last, !last.isSealed {
      let end = last.count + count + log.summary.recordCount + log.summary.growth(kind)
      if end <= segmentSize(log), last.bodyFileBytes < segmentSize(log) { return }
      seal(&log)
    }
    guard log.used + room(for: count) <= log.capacity else { throw .noRoom }
    try beginSegment(&log)
  }

  /// Begins a segment with a header, and all marks there are. Those made later follow as records of their own.
  func beginSegment(_ log: inout Log) throws(AppendFailure) {
    guard isInPlace(&log) else { throw .inputOutput }
    let number = log.nextNumber
    let path = directory.appending(DiskFormat.segmentName(number))
    let floor = sequence.upcoming
    var start = DiskFormat.segmentHeader(number, floor: floor, hasher: hasher)
    log.summary = SegmentSummary(floor: floor)
    let snapshot = marks.snapshot
    if !snapshot.isEmpty {
      let (header, record) = Record.encode(snapshot, hasher: hasher)
      log.summary.add(SegmentSummary.Row(header, offset: start.count), highest: header.id)
      start += record
    }
    do throws(FileFailure) {
      let file = try files.open(path, creating: true)
      let isBuffered = options.writeBuffer > 0
      do throws(FileFailure) {
        if !isBuffered { try file.write(start, at: 0) }
      } catch {
        try? files.unlink(path)
        throw error
      }
      log.health.succeed("create")
      log.nextNumber += 1
      log.used += log.summary.recordCount
      log.segments.append(Log.Segment(number: number, file: file, count: 0, isDirty: true, isNew: true))
      catalog.withLock { $0.files[number] = file }
      if isBuffered {
        buffer(RecordBytes(start), log: &log)
      } else {
        log.used += start.count
        log.segments[log.segments.count - 1].count = start.count
        counters.bytesWritten.increment(by: start.count)
      }
    } catch {
      log.summary = SegmentSummary()
      counters.ioErrors.increment()
      log.health.fail(error)
      throw .inputOutput
    }
  }

  /// Ends the last segment with a summary of its records.
  private func seal(_ log: inout Log) {
    writeSummary(&log)
    if log.segments.last?.isSealed == false { sealWithoutSummary(&log) }
  }

  /// Nothing follows in the last segment; opening will look at all its records.
  func sealWithoutSummary(_ log: inout Log) {
    log.used -= log.summary.recordCount
    log.summary = SegmentSummary()
    log.segments[log.segments.count - 1].isSealed = true
  }

  /// Writes what opening needs to know of the records since the last summary.
  func writeSummary(_ log: inout Log) {
    guard let last = log.segments.last, !last.isSealed, log.summary.count > 0 else { return }
    let record = log.summary.record(at: last.count, segment: last.number, hasher: hasher)
    // Its room is reserved.
    log.used -= record.count
    let highest = log.summary.highest
    log.summary = SegmentSummary()
    guard (try? writeToLast(RecordBytes(record), log: &log)) != nil else {
      // Opening looks at the records instead, and those that follow would not be told from these.
      if log.segments.last?.isSealed == false { sealWithoutSummary(&log) }
      return
    }
    log.segments[log.segments.count - 1].isDirty = true
    log.summary.raise(highest)
    log.summary.begin(after: last.count + record.count)
  }

  /// What a segment begins with.
  private var segmentStartSize: Int {
    let count = marks.count
    return DiskFormat.segmentHeaderSize + (count == 0 ? 0 : RecordHeader.size + count * 16)
  }

  func segmentSize(_ log: Log) -> Int { options.segmentSize(for: log.capacity) }
}
