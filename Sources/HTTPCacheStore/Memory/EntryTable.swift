// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The entries of a shard: an open-addressing table in the order of their tags.
///
/// A place is 16 bytes: a counted reference to the entry, the tag, and what the policy of eviction keeps, so that a hit
/// touches one line of the table and then the entry itself, and eviction looks at a row of places without touching any
/// entry. The tag alone tells where a place belongs, and grows with it, so the places that are taken are sorted. A search
/// therefore ends at the first greater tag, for a miss as early as for a hit, which lets seven places of eight be taken;
/// the variants of a key lie side by side and need no chain; and growing and removing move places without asking any
/// entry for its hash. There are no tombstones.
///
/// A position is good until the next insert or removal.
// Unchecked because of the pointer: this value alone owns what it points to, cannot be copied, and hands it to nobody.
struct EntryTable: ~Copyable, @unchecked Sendable {
  /// The most places that the table has for each entry, but for the first few: seven of eight are taken when it grows, and
  /// it grows by an eighth.
  static let placesPerEntry = 9.0 / 7

  struct Place {
    /// `nil` in a free place, whose tag is the greatest there is.
    fileprivate(set) var entry: EntryReference?
    fileprivate(set) var tag: UInt32
    var standing: Standing

    @inline(__always)
    fileprivate static var free: Place { Place(entry: nil, tag: .max, standing: .ofFreePlace) }
  }

  /// A range of places with the same tag.
  typealias Run = Range<Int>

  // A pointer, because an array checks on each access what is known here, and on each change whether it is shared. It is
  // owned by this value alone.
  private var places: UnsafeMutablePointer<Place>
  /// What tags are mapped to.
  private var size: UInt64
  /// How many there are: more than `size`, so that what does not fit at the end needs not go on at the beginning, where the
  /// order would break. The last one is always free and ends every search.
  private(set) var length: Int
  private(set) var count = 0

  init() {
    size = 0
    length = 1
    places = .allocate(capacity: 1)
    places.initialize(to: .free)
  }

  deinit {
    for position in 0..<length { places[position].entry?.release() }
    places.deallocate()
  }

  @inline(__always)
  private func home(of tag: UInt32) -> Int { Self.home(of: tag, size: size) }

  @inline(__always)
  private static func home(of tag: UInt32, size: UInt64) -> Int {
    Int(truncatingIfNeeded: (UInt64(tag) &* size) &>> 32)
  }

  /// Where the places are, and what ``home(of:size:in:)`` needs beside a tag.
  var layout: (places: UnsafeRawPointer, size: UInt64) { (UnsafeRawPointer(places), size) }

  /// Where the first place of a tag would be in a table laid out so.
  @inline(__always)
  static func home(of tag: UInt32, size: UInt64, in places: UnsafeRawPointer) -> UnsafeRawPointer {
    places + home(of: tag, size: size) &* MemoryLayout<Place>.stride
  }

  // MARK: Finding

  /// The first place of a tag, or where it would be.
  @inline(__always)
  private func start(of tag: UInt32) -> Int {
    var position = home(of: tag)
    while places[position].tag < tag { position &+= 1 }
    return position
  }

  /// The place with this tag, if there is one and no other; -1 if there is none, and -2 if there are several.
  ///
  /// - Complexity: O(1) on average.
  @inline(__always)
  func only(_ tag: UInt32) -> Int {
    let position = start(of: tag)
    guard places[position].tag == tag, places[position].entry != nil else { return -1 }
    // There is a place behind: the last one is free.
    return places[position &+ 1].tag == tag && places[position &+ 1].entry != nil ? -2 : position
  }

  /// The places with this tag.
  ///
  /// - Complexity: O(1) on average, and the length of the run.
  @inline(__always)
  func run(of tag: UInt32) -> Run {
    let start = start(of: tag)
    var end = start
    while places[end].tag == tag, places[end].entry != nil { end &+= 1 }
    return Run(uncheckedBounds: (start, end))
  }

  /// The entry of a place.
  @inline(__always)
  subscript(position: Int) -> EntryReference? { places[position].entry }

  @inline(__always)
  func tag(_ position: Int) -> UInt32 { places[position].tag }

  @inline(__always)
  func standing(_ position: Int) -> Standing { places[position].standing }

  @inline(__always)
  mutating func setStanding(_ position: Int, _ standing: Standing) { places[position].standing = standing }

  /// The first place with an entry last used by some time, or else the one used least recently of those looked at.
  ///
  /// - Parameters:
  ///   - first: where to begin; from the end of the table it goes on at its beginning.
  ///   - count: so many places are looked at, and more only if there is no entry in them.
  ///   - limit: the time.
  ///   - kept: not to be given. The table must have another.
  func old(
    from first: Int, count: Int, usedBy limit: UInt32, except kept: Int?
  ) -> (position: Int, places: Int) {
    let (places, kept) = (places, kept ?? -1)
    var oldest = -1
    // As of a free place.
    var least = Standing.timeMask
    var position = first < length ? first : 0
    var seen = 0
    while seen < count || oldest < 0 {
      // A stretch without a turn: nine instructions a place, of which an eviction looks at 32 and more.
      let start = position
      let end = min(length, start &+ max(1, count &- seen))
      while position < end {
        let time = places[position].standing.time
        if time < least, position != kept {
          least = time
          oldest = position
          if time <= limit { return (oldest, seen &+ position &- start &+ 1) }
        }
        position &+= 1
      }
      seen &+= position &- start
      if position == length { position = 0 }
    }
    return (oldest, seen)
  }

  // MARK: Changing

  /// Adds an entry.
  ///
  /// - Complexity: O(1) on average, O(count) when the table grows.
  mutating func insert(_ entry: EntryReference, tag: UInt32, standing: Standing) {
    if (count + 1) * 8 > Int(size) * 7 { rebuild(size: max(16, Int(size) + Int(size) / 8)) }
    while true {
      let position = start(of: tag)
      var free = position
      while places[free].entry != nil { free &+= 1 }
      if free < length - 1 {
        (places + position + 1).update(from: places + position, count: free - position)
        places[position] = Place(entry: entry, tag: tag, standing: standing)
        count += 1
        return
      }
      rebuild(size: Int(size), spare: (length - Int(size)) * 2)
    }
  }

  /// Puts an entry in the place of another of the same tag, and gives that one.
  mutating func replace(_ position: Int, with entry: EntryReference) -> EntryReference? {
    let old = places[position].entry
    places[position].entry = entry
    return old
  }

  /// Takes an entry out and moves up what had been pushed past it.
  ///
  /// - Returns: the entry, and the places that now hold what was one further on.
  mutating func remove(_ position: Int) -> (entry: EntryReference?, moved: Range<Int>) {
    let entry = places[position].entry
    var end = position + 1
    while places[end].entry != nil, home(of: places[end].tag) < end { end += 1 }
    (places + position).update(from: places + position + 1, count: end - position - 1)
    places[end - 1] = .free
    count -= 1
    return (entry, position..<end - 1)
  }

  /// Whether it is so large that half of it could be given back, and that would be worth it.
  var isSparse: Bool { size >= 256 && count * 16 < Int(size) * 7 }

  /// Gives back the places that are no longer needed.
  mutating func compact() {
    rebuild(size: max(16, count * 8 / 7 + 1))
  }

  /// Does something to the standing of every entry.
  mutating func updateStandings(_ change: (inout Standing) -> Void) {
    for position in 0..<length where places[position].entry != nil { change(&places[position].standing) }
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
      places.initialize(repeating: .free, count: length)
      var next = 0
      var isWhole = true
      for position in 0..<oldLength where old[position].entry != nil {
        next = max(next, home(of: old[position].tag))
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
