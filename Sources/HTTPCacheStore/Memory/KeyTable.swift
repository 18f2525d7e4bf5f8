/// An open-addressing index from the tags of keys to slots, in the order of the tags.
///
/// A place is one word: the tag above, the slot below. The tag alone tells where a place belongs, and grows with it, so the
/// places that are taken are sorted. A search therefore ends at the first greater tag, for a miss as early as for a hit,
/// which lets four places of five be taken; the variants of a key lie side by side and need no chain; and growing and
/// removing move words without asking any entry for its hash. There are no tombstones.
// Unchecked because of the pointer: this value alone owns what it points to, cannot be copied, and hands it to nobody.
struct KeyTable: ~Copyable, @unchecked Sendable {
  /// The most places that the table has for each entry, but for the first few: four of five are taken when it grows, and
  /// it grows by a quarter.
  static let placesPerEntry = 1.5625

  /// A range of places with the same tag.
  typealias Run = Range<Int>

  // A pointer, because an array checks on each access what is known here, and on each change whether it is shared. It is
  // owned by this value alone.
  private var places: UnsafeMutablePointer<UInt64>
  /// What tags are mapped to.
  private var size: UInt64
  /// How many there are: more than `size`, so that what does not fit at the end needs not go on at the beginning, where the
  /// order would break. The last one is always free and ends every search.
  private var length: Int
  private var count = 0

  init() {
    size = 0
    length = 1
    places = .allocate(capacity: 1)
    places.initialize(to: 0)
  }

  deinit {
    places.deallocate()
  }

  private static func tag(of place: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: place >> 32) }

  private static func slot(of place: UInt64) -> Int32 { Int32(truncatingIfNeeded: place) &- 1 }

  private static func place(_ tag: UInt32, _ slot: Int32) -> UInt64 {
    UInt64(tag) << 32 | UInt64(UInt32(truncatingIfNeeded: slot &+ 1))
  }

  @inline(__always)
  private func home(of tag: UInt32) -> Int {
    Int(truncatingIfNeeded: (UInt64(tag) &* size) &>> 32)
  }

  // MARK: Finding

  /// The first place of a tag, or where it would be.
  @inline(__always)
  private func start(of tag: UInt32) -> Int {
    var position = home(of: tag)
    let least = UInt64(tag) &<< 32
    // A free place is 0, which would be passed over: less 1 it is the greatest.
    while places[position] &- 1 < least { position &+= 1 }
    return position
  }

  /// The places with this tag.
  ///
  /// - Complexity: O(1) on average, and the length of the run.
  @inline(__always)
  func run(of tag: UInt32) -> Run {
    let start = start(of: tag)
    var end = start
    while places[end] != 0, Self.tag(of: places[end]) == tag { end &+= 1 }
    return Run(uncheckedBounds: (start, end))
  }

  /// The slot of a place that ``run(of:)`` gave.
  @inline(__always)
  subscript(position: Int) -> Int32 { Self.slot(of: places[position]) }

  // MARK: Changing

  /// Adds a place.
  ///
  /// - Complexity: O(1) on average, O(count) when the table grows.
  mutating func insert(_ tag: UInt32, slot: Int32) {
    if (count + 1) * 5 > Int(size) * 4 { rebuild(size: max(16, Int(size) + Int(size) / 4)) }
    while true {
      let position = start(of: tag)
      var free = position
      while places[free] != 0 { free &+= 1 }
      if free < length - 1 {
        (places + position + 1).update(from: places + position, count: free - position)
        places[position] = Self.place(tag, slot)
        count += 1
        return
      }
      rebuild(size: Int(size), spare: (length - Int(size)) * 2)
    }
  }

  /// Removes the place of a slot and moves up what had been pushed past it.
  mutating func remove(_ tag: UInt32, slot: Int32) {
    guard let position = run(of: tag).first(where: { self[$0] == slot }) else { return }
    var end = position + 1
    while places[end] != 0, home(of: Self.tag(of: places[end])) < end { end += 1 }
    (places + position).update(from: places + position + 1, count: end - position - 1)
    places[end - 1] = 0
    count -= 1
  }

  /// Gives every slot its new number, and back the places that are no longer needed.
  mutating func compact(_ number: (Int32) -> Int32) {
    for position in 0..<length where places[position] != 0 {
      places[position] = Self.place(Self.tag(of: places[position]), number(self[position]))
    }
    rebuild(size: max(16, count * 4 / 3))
  }

  mutating func removeAll() {
    count = 0
    for position in 0..<length { places[position] = 0 }
    rebuild(size: 0)
  }

  /// Moves all to a table of another size: they are sorted, so one pass from front to back places them.
  private mutating func rebuild(size: Int, spare: Int = 16) {
    let old = places
    let oldLength = length
    var spare = spare
    self.size = UInt64(size)
    while true {
      length = size + spare + 1
      places = .allocate(capacity: length)
      places.initialize(repeating: 0, count: length)
      var next = 0
      var isWhole = true
      for position in 0..<oldLength where old[position] != 0 {
        next = max(next, home(of: Self.tag(of: old[position])))
        guard next < length - 1 else {
          isWhole = false
          break
        }
        places[next] = old[position]
        next += 1
      }
      if isWhole { break }
      places.deallocate()
      spare *= 2
    }
    old.deallocate()
  }
}
