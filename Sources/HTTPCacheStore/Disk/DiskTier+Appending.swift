import Synchronization
import SystemPackage

extension DiskTier {
  /// Appends a record to the log, making room for it.
  func append(_ record: [UInt8], log: inout Log) throws(AppendFailure) -> RecordLocation {
    guard makeRoom(record.count + segmentStartSize, log: &log) else { throw .noRoom }
    return try write(record, log: &log)
  }

  /// Writes a record for which there is room at the end of the log.
  private func write(_ record: [UInt8], log: inout Log) throws(AppendFailure) -> RecordLocation {
    guard record.count <= segmentSize(log) - segmentStartSize else { throw .noRoom }
    let last = try activeSegment(for: record.count, log: &log)
    let offset = log.segments[last].count
    let location = RecordLocation(
      segment: log.segments[last].number, offset: UInt32(offset), count: UInt32(record.count))
    log.used += record.count
    log.segments[last].isDirty = true
    do throws(FileFailure) {
      try log.segments[last].file.write(record, at: offset)
    } catch {
      counters.ioErrors.increment()
      if (try? log.segments[last].file.truncate(to: offset)) != nil {
        log.used -= record.count
      } else {
        // What is there of the record looks like a torn tail, and nothing may follow it.
        log.segments[last].count += record.count
        log.segments[last].isSealed = true
      }
      throw .inputOutput
    }
    log.segments[last].count += record.count
    return location
  }

  private func activeSegment(for count: Int, log: inout Log) throws(AppendFailure) -> Int {
    if let last = log.segments.last, !last.isSealed {
      if last.count + count <= segmentSize(log), last.bodyFileBytes < segmentSize(log) {
        return log.segments.count - 1
      }
      log.segments[log.segments.count - 1].isSealed = true
    }
    let number = log.nextNumber
    let path = directory.appending(DiskFormat.segmentName(number))
    let start = segmentStart(number: number)
    guard start.count + count <= segmentSize(log), log.used + start.count + count <= log.capacity else {
      throw .noRoom
    }
    do throws(FileFailure) {
      let file = try files.open(path, creating: true)
      do throws(FileFailure) {
        try file.write(start, at: 0)
      } catch {
        try? files.unlink(path)
        throw error
      }
      log.nextNumber += 1
      log.used += start.count
      log.segments.append(
        Log.Segment(number: number, file: file, count: start.count, isDirty: true, isNew: true))
      catalog.withLock { $0.files[number] = file }
      return log.segments.count - 1
    } catch {
      counters.ioErrors.increment()
      throw .inputOutput
    }
  }

  /// What a segment begins with: its header, and all marks there are. Those made later follow as records of their own.
  private func segmentStart(number: UInt32) -> [UInt8] {
    let header = DiskFormat.segmentHeader(number, hasher: hasher)
    let snapshot = marks.snapshot
    return snapshot.isEmpty ? header : header + Record.encode(snapshot, hasher: hasher)
  }

  private var segmentStartSize: Int {
    let count = marks.count
    return DiskFormat.segmentHeaderSize + (count == 0 ? 0 : RecordHeader.size + count * 16)
  }

  // MARK: Reclaiming

  /// What of a segment, at most, is copied forward when it is reclaimed.
  private func carryBudget(_ log: Log) -> Int { segmentSize(log) / 2 }

  private func segmentSize(_ log: Log) -> Int { options.segmentSize(for: log.capacity) }

  /// Reclaims segments, oldest first, until this many more bytes fit.
  func makeRoom(_ needed: Int, log: inout Log) -> Bool {
    // A capacity that was lowered is to be kept as far as possible, whatever bodies in the making have reserved.
    guard needed == 0 || needed + log.reserved <= log.capacity else { return false }
    let carryBudget = carryBudget(log)
    // Room for what is carried forward is kept free, for it is copied before its segment goes.
    var turns = log.segments.count
    while log.used + needed > log.capacity - carryBudget, !log.segments.isEmpty {
      // Once around; entries that are hit all the time must not keep this going for ever.
      guard reclaimOldest(carrying: turns > 0, log: &log) else { break }
      turns -= 1
    }
    return log.used + needed <= log.capacity
  }

  /// Removes the oldest segment and its entries, but for those hit since they were written, which go to the log's end.
  func reclaimOldest(carrying: Bool, log: inout Log) -> Bool {
    guard let oldest = log.segments.first else { return false }
    if carrying, log.segments.count > 1 { carryForward(oldest, log: &log) }
    var evicted = 0
    let orphans = catalog.withLock { catalog in
      var orphans: [(number: UInt64, size: Int)] = []
      for slot in oldest.slots where catalog.index[slot].location.segment == oldest.number {
        evicted += 1
        if let orphan = catalog.index.remove(slot) { orphans.append(orphan) }
      }
      catalog.files[oldest.number] = nil
      return orphans
    }
    counters.evictions.increment(by: evicted)
    for orphan in orphans { removeBodyFile(orphan, log: &log) }
    return removeOldestFile(log: &log)
  }

  /// Unlinks the oldest segment's file. Its entries must be out of the index.
  private func removeOldestFile(log: inout Log) -> Bool {
    let oldest = log.segments[0]
    do throws(FileFailure) {
      try files.unlink(oldest.file.path)
    } catch {
      counters.ioErrors.increment()
      // Its records would be found again at the next opening: whatever is removed until then must be logged.
      log.segments[0].isSealed = true
      log.segments[0].slots = []
      log.suspectsAll = true
      return false
    }
    log.used -= oldest.count
    log.needsSync = true
    log.segments.removeFirst()
    return true
  }

  private func carryForward(_ oldest: Log.Segment, log: inout Log) {
    var budget = carryBudget(log)
    for slot in oldest.slots {
      let entry = catalog.withLock { $0.index[slot] }
      guard entry.location.segment == oldest.number, entry.isHit else { continue }
      let count = Int(entry.location.count)
      guard count <= budget, log.used + count + segmentStartSize <= log.capacity else { continue }
      guard let (header, record) = mergedRecord(of: entry, in: oldest.file) else { continue }
      guard record.count <= budget,
        log.used + record.count + segmentStartSize <= log.capacity,
        let location = try? write(record, log: &log)
      else { return }
      budget -= record.count
      let bodyFileSize = catalog.withLock { catalog in
        catalog.index[slot].location = location
        catalog.index[slot].isHit = false
        catalog.index[slot].hasUpdate = false
        catalog.index.updates[header.id] = nil
        return catalog.index.bodyFiles[header.id]?.size ?? 0
      }
      let last = log.segments.count - 1
      log.segments[last].slots.append(slot)
      log.segments[last].bodyFileBytes += bodyFileSize
      counters.carries.increment()
    }
  }

  /// An entry's record with its latest metadata; `nil` when it cannot be read whole, and is then left to die.
  private func mergedRecord(of entry: DiskIndexEntry, in file: any File) -> (RecordHeader, [UInt8])? {
    guard let record = try? file.read(Int(entry.location.count), at: Int(entry.location.offset)),
      var header = Record.verifiedHeader(record, hasher: hasher), header.id == entry.id
    else { return nil }
    let body = record[header.bodyRange]
    guard header.kind != .entry || hasher.checksum(body) == header.bodyChecksum else { return nil }
    guard entry.hasUpdate else { return (header, record) }
    let update = catalog.withLock { catalog -> (RecordLocation, any File)? in
      guard let location = catalog.index.updates[entry.id]?.location,
        let file = catalog.files[location.segment]
      else { return nil }
      return (location, file)
    }
    guard let (location, updateFile) = update,
      let updateRecord = try? updateFile.read(Int(location.count), at: Int(location.offset)),
      let newer = Record.verifiedHeader(updateRecord, hasher: hasher), newer.id == entry.id
    else { return nil }
    let key = record[RecordHeader.size..<RecordHeader.size + header.keyCount]
    header.revision = newer.revision
    header.storedAt = newer.storedAt
    let merged = Record.encode(
      &header, key: key, metadata: updateRecord[newer.metadataRange],
      inlineBody: header.kind == .entry ? body : nil, hasher: hasher)
    return (header, merged)
  }

  // MARK: Body files

  /// Reserves bytes for a body file in the making. `false` when there is no room, or no store any more.
  func reserveBody(_ bytes: Int) -> Bool {
    withLog { log in
      guard !log.isClosed, makeRoom(bytes, log: &log) else { return false }
      log.used += bytes
      log.reserved += bytes
      return true
    }
  }

  /// Ends a reservation: the file is an entry's now.
  func keepBodyFile(_ number: UInt64, reserved: Int) {
    withLog { log in
      log.reserved -= reserved
      log.unsyncedBodies.insert(number)
    }
  }

  /// Makes a new, empty body file.
  ///
  /// Under the log's lock, as is the removal: after the store was closed the directory may be another's, with files of
  /// the same names.
  func createBodyFile() throws(AppendFailure) -> (number: UInt64, file: any File) {
    let created = withLog { log -> (UInt64, any File)? in
      guard !log.isClosed else { return nil }
      let number = sequence.take()
      do throws(FileFailure) {
        return (number, try files.open(directory.appending(DiskFormat.bodyName(number)), creating: true))
      } catch {
        counters.ioErrors.increment()
        return nil
      }
    }
    guard let created else { throw .inputOutput }
    return created
  }

  /// Removes a body file in the making. When the store is closed, the next opening does.
  func discardBodyFile(_ number: UInt64, reserved: Int) {
    withLog { log in
      log.reserved -= reserved
      guard !log.isClosed else { return }
      removeBodyFile((number, reserved), log: &log)
    }
  }

  /// Unlinks a body file that no entry names any more.
  func removeBodyFile(_ file: (number: UInt64, size: Int), log: inout Log) {
    log.unsyncedBodies.remove(file.number)
    do throws(FileFailure) {
      try files.unlink(directory.appending(DiskFormat.bodyName(file.number)))
      log.used -= file.size
    } catch {
      // It stays, and stays counted, until the next opening finds that nothing names it.
      counters.ioErrors.increment()
    }
  }

  /// Unlinks everything, oldest first, so that what is left after a crash halfway is the end of the log.
  func wipe(log: inout Log) {
    let orphans = catalog.withLock { catalog in
      let orphans = Array(catalog.index.bodyFiles.values)
      catalog = Catalog()
      return orphans
    }
    for index in log.segments.indices { log.segments[index].slots = [] }
    while !log.segments.isEmpty {
      guard removeOldestFile(log: &log) else { break }
    }
    for orphan in orphans { removeBodyFile(orphan, log: &log) }
    if log.segments.isEmpty {
      log.suspects = []
      log.suspectsAll = false
    }
  }
}
