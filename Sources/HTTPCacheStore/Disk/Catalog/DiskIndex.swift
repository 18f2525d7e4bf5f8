// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// What the log holds, in memory: from a key's hash to the records of its variants.
///
/// A slab of entries and an open-addressing table of places. Entries of one hash stand one after the other in the probe
/// sequence. A place is 8 bits of the hash beside 24 of the slot, so there are at most 16 million entries.
///
/// An entry takes 32 bytes, and 4.6 to 5.8 for its place: the table grows by a quarter, and not to the double, and the
/// slab by chunks. No list says which entries are in a segment; ``slots(in:where:)`` looks at all of them, 3 ms for a
/// million, when a segment is reclaimed. Beside that, an entry whose metadata was updated and not carried forward since,
/// or whose body has a file, takes 50 to 90 bytes in a dictionary.
struct DiskIndex {
  static let maximumCount = (1 << 24) - 2
  private static let none = UInt32.max
  private static let chunkBits = 11
  static let chunkSize = 1 << chunkBits

  /// The numbers and sizes of a body file.
  typealias BodyFile = (number: UInt64, size: Int)

  private var chunks: ContiguousArray<ContiguousArray<DiskIndexEntry>> = []
  /// Slots that were ever used: those from here on are not.
  private(set) var slotCount = 0
  private var places = ContiguousArray<UInt32>(repeating: 0, count: 16)
  private var freeSlot = none
  private(set) var count = 0
  /// The bytes of the records of all entries.
  private(set) var recordBytes = 0
  /// The latest metadata of entries that were updated, and its sequence number.
  private(set) var updates: [UInt64: (location: RecordLocation, revision: UInt64)] = [:]
  /// The numbers and sizes of body files by entry.
  private(set) var bodyFiles: [UInt64: BodyFile] = [:]
  /// The bytes of all of them.
  private(set) var bodyFileBytes = 0

  subscript(slot: UInt32) -> DiskIndexEntry {
    get { chunks[Int(slot) >> Self.chunkBits][Int(slot) & (Self.chunkSize - 1)] }
    _modify { yield &chunks[Int(slot) >> Self.chunkBits][Int(slot) & (Self.chunkSize - 1)] }
  }

  /// What the index occupies, in bytes.
  var bytes: Int {
    chunks.count * (Self.chunkSize * MemoryLayout<DiskIndexEntry>.stride + 32) + chunks.capacity * 8
      + places.capacity * 4
      + updates.capacity * MemoryLayout<(UInt64, RecordLocation, UInt64)>.stride
      + bodyFiles.capacity * MemoryLayout<(UInt64, BodyFile)>.stride
  }

  // MARK: Finding

  /// By the upper bits of a product, so that any number of places will do, and they grow as they need to.
  private func home(_ hash: UInt32) -> Int { Int((UInt64(hash) * UInt64(places.count)) >> 32) }

  private static func tag(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 56) << 24 }

  private static func slot(_ place: UInt32) -> UInt32 { place & 0xFF_FFFF - 1 }

  /// Shows the slots of all variants under a hash, until one is the right one.
  ///
  /// - Complexity: O(1) on average, for a bounded number of variants.
  @inline(__always)
  private func first(for hash: UInt64, where isRight: (UInt32, DiskIndexEntry) -> Bool) -> UInt32? {
    let (tag, low) = (Self.tag(hash), UInt32(truncatingIfNeeded: hash))
    var position = home(low)
    // Through a pointer, here and below: also where nothing is optimised it costs no counted references.
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

  /// Shows the slots of all variants under a hash.
  func forEach(under hash: UInt64, _ body: (UInt32) -> Void) {
    _ = first(for: hash) { slot, _ in
      body(slot)
      return false
    }
  }

  /// The slots of all variants under a hash, or of one of them.
  func slots(for hash: UInt64, fingerprint: UInt32? = nil) -> [UInt32] {
    var found: [UInt32] = []
    _ = first(for: hash) { slot, entry in
      if fingerprint == nil || entry.fingerprint == fingerprint { found.append(slot) }
      return false
    }
    return found
  }

  /// What an insert meets: the id of the entry that it replaces, how many variants there are, and the fingerprint of the
  /// oldest.
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

  /// What is known of the hash of an entry's key: its lower 32 and its upper 8 bits, by which the log refers to it.
  func knownHash(of slot: UInt32) -> UInt64 {
    let low = self[slot].hash
    var position = home(low)
    while places[position] & 0xFF_FFFF != slot + 1 {
      position = position + 1 == places.count ? 0 : position + 1
    }
    return UInt64(places[position] >> 24) << 56 | UInt64(low)
  }

  /// Shows all entries there are.
  func forEach(_ body: (UInt32, DiskIndexEntry) -> Void) {
    for chunk in chunks.indices {
      let first = chunk << Self.chunkBits
      for index in 0..<min(Self.chunkSize, slotCount - first) where !chunks[chunk][index].isFree {
        body(UInt32(first + index), chunks[chunk][index])
      }
    }
  }

  /// The slots of the entries in a segment, in the order of their records.
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

  /// Makes room for so many entries at once.
  mutating func reserve(_ total: Int) {
    let total = min(total, Self.maximumCount)
    if (total + 1) * 8 > places.count * 7 { rehash(total * 8 / 7 + 16) }
  }

  /// Gives back what was reserved and not needed.
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

  /// Forgets an entry, its update and its body file; gives the body file back for removal.
  @discardableResult
  mutating func remove(_ slot: UInt32) -> BodyFile? {
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

  mutating func setBodyFile(_ file: BodyFile, of slot: UInt32) {
    self[slot].hasBodyFile = true
    let old = bodyFiles.updateValue(file, forKey: self[slot].id)
    bodyFileBytes += file.size - (old?.size ?? 0)
  }

  /// Gives an entry newer metadata.
  mutating func update(_ slot: UInt32, at location: RecordLocation, revision: UInt64, storedSeconds: UInt32) {
    let old = updates.updateValue((location, revision), forKey: self[slot].id)
    recordBytes += Int(location.count) - Int(old?.location.count ?? 0)
    self[slot].hasUpdate = true
    self[slot].storedSeconds = storedSeconds
  }

  /// An entry's record is elsewhere from now on, with its metadata in it.
  mutating func move(_ slot: UInt32, to location: RecordLocation) {
    recordBytes += Int(location.count) - Int(self[slot].location.count)
    if let update = updates.removeValue(forKey: self[slot].id) { recordBytes -= Int(update.location.count) }
    self[slot].location = location
    self[slot].hasUpdate = false
    self[slot].isHit = false
  }

  /// Forgets what was stored at or after a time, in seconds; gives body files back for removal.
  mutating func clear(since seconds: UInt32) -> [BodyFile] {
    var outdated: [UInt32] = []
    forEach { if $1.storedSeconds >= seconds { outdated.append($0) } }
    return outdated.compactMap { remove($0) }
  }
}
