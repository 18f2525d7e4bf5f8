// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The index of the log, in memory: from a key's hash to the records of its variants.
///
/// It consists of a slab of entries and an open-addressing table of places. Entries of one hash follow each other in
/// the probe sequence. A place is 8 bits of the hash and 24 bits of the slot, so there are at most 16 million entries.
///
/// An entry takes 32 bytes, and its place 4.6 to 5.8: the table grows by a quarter instead of doubling, and the slab by
/// chunks. There is no list of the entries in a segment. ``slots(in:where:)`` looks at all entries when a segment is
/// reclaimed: 3 ms for a million. An entry takes 50 to 90 bytes more, in a dictionary, if its body has a file, or if
/// its metadata was updated and not carried forward since.
struct DiskIndex {
  static let maximumCount = (1 << 24) - 2
  private static let none = UInt32.max
  private static let chunkBits = 11
  static let chunkSize = 1 << chunkBits

  /// The numbers and sizes of a body file.
  typealias BodyFile = (number: UInt64, size: Int)

  private var chunks: ContiguousArray<ContiguousArray<DiskIndexEntry>> = []
  /// Number of slots that were ever used; the slots from here on are unused.
  private(set) var slotCount = 0
  private var places = ContiguousArray<UInt32>(repeating: 0, count: 16)
  private var freeSlot = none
  private(set) var count = 0
  /// Bytes of the records of all entries.
  private(set) var recordBytes = 0
  /// The latest metadata of updated entries, and its sequence number.
  private(set) var updates: [UInt64: (location: RecordLocation, revision: UInt64)] = [:]
  /// The numbers and sizes of body files by entry.
  private(set) var bodyFiles: [UInt64: BodyFile] = [:]
  /// Bytes of all body files.
  private(set) var bodyFileBytes = 0
  /// Bytes that pinned entries occupy: their records with a row of a summary each, and their body files.
  private(set) var pinnedBytes = 0
  /// The part of ``pinnedBytes`` that carrying forward must copy, by segment; only segments that have any.
  private(set) var pinnedRecordBytes: [UInt32: Int] = [:]

  subscript(slot: UInt32) -> DiskIndexEntry {
    get { chunks[Int(slot) >> Self.chunkBits][Int(slot) & (Self.chunkSize - 1)] }
    _modify { yield &chunks[Int(slot) >> Self.chunkBits][Int(slot) & (Self.chunkSize - 1)] }
  }

  /// Bytes that the index occupies.
  var bytes: Int {
    chunks.count * (Self.chunkSize * MemoryLayout<DiskIndexEntry>.stride + 32) + chunks.capacity * 8
      + places.capacity * 4
      + updates.capacity * MemoryLayout<(UInt64, RecordLocation, UInt64)>.stride
      + bodyFiles.capacity * MemoryLayout<(UInt64, BodyFile)>.stride
  }

  // MARK: Finding

  /// The home place of a hash: the upper bits of a product, so that the table may have any number of places, and grow
  /// as needed.
  private func home(_ hash: UInt32) -> Int { Int((UInt64(hash) * UInt64(places.count)) >> 32) }

  private static func tag(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 56) << 24 }

  private static func slot(_ place: UInt32) -> UInt32 { place & 0xFF_FFFF - 1 }

  /// Returns the first slot under a hash that satisfies `isRight`.
  ///
  /// - Complexity: O(1) on average, for a bounded number of variants.
  @inline(__always)
  private func first(for hash: UInt64, where isRight: (UInt32, DiskIndexEntry) -> Bool) -> UInt32? {
    let (tag, low) = (Self.tag(hash), UInt32(truncatingIfNeeded: hash))
    var position = home(low)
    // Through a pointer, here and below: without optimisation, too, it then counts no references.
    return places.withUnsafeBufferPointer { places in
      while places[position] != 0 {
        let place = places[position]
        if place & 0xFF00_0000 == tag {
          let slot = Self.slot(place)
          let entry = self[slot]
          if entry.hash == low, isRight(slot, entry) { return slot }
        }
        position += 1
        if position == places.count { position = 0 }
      }
      return nil
    }
  }

  func slot(for hash: UInt64, fingerprint: UInt32) -> UInt32? {
    first(for: hash) { $1.fingerprint == fingerprint }
  }

  func slot(for hash: UInt64, id: UInt64) -> UInt32? { first(for: hash) { $1.id == id } }

  func contains(_ hash: UInt64) -> Bool { first(for: hash) { _, _ in true } != nil }

  /// Calls `body` with the slots of all variants under a hash.
  func forEach(under hash: UInt64, _ body: (UInt32) -> Void) {
    _ = first(for: hash) { slot, _ in
      body(slot)
      return false
    }
  }

  /// Returns the slots of all variants under a hash, or of one of them.
  func slots(for hash: UInt64, fingerprint: UInt32? = nil) -> [UInt32] {
    var found: [UInt32] = []
    _ = first(for: hash) { slot, entry in
      if fingerprint == nil || entry.fingerprint == fingerprint { found.append(slot) }
      return false
    }
    return found
  }

  /// What an insert finds under its hash: the id of the entry that it replaces, the number of variants, and the
  /// fingerprint of the oldest.
  func standing(of header: RecordHeader) -> (replacedID: UInt64?, variants: Int, oldest: UInt32?) {
    let fingerprint = header.fingerprint
    var (replaced, count, oldest) = (UInt64?.none, 0, (id: UInt64.max, fingerprint: UInt32?.none))
    _ = first(for: header.hash) { _, entry in
      count += 1
      if entry.fingerprint == fingerprint { replaced = entry.id }
      if entry.id < oldest.id { oldest = (entry.id, entry.fingerprint) }
      return false
    }
    return (replaced, count, oldest.fingerprint)
  }

  /// The known bits of the hash of an entry's key: its lower 32 and its upper 8 bits, by which the log refers to it.
  func knownHash(of slot: UInt32) -> UInt64 {
    let low = self[slot].hash
    var position = home(low)
    while places[position] & 0xFF_FFFF != slot + 1 {
      position = position + 1 == places.count ? 0 : position + 1
    }
    return UInt64(places[position] >> 24) << 56 | UInt64(low)
  }

  /// Calls `body` with all entries.
  func forEach(_ body: (UInt32, DiskIndexEntry) -> Void) {
    for chunk in chunks.indices {
      let first = chunk << Self.chunkBits
      for index in 0..<min(Self.chunkSize, slotCount - first) where !chunks[chunk][index].isFree {
        body(UInt32(first + index), chunks[chunk][index])
      }
    }
  }

  /// Returns the slots of the entries in a segment, in the order of their records.
  ///
  /// - Complexity: O(entries).
  func slots(in segment: UInt32, where isWanted: (DiskIndexEntry) -> Bool = { _ in true }) -> [UInt32] {
    var found: [UInt64] = []
    forEach { slot, entry in
      if entry.location.segment == segment, isWanted(entry) {
        found.append(UInt64(entry.location.offset) << 32 | UInt64(slot))
      }
    }
    found.sort()
    return found.map { UInt32(truncatingIfNeeded: $0) }
  }

  /// The id of the oldest entry; `nil` if there is none.
  ///
  /// - Complexity: O(entries).
  var lowestID: UInt64? {
    var lowest: UInt64?
    forEach { lowest = min(lowest ?? .max, $1.id) }
    return lowest
  }

  // MARK: Changing

  /// Reserves places for this many entries at once.
  mutating func reserve(_ total: Int) {
    let total = min(total, Self.maximumCount)
    if (total + 1) * 8 > places.count * 7 { rehash(total * 8 / 7 + 16) }
  }

  /// Releases reserved places that were not needed.
  mutating func trim() {
    if places.count > max(16, count * 2) { rehash(count * 8 / 7 + 16) }
  }

  mutating func insert(_ entry: DiskIndexEntry, hash: UInt64) -> UInt32 {
    if (count + 1) * 8 > places.count * 7 { rehash(places.count * 5 / 4 + 16) }
    let slot: UInt32
    if freeSlot != Self.none {
      slot = freeSlot
      freeSlot = self[slot].nextFree
      self[slot] = entry
    } else {
      slot = UInt32(slotCount)
      if slotCount == chunks.count << Self.chunkBits {
        chunks.append(ContiguousArray(repeating: .free(next: Self.none), count: Self.chunkSize))
      }
      slotCount += 1
      self[slot] = entry
    }
    put(entry.hash, Self.tag(hash) | (slot + 1))
    count += 1
    recordBytes += Int(entry.location.count)
    return slot
  }

  private mutating func put(_ hash: UInt32, _ place: UInt32) {
    var position = home(hash)
    places.withUnsafeMutableBufferPointer { places in
      while places[position] != 0 {
        position += 1
        if position == places.count { position = 0 }
      }
      places[position] = place
    }
  }

  private mutating func rehash(_ size: Int) {
    let old = places
    places = ContiguousArray(repeating: 0, count: size)
    for place in old where place != 0 { put(self[Self.slot(place)].hash, place) }
  }

  /// Removes an entry, its update and its body file from the index; returns the body file, so that the caller can
  /// remove it.
  @discardableResult
  mutating func remove(_ slot: UInt32) -> BodyFile? {
    countPins(slot, -1)
    let entry = self[slot]
    unplace(entry.hash, slot)
    self[slot] = .free(next: freeSlot)
    freeSlot = slot
    count -= 1
    recordBytes -= Int(entry.location.count)
    if entry.hasUpdate, let update = updates.removeValue(forKey: entry.id) {
      recordBytes -= Int(update.location.count)
    }
    let bodyFile = entry.hasBodyFile ? bodyFiles.removeValue(forKey: entry.id) : nil
    bodyFileBytes -= bodyFile?.size ?? 0
    return bodyFile
  }

  private mutating func unplace(_ hash: UInt32, _ slot: UInt32) {
    var hole = home(hash)
    while places[hole] & 0xFF_FFFF != slot + 1 { hole = hole + 1 == places.count ? 0 : hole + 1 }
    var position = hole
    while true {
      position = position + 1 == places.count ? 0 : position + 1
      guard places[position] != 0 else { break }
      let home = home(self[Self.slot(places[position])].hash)
      if distance(home, position) >= distance(hole, position) {
        places[hole] = places[position]
        hole = position
      }
    }
    places[hole] = 0
  }

  private func distance(_ start: Int, _ end: Int) -> Int {
    end >= start ? end - start : end - start + places.count
  }

  /// Changes the sums of pinned entries; see ``countPins(_:_:)``.
  mutating func addPinned(_ bytes: Int, _ recordBytes: Int, in segment: UInt32) {
    pinnedBytes += bytes
    let sum = (pinnedRecordBytes[segment] ?? 0) + recordBytes
    pinnedRecordBytes[segment] = sum == 0 ? nil : sum
  }

  mutating func setBodyFile(_ file: BodyFile, of slot: UInt32) {
    countPins(slot, -1)
    defer { countPins(slot, 1) }
    self[slot].hasBodyFile = true
    let old = bodyFiles.updateValue(file, forKey: self[slot].id)
    bodyFileBytes += file.size - (old?.size ?? 0)
  }

  /// Records newer metadata of an entry.
  mutating func update(_ slot: UInt32, at location: RecordLocation, revision: UInt64, storedSeconds: UInt32) {
    countPins(slot, -1)
    defer { countPins(slot, 1) }
    let old = updates.updateValue((location, revision), forKey: self[slot].id)
    recordBytes += Int(location.count) - Int(old?.location.count ?? 0)
    self[slot].hasUpdate = true
    self[slot].storedSeconds = storedSeconds
  }

  /// Records that an entry's record moved, with its metadata in it.
  mutating func move(_ slot: UInt32, to location: RecordLocation) {
    countPins(slot, -1)
    defer { countPins(slot, 1) }
    recordBytes += Int(location.count) - Int(self[slot].location.count)
    if let update = updates.removeValue(forKey: self[slot].id) { recordBytes -= Int(update.location.count) }
    self[slot].location = location
    self[slot].hasUpdate = false
    self[slot].isHit = false
  }

  /// Removes entries stored at or after a time, in seconds, from the index; returns their body files, so that the
  /// caller can remove them.
  mutating func clear(since seconds: UInt32) -> [BodyFile] {
    var outdated: [UInt32] = []
    forEach { if $1.storedSeconds >= seconds { outdated.append($0) } }
    return outdated.compactMap { remove($0) }
  }
}
