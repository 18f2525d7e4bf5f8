// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The order of ``EvictionPolicy/hyperbolic``.
///
/// It keeps the time of the last use, the size and the number of uses in each place of the table, and computes from them how
/// much an entry is worth. Eviction goes round the table, as that of ``LRU`` does, for an entry that is worth little enough.
///
/// An entry is worth `uses^1.2 / (size × age^0.7)`; the age is the time since the last use. The exponents are from a web trace
/// with sizes between 1 byte and 100 MB (AdaptSize): with both at 1, as published, 69.1, 63.0 and 61.4 % of the requests miss
/// at 2, 10 and 20 % of the bytes; with these, 68.1, 62.7 and 61.2 %.
struct Hyperbolic {
  /// The average number of places that an eviction should look at.
  private static let placesPerVictim = 64
  /// Worth is a logarithm, in sixteenths of a power of two. This is `16 × 1.2 × log2(1 + count)`.
  private static let worthOfCount: [Int32] = (0...15).map { count in
    Int32(logarithm(UInt32(count + 1)) * 6 / 5)
  }

  /// Number of uses so far, less what was subtracted to keep times small.
  private var clock: UInt64 = 0
  /// Times count in units of this many uses, as a shift.
  private var unitShift: UInt64 = 0
  /// The worth up to which an entry is evicted, in units of 1/256 of a sixteenth.
  private var limit = Int32.min
  private var hand = EvictionHand()

  // Apart, because lookups contain `use`: with this in it, each lookup took 40 instructions more, a miss 25.
  @inline(never)
  mutating func use(_ position: Int, in table: inout EntryTable) {
    var standing = table.standing(position)
    standing.coarseTime = tick(&table)
    if standing.count < Standing.maximumCount { standing.count += 1 }
    table.setStanding(position, standing)
  }

  mutating func add(cost: Int, in table: inout EntryTable) -> Standing {
    var standing = Standing()
    standing.coarseTime = tick(&table)
    standing.sizeClass = Self.sizeClass(of: cost)
    return standing
  }

  static func replace(_ position: Int, by newCost: Int, in table: inout EntryTable) {
    var standing = table.standing(position)
    standing.sizeClass = sizeClass(of: newCost)
    table.setStanding(position, standing)
  }

  // MARK: Time

  /// Counts a use, and returns its time.
  @inline(__always)
  private mutating func tick(_ table: inout EntryTable) -> UInt32 {
    clock &+= 1
    if clock >> unitShift >= UInt64(Standing.coarseTimeMask) { compress(&table) }
    return UInt32(truncatingIfNeeded: clock >> unitShift)
  }

  /// Makes all times smaller: with a longer unit if the shard is so large that the ages in it would not fit, otherwise by
  /// half of the range, so that older times become equal. Once in half a million uses.
  @inline(never)
  private mutating func compress(_ table: inout EntryTable) {
    let half = (Standing.coarseTimeMask + 1) / 2
    if UInt64(table.count) * 16 > UInt64(half) << unitShift {
      unitShift += 1
      table.updateStandings { $0.coarseTime /= 2 }
    } else {
      clock -= UInt64(half) << unitShift
      table.updateStandings { $0.coarseTime = $0.coarseTime > half ? $0.coarseTime - half : 0 }
    }
  }

  // MARK: Worth

  /// Returns a size in quarters of a power of two.
  private static func sizeClass(of cost: Int) -> UInt32 {
    UInt32(min(127, logarithm(UInt32(clamping: max(1, cost))) / 4))
  }

  /// Returns a logarithm to the base 2, in sixteenths, with straight lines between the powers.
  @inline(__always)
  private static func logarithm(_ value: UInt32) -> Int32 {
    let power = Int32(31 &- value.leadingZeroBitCount)
    let fraction = Int32((UInt64(value) &<< 4) &>> UInt64(power)) & 15
    return power &* 16 &+ fraction
  }

  /// Returns the worth of an entry; the greatest number for a free place.
  @inline(__always)
  private func worth(_ standing: Standing, at now: UInt32) -> Int32 {
    let time = standing.coarseTime
    guard time != Standing.coarseTimeMask else { return .max }
    let age = Self.logarithm(now &- time &+ 1)
    return Self.worthOfCount[Int(standing.count)] &- Int32(standing.sizeClass) &* 4 &- (age &* 11) / 16
  }

  // MARK: Evicting

  mutating func victim(except kept: Int?, in table: borrowing EntryTable) -> Int? {
    if let chosen = hand.takeChosen(except: kept, in: table) { return chosen }
    return search(except: kept, in: table)
  }

  mutating func prepareNext(in table: borrowing EntryTable) -> EntryReference? {
    guard table.length > EvictionHand.mostPlaces, let next = search(except: nil, in: table) else {
      return nil
    }
    return hand.choose(next, in: table)
  }

  /// Searches from the hand on, and returns an entry that is worth little; `nil` if the excepted entry is the only one.
  private mutating func search(except kept: Int?, in table: borrowing EntryTable) -> Int? {
    let now = UInt32(truncatingIfNeeded: clock >> unitShift)
    let isSmall = table.length <= EvictionHand.mostPlaces
    let bound = isSmall ? Int32.min : limit >> 8
    var position = isSmall || hand.position >= table.length ? 0 : hand.position
    var least = Int32.max
    var found: Int?
    var seen = 0
    // More places only if these hold no entry.
    while seen < (isSmall ? table.length : EvictionHand.mostPlaces) || (found == nil && seen < table.length) {
      let worth = worth(table.standing(position), at: now)
      if worth < least, position != kept {
        least = worth
        found = position
        if worth <= bound { break }
      }
      seen += 1
      position += 1
      if position == table.length { position = 0 }
    }
    guard let found, !isSmall else { return found }
    hand.position = found
    if limit == .min {
      limit = least << 8
    } else {
      // Rises when the search was long. A thousand evictions change it by about a power of two. It must be about the same
      // for the whole round, as the age of ``LRU``.
      limit += Int32(seen - Self.placesPerVictim) / 2
    }
    return found
  }
}

extension Standing {
  fileprivate static let coarseTimeMask: UInt32 = 1 << 20 - 1
  /// Hyperbolic: uses beyond this many do not count.
  fileprivate static let maximumCount: UInt32 = 15

  /// Hyperbolic: the time of the last use. Less than ``coarseTimeMask``, except in a free place.
  @inline(__always)
  fileprivate var coarseTime: UInt32 {
    get { self[0, Self.coarseTimeMask] }
    set { self[0, Self.coarseTimeMask] = newValue }
  }

  /// Hyperbolic: the size of the entry, in quarters of a power of two.
  @inline(__always)
  fileprivate var sizeClass: UInt32 {
    get { self[20, 0x7F] }
    set { self[20, 0x7F] = newValue }
  }

  /// Hyperbolic: number of uses after the first, up to 15.
  @inline(__always)
  fileprivate var count: UInt32 {
    get { self[27, Self.maximumCount] }
    set { self[27, Self.maximumCount] = newValue }
  }
}
