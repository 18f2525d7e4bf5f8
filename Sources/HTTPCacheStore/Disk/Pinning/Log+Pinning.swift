// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

extension DiskIndex {
  /// Bytes of an entry that count as pinned if it is.
  func pinnedCost(of slot: UInt32) -> Int {
    recordCost(of: slot) + (self[slot].hasBodyFile ? bodyFiles[self[slot].id]?.size ?? 0 : 0)
  }

  /// The part of the cost that carrying the entry forward copies at most: its record with the latest metadata, and a
  /// row of a summary.
  private func recordCost(of slot: UInt32) -> Int {
    let entry = self[slot]
    let update = entry.hasUpdate ? updates[entry.id].map { Int($0.location.count) } ?? 0 : 0
    return Int(entry.location.count) + update + SegmentSummary.longestRow
  }

  /// Adds an entry to the sums of pinned entries, or subtracts it, if it is pinned. Every change of an entry does both.
  mutating func countPins(_ slot: UInt32, _ sign: Int) {
    guard self[slot].isPinned else { return }
    addPinned(sign * pinnedCost(of: slot), sign * recordCost(of: slot), in: self[slot].location.segment)
  }

  /// Pins an entry, unless the pinned entries would then take more bytes than the limit. Returns whether it is pinned.
  @discardableResult
  mutating func pin(_ slot: UInt32, limit: Int) -> Bool {
    if self[slot].isPinned { return true }
    guard pinnedBytes + pinnedCost(of: slot) <= limit else { return false }
    self[slot].isPinned = true
    countPins(slot, 1)
    return true
  }

  mutating func unpin(_ slot: UInt32) {
    countPins(slot, -1)
    self[slot].isPinned = false
  }
}

extension Log {
  /// Maximum bytes of pinned entries.
  var pinLimit: Int { context.options.pinLimit(for: space.capacity) }

  /// Bytes that stay free while a key is pinned, so that any segment's pinned entries can be copied before the segment
  /// is unlinked: the most that one segment can have, and what the segments begin with that take the copies.
  var pinReserve: Int {
    guard !pins.list.isEmpty else { return 0 }
    let most = catalog.withLock { $0.index.pinnedRecordBytes.values.max() ?? 0 }
    return max(segmentSize, most) + 4 * context.room(for: 0)
  }

  /// Bytes that no reclaiming can free.
  var unreclaimable: Int {
    DiskOpening.fixedBytes + pins.fileSizes.reduce(0, +) + space.reserved
      + catalog.withLock { $0.index.pinnedBytes }
  }

  func hasPins(in segment: Segment) -> Bool {
    catalog.withLock { $0.index.pinnedRecordBytes[segment.number] != nil }
  }

  // MARK: Copying

  /// Copies the pinned entries of the oldest segment to the log's end. `.done` means that none is left in it.
  mutating func copyPinned(of oldest: Segment) -> DiskRoom.Progress {
    if segments.count == 1 { seal() }
    for slot in catalog.withLock({ $0.index.slots(in: oldest.number) { $0.isPinned } }) {
      let (entry, revision) = catalog.withLock {
        ($0.index[slot], $0.index.updates[$0.index[slot].id]?.revision)
      }
      if let copy = pins.copies.copies[entry.id], copy.source == entry.location, copy.revision == revision {
        continue
      }
      if buffer.count >= context.options.writeBuffer { return .write }
      guard let (header, record) = mergedRecord(of: entry, in: oldest.file) else {
        // Damaged, it would be a miss at its next lookup.
        context.counters.corruptRecords.increment()
        catalog.withLock { $0.index.unpin(slot) }
        continue
      }
      let room = context.room(for: record.count)
      guard room <= segmentSize else {
        // The segments have become smaller with the capacity.
        catalog.withLock { $0.index.unpin(slot) }
        continue
      }
      guard space.fits(room), let location = try? write(RecordBytes(record), header) else { return .stuck }
      pins.copies.add(
        PinnedCopies.Copy(slot: slot, source: entry.location, revision: revision, location: location),
        of: entry.id)
      segments[segments.count - 1].bodyFileBytes +=
        catalog.withLock { $0.index.bodyFiles[entry.id]?.size ?? 0 }
    }
    guard hasPins(in: oldest) else { return .done }
    let places = pins.copies.copies.values.map(\.location)
    let numbers = Set(places.map(\.segment))
    return .settle(
      PinnedCopies.Batch(
        position: places.map(\.position).max() ?? 0,
        files: segments.filter { numbers.contains($0.number) }.map(\.file)))
  }

  /// Lets copies up to a place in the log take the place of their entries. Returns their number.
  ///
  /// A copy is left out if its entry was replaced, removed or updated since it was made.
  @discardableResult
  mutating func adoptCopies(upTo position: UInt64) -> Int {
    let copies = pins.copies.take(upTo: position)
    let adopted = catalog.withLock { catalog in
      var adopted = 0
      for (id, copy) in copies where Int(copy.slot) < catalog.index.slotCount {
        let entry = catalog.index[copy.slot]
        guard entry.id == id, entry.location == copy.source,
          catalog.index.updates[id]?.revision == copy.revision
        else { continue }
        catalog.index.move(copy.slot, to: copy.location)
        adopted += 1
      }
      return adopted
    }
    context.counters.carries.increment(by: adopted)
    return adopted
  }

  // MARK: Pinning

  /// Pins the entries of all pinned keys, in the order of the keys, as far as the limit for a capacity allows.
  mutating func pinEntries(within capacity: Int) {
    guard !pins.list.isEmpty else { return }
    let limit = context.options.pinLimit(for: capacity)
    let hashes = pins.list.keys.map { context.hasher.hash($0) }
    catalog.withLock { catalog in
      let slots = hashes.flatMap { catalog.index.slots(for: $0) }
      for slot in slots { catalog.index.unpin(slot) }
      for slot in slots { catalog.index.pin(slot, limit: limit) }
    }
  }

  /// Adds a key to the list, and pins its entries.
  ///
  /// - Parameter bytes: bytes of its entries that are not on disk yet.
  /// - Returns: whether the key was not pinned before.
  mutating func pin(_ key: StoreKey, hash: UInt64, adding bytes: Int) throws(StoreError) -> Bool {
    guard !isClosed else { throw StoreError(.closed) }
    guard lockFile != nil || mayTry(), hasDirectory(), isInPlace() else {
      throw StoreError(.io(operation: "create", path: context.directory, errno: Errno.ioError.rawValue))
    }
    var list = pins.list
    let isNew = list.insert(key, hash: hash)
    let most = context.options.pinFileLimit(for: space.capacity)
    guard list.fileCount <= most else {
      throw StoreError(.tooManyPins(key: key, count: pins.list.count, limit: most))
    }
    let limit = pinLimit
    let (used, missing) = catalog.withLock { catalog in
      let slots = catalog.index.slots(for: hash).filter { !catalog.index[$0].isPinned }
      return (catalog.index.pinnedBytes, slots.reduce(bytes) { $0 + catalog.index.pinnedCost(of: $1) })
    }
    guard used + missing <= limit else {
      throw StoreError(.pinLimit(key: key, needed: missing, used: used, limit: limit))
    }
    pins.list = list
    pinEntries(of: hash)
    return isNew
  }

  /// Removes a key from the list, and unpins its entries. Returns `false` if it is not pinned.
  mutating func unpin(_ key: StoreKey, hash: UInt64) -> Bool {
    guard pins.list.remove(key, hash: hash) else { return false }
    // Another pinned key may have the same hash.
    guard !pins.list.contains(hash) else { return true }
    catalog.withLock { catalog in
      for slot in catalog.index.slots(for: hash) { catalog.index.unpin(slot) }
    }
    return true
  }

  /// Pins the entries of a pinned key, as far as the limit allows.
  mutating func pinEntries(of hash: UInt64) {
    let limit = pinLimit
    guard pins.list.contains(hash) else { return }
    catalog.withLock { catalog in
      for slot in catalog.index.slots(for: hash) { catalog.index.pin(slot, limit: limit) }
    }
  }

  /// Removes segments, even with pinned entries, while the capacity and the room that pins need cannot be had otherwise:
  /// the capacity was lowered, or another version used the directory.
  mutating func keepToCapacity() {
    while !segments.isEmpty, !space.fits(0) || space.used - space.reserved + pinReserve > space.capacity {
      guard reclaimOldest(losingPins: true) else { return }
    }
  }
}
