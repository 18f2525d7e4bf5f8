/// Where a record is in the log.
struct RecordLocation: Equatable {
  var segment: UInt32
  var offset: UInt32
  /// The record's length, padding included.
  var count: UInt32
}

/// What is known of an entry on disk without reading it: 40 bytes. The key stays on disk.
struct DiskIndexEntry {
  var hash: UInt64
  var variant: UInt64
  var id: UInt64
  /// Segment 0 marks a free slot; `offset` is then the next free one.
  private var segment: UInt32
  private var offset: UInt32
  private var countAndFlags: UInt32
  /// Seconds since 1970, clamped: enough to clear by time, erring towards removal.
  var storedSeconds: UInt32

  // A record's length is a multiple of 8 and at most 1 GiB: three bits are free.
  private static let hitFlag: UInt32 = 1
  private static let updateFlag: UInt32 = 2
  private static let bodyFileFlag: UInt32 = 4

  init(hash: UInt64, variant: UInt64, id: UInt64, location: RecordLocation, storedAt: Int64) {
    self.hash = hash
    self.variant = variant
    self.id = id
    segment = location.segment
    offset = location.offset
    countAndFlags = location.count
    storedSeconds = Self.seconds(storedAt)
  }

  static func seconds(_ milliseconds: Int64) -> UInt32 { UInt32(clamping: milliseconds / 1000) }

  var location: RecordLocation {
    get { RecordLocation(segment: segment, offset: offset, count: countAndFlags & ~7) }
    set {
      segment = newValue.segment
      offset = newValue.offset
      countAndFlags = newValue.count | countAndFlags & 7
    }
  }

  /// Read since it was written or carried forward.
  var isHit: Bool {
    get { countAndFlags & Self.hitFlag != 0 }
    set { set(Self.hitFlag, newValue) }
  }
  /// Its metadata is in a record of its own.
  var hasUpdate: Bool {
    get { countAndFlags & Self.updateFlag != 0 }
    set { set(Self.updateFlag, newValue) }
  }
  /// Its body is in a file of its own.
  var hasBodyFile: Bool {
    get { countAndFlags & Self.bodyFileFlag != 0 }
    set { set(Self.bodyFileFlag, newValue) }
  }

  private mutating func set(_ flag: UInt32, _ value: Bool) {
    if value { countAndFlags |= flag } else { countAndFlags &= ~flag }
  }

  fileprivate static func free(next: UInt32) -> DiskIndexEntry {
    DiskIndexEntry(
      hash: 0, variant: 0, id: 0, location: RecordLocation(segment: 0, offset: next, count: 0), storedAt: 0)
  }

  var isFree: Bool { segment == 0 }
  fileprivate var nextFree: UInt32 { offset }
}

/// What the log holds, in memory: from a key's hash to the records of its variants.
///
/// A slab of entries and an open-addressing table of slots. Entries of one hash stand one after the other in the probe
/// sequence. A place is 8 bits of the hash beside 24 of the slot, so there are at most 16 million entries.
struct DiskIndex {
  static let maximumCount = (1 << 24) - 2
  private static let none = UInt32.max

  private(set) var entries: ContiguousArray<DiskIndexEntry> = []
  private var places: [UInt32] = Array(repeating: 0, count: 16)
  private var freeSlot = none
  private(set) var count = 0
  /// The latest metadata of entries that were updated, and its sequence number.
  var updates: [UInt64: (location: RecordLocation, revision: UInt64)] = [:]
  /// The numbers and sizes of body files by entry.
  var bodyFiles: [UInt64: (number: UInt64, size: Int)] = [:]

  subscript(slot: UInt32) -> DiskIndexEntry {
    get { entries[Int(slot)] }
    set { entries[Int(slot)] = newValue }
  }

  private var mask: Int { places.count - 1 }

  private static func place(_ hash: UInt64, _ slot: UInt32) -> UInt32 {
    UInt32(truncatingIfNeeded: hash >> 56) << 24 | (slot + 1)
  }

  private static func slot(_ place: UInt32) -> UInt32 { place & 0xFF_FFFF - 1 }

  /// The slots of all variants under a hash.
  ///
  /// - Complexity: O(1) on average, for a bounded number of variants.
  func slots(for hash: UInt64) -> [UInt32] {
    var found: [UInt32] = []
    var position = Int(truncatingIfNeeded: hash) & mask
    while places[position] != 0 {
      let place = places[position]
      if place >> 24 == UInt32(truncatingIfNeeded: hash >> 56) {
        let slot = Self.slot(place)
        if entries[Int(slot)].hash == hash { found.append(slot) }
      }
      position = (position + 1) & mask
    }
    return found
  }

  /// The id of the oldest entry; `nil` if there is none.
  ///
  /// - Complexity: O(entries).
  var lowestID: UInt64? {
    entries.lazy.filter { !$0.isFree }.map(\.id).min()
  }

  func slot(for hash: UInt64, variant: UInt64) -> UInt32? {
    slots(for: hash).first { entries[Int($0)].variant == variant }
  }

  mutating func insert(_ entry: DiskIndexEntry) -> UInt32 {
    if (count + 1) * 8 > places.count * 7 { grow() }
    let slot: UInt32
    if freeSlot != Self.none {
      slot = freeSlot
      freeSlot = entries[Int(slot)].nextFree
      entries[Int(slot)] = entry
    } else {
      slot = UInt32(entries.count)
      entries.append(entry)
    }
    put(entry.hash, slot)
    count += 1
    return slot
  }

  private mutating func put(_ hash: UInt64, _ slot: UInt32) {
    var position = Int(truncatingIfNeeded: hash) & mask
    while places[position] != 0 { position = (position + 1) & mask }
    places[position] = Self.place(hash, slot)
  }

  private mutating func grow() {
    let old = places
    places = Array(repeating: 0, count: old.count * 2)
    for place in old where place != 0 {
      put(entries[Int(Self.slot(place))].hash, Self.slot(place))
    }
  }

  /// Forgets an entry, its update and its body file; gives the body file back for removal.
  @discardableResult
  mutating func remove(_ slot: UInt32) -> (number: UInt64, size: Int)? {
    let entry = entries[Int(slot)]
    unplace(entry.hash, slot)
    entries[Int(slot)] = .free(next: freeSlot)
    freeSlot = slot
    count -= 1
    if entry.hasUpdate { updates[entry.id] = nil }
    return entry.hasBodyFile ? bodyFiles.removeValue(forKey: entry.id) : nil
  }

  private mutating func unplace(_ hash: UInt64, _ slot: UInt32) {
    let wanted = Self.place(hash, slot)
    var hole = Int(truncatingIfNeeded: hash) & mask
    while places[hole] != wanted { hole = (hole + 1) & mask }
    var position = (hole + 1) & mask
    while places[position] != 0 {
      let home = Int(truncatingIfNeeded: entries[Int(Self.slot(places[position]))].hash) & mask
      if (position &- home) & mask >= (position &- hole) & mask {
        places[hole] = places[position]
        hole = position
      }
      position = (position + 1) & mask
    }
    places[hole] = 0
  }
}
