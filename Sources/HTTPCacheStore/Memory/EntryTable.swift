// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CPlatform

/// The entries of a shard: an open-addressing table in the order of their tags.
///
/// A place is 16 bytes: a counted reference to the entry, the tag, and the data of the eviction policy. So a hit
/// touches one line of the table and then the entry itself. Eviction looks at a row of places without touching any
/// entry.
///
/// The home of a place depends only on its tag, and grows with it, so the used places are sorted. A search therefore
/// ends at the first greater tag, for a miss as early as for a hit. That allows seven of eight places to be used. The
/// variants of a key are neighbours and need no chain. Growing and removing move places without reading the hash of any
/// entry. There are no tombstones.
///
/// A position is valid until the next insert or removal.
// Unchecked because of the pointer: this value alone owns its target, cannot be copied, and never passes it on.
struct EntryTable: ~Copyable, @unchecked Sendable {
  /// Maximum places of the table for each entry, not counting the first few: the table grows when seven of eight places
  /// are used, and it grows by an eighth.
  static let placesPerEntry = 9.0 / 7

  struct Place {
    /// `nil` in a free place, whose tag is the maximum.
    fileprivate(set) var entry: EntryReference?
    fileprivate(set) var tag: UInt32
    var standing: Standing

    @inline(__always)
    fileprivate static var free: Place { Place(entry: nil, tag: .max, standing: .ofFreePlace) }
  }

  /// A range of places with the same tag.
  typealias Run = Range<Int>

  // A pointer, because an array would check on each access what is known here, and on each change whether it is shared.
  // This value alone owns it.
  private var places: UnsafeMutablePointer<Place>
  /// The number of homes that tags are mapped to.
  private var size: UInt64
  /// The number of places. It is more than `size`, so that places that do not fit at the end need not continue at the
  /// beginning, where they would break the order. The last place is always free and ends every search.
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

  /// Passes on all entries, with their references, in the memory of the table, which the caller deallocates. Behind them
  /// it has room for as many.
  consuming func takeEntries() -> (
    entries: UnsafeMutableBufferPointer<EntryReference>, room: UnsafeMutablePointer<EntryReference>
  ) {
    let (places, length, count) = (places, length, count)
    discard self
    let memory = UnsafeMutableRawPointer(places)
    // An entry takes half of the memory of its place.
    var end = 0
    for position in 0..<length {
      guard let entry = places[position].entry else { continue }
      memory.storeBytes(of: entry, toByteOffset: end, as: EntryReference.self)
      end += MemoryLayout<EntryReference>.stride
    }
    let entries = memory.bindMemory(to: EntryReference.self, capacity: 2 * count)
    return (UnsafeMutableBufferPointer(start: entries, count: count), entries + count)
  }

  @inline(__always)
  private func home(of tag: UInt32) -> Int { Self.home(of: tag, size: size) }

  @inline(__always)
  private static func home(of tag: UInt32, size: UInt64) -> Int {
    Int(truncatingIfNeeded: (UInt64(tag) &* size) &>> 32)
  }

  /// The address of the places, and the size that ``prefetch(_:size:in:)`` needs in addition to a tag.
  var layout: (places: UnsafeRawPointer, size: UInt64) { (UnsafeRawPointer(places), size) }

  /// Returns the address of a tag's first place in a table with this layout.
  @inline(__always)
  private static func home(of tag: UInt32, size: UInt64, in places: UnsafeRawPointer) -> UnsafeRawPointer {
    places + home(of: tag, size: size) &* MemoryLayout<Place>.stride
  }

  /// Prefetches the first places of a tag in a table with this layout. Half of the entries are in the second line, for
  /// tables are nearly full.
  @inline(__always)
  static func prefetch(_ tag: UInt32, size: UInt64, in places: UnsafeRawPointer) {
    let home = home(of: tag, size: size, in: places)
    store_prefetch(home)
    store_prefetch(home + 64)
  }

  @inline(__always)
  func prefetch(_ tag: UInt32) { Self.prefetch(tag, size: size, in: places) }

  // MARK: Finding

  /// Returns the first place of a tag, or where it would be.
  @inline(__always)
  private func start(of tag: UInt32) -> Int {
    var position = home(of: tag)
    while places[position].tag < tag { position &+= 1 }
    return position
  }

  /// Returns the place with this tag if there is exactly one; -1 if there is none, and -2 if there are several.
  ///
  /// - Complexity: O(1) on average.
  @inline(__always)
  func only(_ tag: UInt32) -> Int {
    let position = start(of: tag)
    guard places[position].tag == tag, places[position].entry != nil else { return -1 }
    // There is always a next place: the last one is free.
    return places[position &+ 1].tag == tag && places[position &+ 1].entry != nil ? -2 : position
  }

  /// Returns the places with this tag.
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

  /// Visits the entries with this tag and greater ones, in the order of their tags: so many places, and the rest of the
  /// last tag.
  ///
  /// - Returns: the tag to continue with, whatever was added or removed meanwhile; `nil` at the end.
  @inline(__always)
  func visit(from tag: UInt32, placeCount: Int, _ work: (EntryReference) -> Void) -> UInt32? {
    var position = start(of: tag)
    let end = position + placeCount
    for ahead in position..<min(length, position + Self.visitDistance) { places[ahead].entry?.prefetchKey() }
    var last: UInt32?
    while position < length {
      if let entry = places[position].entry {
        let tag = places[position].tag
        if position >= end, tag != last { return tag }
        last = tag
        work(entry)
      }
      let ahead = position + Self.visitDistance
      if ahead < min(length, end) { places[ahead].entry?.prefetchKey() }
      position += 1
    }
    return nil
  }
  /// How many places ahead ``visit(from:placeCount:_:)`` prefetches.
  private static let visitDistance = 16

  @inline(__always)
  func tag(_ position: Int) -> UInt32 { places[position].tag }

  @inline(__always)
  func standing(_ position: Int) -> Standing { places[position].standing }

  @inline(__always)
  mutating func setStanding(_ position: Int, _ standing: Standing) { places[position].standing = standing }

  /// How many places the entries are past their homes, on average. Each insert and removal moves about as many.
  ///
  /// - Complexity: O(places).
  var meanDisplacement: Double {
    var sum = 0
    for position in 0..<length where places[position].entry != nil {
      sum += position - home(of: places[position].tag)
    }
    return count == 0 ? 0 : Double(sum) / Double(count)
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

  /// Replaces an entry by another of the same tag, and returns the old one.
  mutating func replace(_ position: Int, with entry: EntryReference) -> EntryReference? {
    let old = places[position].entry
    places[position].entry = entry
    return old
  }

  /// Removes an entry, and moves the entries up that had been pushed past it.
  ///
  /// - Returns: the entry, and the places that now hold what was one place further on.
  mutating func remove(_ position: Int) -> (entry: EntryReference?, moved: Range<Int>) {
    let entry = places[position].entry
    var end = position + 1
    while places[end].entry != nil, home(of: places[end].tag) < end { end += 1 }
    (places + position).update(from: places + position + 1, count: end - position - 1)
    places[end - 1] = .free
    count -= 1
    return (entry, position..<end - 1)
  }

  /// Whether the table is large enough, and empty enough, that releasing half of it is worth it.
  var isSparse: Bool { size >= 256 && count * 16 < Int(size) * 7 }

  /// Releases the places that are no longer needed.
  mutating func compact() {
    rebuild(size: max(16, count * 8 / 7 + 1))
  }

  /// Changes the standing of every entry.
  mutating func updateStandings(_ change: (inout Standing) -> Void) {
    for position in 0..<length where places[position].entry != nil { change(&places[position].standing) }
  }

  /// Moves all entries to a table of another size: they are sorted, so one pass from front to back places them.
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
