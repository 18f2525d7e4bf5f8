// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension Log {
  /// Maximum bytes of a segment that are carried forward (copied to the log's end) when it is reclaimed. So a stored
  /// byte never costs more than 1.25 written bytes, whichever entries are hit.
  var carryBudget: Int { segmentSize / 5 }

  /// Reclaims segments, oldest first, until there is room for some bytes beside what must stay free: for carrying
  /// forward, because entries are copied before their segment is removed, and for pinned entries.
  ///
  /// Entries that were hit are carried forward, within a budget. Pinned entries are copied to the log's end, and their
  /// segment goes once the copies are durable. A caller that cannot wait for that evicts the hit entries for which the
  /// buffer has no space, and gets no further than the first segment with pinned entries.
  mutating func makeRoom(_ room: inout DiskRoom) -> DiskRoom.Progress {
    let capacity = min(room.capacity, space.capacity)
    let total = room.segments ?? segments.count
    room.segments = total
    while lacks(room, beside: carryBudget + pinReserve, within: capacity) {
      // Twice around at most: the second time, entries that were hit are not carried forward. The disk is spared while
      // it fails, and nothing is evicted for bytes that cannot fit.
      guard let oldest = segments.first, room.reclaimed <= 2 * total, room.wasted < 3,
        !room.mayWait || !isPausing, !owesWipe || settleWipe(), mayFit(room, within: capacity)
      else { break }
      if hasPins(in: oldest) {
        guard room.mayWait, mayFit(room, besidePins: true, within: capacity) else { break }
        let progress = copyPinned(of: oldest)
        guard case .done = progress else { return progress }
        continue
      }
      if room.reclaimed < total, segments.count > 1, !carryForward(oldest), room.mayWait { return .write }
      guard reclaimOldest() else { break }
      room.reclaimed += 1
    }
    let reserve = room.use == .change ? 0 : pinReserve
    return lacks(room, beside: reserve, within: space.capacity) ? .stuck : .done
  }

  private func lacks(_ room: DiskRoom, beside reserve: Int, within capacity: Int) -> Bool {
    space.used + room.bytes + reserve > capacity
      || room.use == .entry && catalog.withLock { $0.index.count >= DiskIndex.maximumCount }
  }

  /// Whether bytes could fit if everything were reclaimed that is not pinned.
  ///
  /// - Parameter besidePins: whether it is worth while to copy pinned entries for them.
  private func mayFit(_ room: DiskRoom, besidePins: Bool = false, within capacity: Int) -> Bool {
    // The store keeps to a lowered capacity as far as possible, whatever unfinished bodies have reserved.
    if room.bytes == 0 { return true }
    // Without a share for entries that are not pinned, each insert would copy all pinned entries for a few free bytes.
    let share = besidePins && room.use == .entry ? capacity / 8 : 0
    let reserve = besidePins || room.use != .change ? pinReserve : 0
    return room.bytes + unreclaimable + reserve + share <= capacity
  }

  /// The least capacity that the log keeps to while the file system is full. With less room, the disk counts as failing.
  private static let leastCapacity = 1 << 20
  /// How often a write is tried again after room was made for it: others may take the room.
  static let mostReliefs = 3

  /// Makes room in a file system that is full: the log keeps to the bytes that it has, as if its capacity were lower, and
  /// evicts its oldest entries. The caller then writes again.
  ///
  /// Nothing is carried forward, because that would need room. The capacity returns as the log is written.
  ///
  /// - Parameters:
  ///   - failure: of the write that found no room.
  ///   - needed: the bytes of that write, which count as used.
  /// - Returns: whether the write may succeed now.
  mutating func relieve(_ failure: FileFailure, for needed: Int) -> Bool {
    guard failure.isFull, !isClosed, space.used - needed >= Self.leastCapacity else { return false }
    let limit = min(space.capacity, space.used - needed)
    // Pins depend on the capacity: only entries beside them are evicted.
    if pins.list.isEmpty {
      health.fill(failure)
      space.capacity = limit
    }
    var isRelieved = false
    // As much again: the next writes need room, too.
    while space.used > limit - min(needed, limit / 8), !segments.isEmpty {
      guard reclaimOldest() else { break }
      isRelieved = true
    }
    return isRelieved
  }

  /// Raises a capacity that was lowered because the file system was full. If it is still full, the next write lowers the
  /// capacity again.
  mutating func regainCapacity() {
    guard space.capacity < space.configured else { return }
    space.capacity = min(space.configured, space.capacity + segmentSize)
    if space.capacity == space.configured { health.succeed(DiskHealth.filling) }
  }

  /// Removes the oldest segment and its entries.
  ///
  /// - Parameter losingPins: whether to remove the segment even if it has pinned entries.
  mutating func reclaimOldest(losingPins: Bool = false) -> Bool {
    guard let oldest = segments.first else { return false }
    if hasPins(in: oldest) {
      guard losingPins else { return false }
      // Copies that may be written are better than none.
      adoptCopies(upTo: .max)
    }
    let (evicted, orphans) = catalog.withLock { catalog in
      let slots = catalog.index.slots(in: oldest.number)
      return (slots.count, slots.compactMap { catalog.index.remove($0) })
    }
    context.counters.evictions.increment(by: evicted)
    for orphan in orphans { removeBodyFile(orphan) }
    return removeOldestFile()
  }

  /// Unlinks the oldest segment's file. Its entries must be out of the index.
  private mutating func removeOldestFile() -> Bool {
    guard isInPlace(), let oldest = segments.first else { return false }
    catalog.withLock { $0.files[oldest.number] = nil }
    // The summary would have covered this segment.
    if segments.count == 1 { dropSummary() }
    anchorNames()
    do throws(FileFailure) {
      try context.files.unlink(oldest.file.path)
    } catch {
      context.counters.ioErrors.increment()
      // This is as good as removed: an opening finds nothing in an empty file.
      if (try? oldest.file.truncate(to: 0)) == nil {
        // The next opening would find its records again: every removal until then must be logged.
        segments[0].isSealed = true
        suspects.isEverything = true
        health.fail(
          FileFailure(operation: "remove", path: error.path, errno: error.errno), at: context.files.uptime)
        return false
      }
    }
    health.succeed("remove")
    space.used -= oldest.count
    unsynced.hasReplacement = true
    segments.removeFirst()
    return true
  }

  /// Ensures that a newer segment survives a loss of power, before the oldest is unlinked.
  ///
  /// The names of files may reach the disk in any order. After a loss of power, the oldest segment, which may have had
  /// removals, can be gone while still older segments are back. The gap before the newer segment then reveals it.
  private mutating func anchorNames() {
    guard context.options.sync != .never, !segments.dropFirst().contains(where: { !$0.isNew }) else { return }
    do throws(FileFailure) {
      try context.files.syncDirectory(context.directory)
      for index in segments.indices { segments[index].isNew = false }
    } catch {
      fail(error)
    }
  }

  /// Copies hit entries to the log's end, within the budget. Returns `false` if the buffer is full before the end.
  private mutating func carryForward(_ oldest: Segment) -> Bool {
    if carried.segment != oldest.number { carried = (oldest.number, 0) }
    var budget = carryBudget - carried.bytes
    let pinReserve = pinReserve
    for slot in catalog.withLock({ $0.index.slots(in: oldest.number) { $0.isHit && !$0.isPinned } }) {
      let entry = catalog.withLock { $0.index[slot] }
      let count = Int(entry.location.count)
      if buffer.count >= context.options.writeBuffer { return false }
      guard count <= budget, space.fits(context.room(for: count) + pinReserve) else { continue }
      guard let (header, record) = mergedRecord(of: entry, in: oldest.file) else { continue }
      guard record.count <= budget, space.fits(context.room(for: record.count)),
        let location = try? write(RecordBytes(record), header)
      else { return true }
      budget -= record.count
      carried.bytes += record.count
      let bodyFileSize = catalog.withLock { catalog in
        catalog.index.move(slot, to: location)
        return catalog.index.bodyFiles[header.id]?.size ?? 0
      }
      segments[segments.count - 1].bodyFileBytes += bodyFileSize
      context.counters.carries.increment()
    }
    return true
  }

  /// Returns an entry's record with its latest metadata; `nil` if it cannot be read whole, and then it is not carried
  /// forward.
  func mergedRecord(of entry: DiskIndexEntry, in file: any File) -> (RecordHeader, [UInt8])? {
    let hasher = context.hasher
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

  /// Unlinks everything, oldest first, so that a crash halfway leaves the end of the log.
  ///
  /// An empty segment stays: its header tells which numbers were used. Files that cannot be unlinked now stay owed, and
  /// nothing is appended before they are gone.
  mutating func wipe() {
    pins.copies = PinnedCopies()
    let orphans = catalog.withLock { catalog in
      let orphans = Array(catalog.index.bodyFiles.values)
      catalog.index = DiskIndex()
      catalog.unbufferAll()
      return orphans
    }
    // The buffered pieces belong to removed files.
    buffer.drop()
    if !segments.isEmpty { sealWithoutSummary() }
    let next = nextNumber
    if space.fits(context.room(for: 0)), !segments.isEmpty { try? beginSegment() }
    wipedNumbers = ..<next
    settleWipe()
    for orphan in orphans + buffer.takeOrphans() { removeBodyFile(orphan) }
  }

  /// Whether a wipe is unfinished: segments are still there that it must unlink.
  var owesWipe: Bool { segments.first.map { wipedNumbers.contains($0.number) } ?? false }

  /// Unlinks the rest of an unfinished wipe. Returns `false` if that is still impossible.
  @discardableResult
  mutating func settleWipe() -> Bool {
    while owesWipe {
      guard removeOldestFile() else { return false }
    }
    suspects = Suspects()
    return true
  }
}
