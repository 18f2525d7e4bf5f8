/// An open-addressing index from key hashes to slots.
///
/// Linear probing with backward-shift deletion: there are no tombstones, so it never degrades. A place is one word, the
/// hash's upper half beside the slot, so that a probe touches a slot only when the tags agree.
struct KeyTable {
  private static let slotMask: UInt64 = 0xFFFF_FFFF

  private var places: [UInt64]
  private var count = 0

  init() {
    places = Array(repeating: 0, count: 16)
  }

  private var mask: Int { places.count - 1 }

  private static func place(hash: UInt64, slot: Int32) -> UInt64 {
    hash & ~slotMask | UInt64(slot + 1)
  }

  private static func slot(of place: UInt64) -> Int32 {
    Int32(truncatingIfNeeded: place & slotMask) - 1
  }

  /// The first slot with this tag that `matches`, and its position.
  ///
  /// - Complexity: O(1) on average.
  @inline(__always)
  func find(_ hash: UInt64, where matches: (Int32) -> Bool) -> (position: Int, slot: Int32)? {
    var position = Int(truncatingIfNeeded: hash) & mask
    while true {
      let place = places[position]
      guard place != 0 else { return nil }
      if (place ^ hash) & ~Self.slotMask == 0 {
        let slot = Self.slot(of: place)
        if matches(slot) { return (position, slot) }
      }
      position = (position + 1) & mask
    }
  }

  /// Points a place that ``find(_:where:)`` gave to another slot of the same hash.
  mutating func redirect(position: Int, to slot: Int32) {
    places[position] = places[position] & ~Self.slotMask | UInt64(slot + 1)
  }

  /// Adds a place. The slots give the whole hashes when the table grows.
  ///
  /// - Complexity: O(1) on average, O(count) when the table grows.
  mutating func insert(_ hash: UInt64, slot: Int32, slots: borrowing ContiguousArray<MemorySlot>) {
    if (count + 1) * 4 > places.count * 3 { grow(slots: slots) }
    place(hash, slot: slot)
    count += 1
  }

  private mutating func place(_ hash: UInt64, slot: Int32) {
    var position = Int(truncatingIfNeeded: hash) & mask
    while places[position] != 0 { position = (position + 1) & mask }
    places[position] = Self.place(hash: hash, slot: slot)
  }

  private mutating func grow(slots: borrowing ContiguousArray<MemorySlot>) {
    let old = places
    places = Array(repeating: 0, count: old.count * 2)
    for place in old where place != 0 {
      let slot = Self.slot(of: place)
      self.place(slots[Int(slot)].hash, slot: slot)
    }
  }

  /// Removes the place at a position and moves up what had been pushed past it.
  mutating func remove(position: Int, slots: borrowing ContiguousArray<MemorySlot>) {
    var hole = position
    var position = (position + 1) & mask
    while places[position] != 0 {
      let home = Int(truncatingIfNeeded: slots[Int(Self.slot(of: places[position]))].hash) & mask
      // A place may move up only if that does not take it before its home.
      if (position &- home) & mask >= (position &- hole) & mask {
        places[hole] = places[position]
        hole = position
      }
      position = (position + 1) & mask
    }
    places[hole] = 0
    count -= 1
  }

  mutating func removeAll() {
    self = KeyTable()
  }
}
