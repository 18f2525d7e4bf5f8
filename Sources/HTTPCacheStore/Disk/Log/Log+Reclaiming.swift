import Synchronization
import SystemPackage

extension DiskTier {
  /// What of a segment, at most, is copied forward when it is reclaimed: whatever is hit, a byte that is stored costs no
  /// more than 1.25 that are written.
  private func carryBudget(_ log: Log) -> Int { segmentSize(log) / 5 }

  /// Makes room for a record before it is appended, and writes the buffer where it fills up with what is carried
  /// forward. To be called without any lock.
  func prepareRoom(for count: Int) {
    awaitBuffer()
    guard options.writeBuffer > 0 else { return }
    var turns: Int?
    while withLog({ log in !makeRoomWhileBufferLasts(for: count, turns: &turns, log: &log) }) {
      flushBuffer()
    }
  }

  private func makeRoomWhileBufferLasts(for count: Int, turns: inout Int?, log: inout Log) -> Bool {
    let needed = room(for: count)
    guard !log.isClosed, !log.health.isPausing, needed + log.reserved <= log.capacity else { return true }
    var left = turns ?? log.segments.count
    defer { turns = left }
    while log.used + needed > log.capacity - carryBudget(log), left > 0, log.segments.count > 1 {
      guard carryForward(log.segments[0], log: &log) else { return false }
      guard reclaimOldest(carrying: false, log: &log) else { return true }
      left -= 1
    }
    return true
  }

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
    if carrying, log.segments.count > 1 { _ = carryForward(oldest, log: &log) }
    let (evicted, orphans) = catalog.withLock { catalog in
      let slots = catalog.index.slots(in: oldest.number)
      return (slots.count, slots.compactMap { catalog.index.remove($0) })
    }
    counters.evictions.increment(by: evicted)
    for orphan in orphans { removeBodyFile(orphan, log: &log) }
    return removeOldestFile(log: &log)
  }

  /// Unlinks the oldest segment's file. Its entries must be out of the index.
  private func removeOldestFile(log: inout Log) -> Bool {
    guard isInPlace(&log), let oldest = log.segments.first else { return false }
    catalog.withLock { $0.files[oldest.number] = nil }
    anchorNames(&log)
    do throws(FileFailure) {
      try files.unlink(oldest.file.path)
    } catch {
      counters.ioErrors.increment()
      // As good as gone: an opening finds nothing in it.
      if (try? oldest.file.truncate(to: 0)) == nil {
        // Its records would be found again at the next opening: whatever is removed until then must be logged.
        log.segments[0].isSealed = true
        log.suspectsAll = true
        return false
      }
    }
    log.used -= oldest.count
    log.needsSync = true
    log.segments.removeFirst()
    return true
  }

  /// Sees to it that a newer segment is there after a loss of power, before the oldest is unlinked.
  ///
  /// The names of files may reach the disk in any order. If the oldest is gone then, which may have had removals, and still
  /// older ones are back, it is the gap before the newer one that tells.
  private func anchorNames(_ log: inout Log) {
    guard options.sync != .never, !log.segments.dropFirst().contains(where: { !$0.isNew }) else { return }
    do throws(FileFailure) {
      try files.syncDirectory(directory)
      for index in log.segments.indices { log.segments[index].isNew = false }
    } catch {
      counters.ioErrors.increment()
      log.health.fail(error)
    }
  }

  /// Copies what was hit to the log's end, as far as the budget goes. `false` when the buffer is full before.
  private func carryForward(_ oldest: Log.Segment, log: inout Log) -> Bool {
    if log.carried.segment != oldest.number { log.carried = (oldest.number, 0) }
    var budget = carryBudget(log) - log.carried.bytes
    for slot in catalog.withLock({ $0.index.slots(in: oldest.number) { $0.isHit } }) {
      let entry = catalog.withLock { $0.index[slot] }
      let count = Int(entry.location.count)
      if options.writeBuffer > 0, log.buffer.count >= options.writeBuffer { return false }
      guard count <= budget, log.used + room(for: count) <= log.capacity else { continue }
      guard let (header, record) = mergedRecord(of: entry, in: oldest.file) else { continue }
      guard record.count <= budget, log.used + room(for: record.count) <= log.capacity,
        let location = try? write(RecordBytes(record), header, log: &log)
      else { return true }
      budget -= record.count
      log.carried.bytes += record.count
      let bodyFileSize = catalog.withLock { catalog in
        catalog.index.move(slot, to: location)
        return catalog.index.bodyFiles[header.id]?.size ?? 0
      }
      log.segments[log.segments.count - 1].bodyFileBytes += bodyFileSize
      counters.carries.increment()
    }
    return true
  }

  /// An entry's record with its latest metadata; `nil` when it cannot be read whole, and is then left to die.
  private func mergedRecord(of entry: DiskIndexEntry, in file: any File) -> (RecordHeader, [UInt8])? {
    guard let record = bytes(at: entry.location, in: file),
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
      let updateRecord = bytes(at: location, in: updateFile),
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

  private func bytes(at location: RecordLocation, in file: any File) -> [UInt8]? {
    catalog.withLock { $0.buffered(at: location) }?.joined
      ?? (try? file.read(Int(location.count), at: Int(location.offset)))
  }

  /// Unlinks everything, oldest first, so that what is left after a crash halfway is the end of the log.
  ///
  /// An empty segment stays: its header tells which numbers were given.
  func wipe(log: inout Log) {
    let orphans = catalog.withLock { catalog in
      let orphans = Array(catalog.index.bodyFiles.values)
      catalog.index = DiskIndex()
      catalog.unbufferAll()
      return orphans
    }
    // Of files that go.
    log.buffer.drop()
    if !log.segments.isEmpty { sealWithoutSummary(&log) }
    var kept = 0
    if log.used + room(for: 0) <= log.capacity, !log.segments.isEmpty, (try? beginSegment(&log)) != nil {
      kept = 1
    }
    while log.segments.count > kept {
      guard removeOldestFile(log: &log) else { break }
    }
    for orphan in orphans + log.buffer.takeOrphans() { removeBodyFile(orphan, log: &log) }
    if log.segments.count == kept {
      log.suspects = []
      log.suspectsAll = false
    }
  }
}
