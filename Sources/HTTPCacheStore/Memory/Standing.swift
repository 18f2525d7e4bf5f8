// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The standing of an entry: the data of the eviction policy, and the mark that memory holds every variant of its key.
/// It is one word in the entry's place in the table.
struct Standing: Sendable {
  private static let complete: UInt32 = 1 << 31
  private static let probation: UInt32 = 1 << 30
  private static let usesShift: UInt32 = 28
  static let timeMask: UInt32 = probation - 1
  static let sequenceMask: UInt32 = 1 << usesShift - 1
  /// S3-FIFO: uses beyond this many do not count.
  static let maximumUses: UInt32 = 3

  /// The standing of a place without an entry. No entry is ever used as late as this time, so a search for old entries
  /// skips it.
  static let ofFreePlace: Standing = {
    var standing = Standing()
    standing.time = timeMask
    return standing
  }()

  /// Hyperbolic: the time of the last use, in units that its order chooses.
  static let coarseTimeMask: UInt32 = 1 << 20 - 1
  private static let sizeClassShift: UInt32 = 20
  private static let sizeClassMask: UInt32 = 0x7F
  private static let countShift: UInt32 = 27
  /// Hyperbolic: uses beyond this many do not count.
  static let maximumCount: UInt32 = 15

  private var word: UInt32 = 0

  /// Everything except ``isComplete``.
  @inline(__always)
  var rank: UInt32 { word & ~Self.complete }

  /// Whether memory holds all variants of the key that the store has. The same for every variant of a key.
  var isComplete: Bool {
    get { word & Self.complete != 0 }
    set { word = newValue ? word | Self.complete : word & ~Self.complete }
  }

  /// LRU: the time of the last use, by the clock of its shard. Less than ``timeMask``.
  @inline(__always)
  var time: UInt32 {
    get { word & Self.timeMask }
    set { word = word & ~Self.timeMask | newValue & Self.timeMask }
  }

  /// S3-FIFO: whether the entry is in the small queue.
  var isOnProbation: Bool {
    get { word & Self.probation != 0 }
    set { word = newValue ? word | Self.probation : word & ~Self.probation }
  }

  /// S3-FIFO: number of uses, up to 3.
  var uses: UInt32 {
    get { word >> Self.usesShift & Self.maximumUses }
    set { word = word & ~(Self.maximumUses << Self.usesShift) | newValue << Self.usesShift }
  }

  /// Hyperbolic: the time of the last use. Less than ``coarseTimeMask``, except in a free place.
  @inline(__always)
  var coarseTime: UInt32 {
    get { word & Self.coarseTimeMask }
    set { word = word & ~Self.coarseTimeMask | newValue & Self.coarseTimeMask }
  }

  /// Hyperbolic: the size of the entry, in quarters of a power of two.
  @inline(__always)
  var sizeClass: UInt32 {
    get { word >> Self.sizeClassShift & Self.sizeClassMask }
    set { word = word & ~(Self.sizeClassMask << Self.sizeClassShift) | newValue << Self.sizeClassShift }
  }

  /// Hyperbolic: number of uses after the first, up to 15.
  @inline(__always)
  var count: UInt32 {
    get { word >> Self.countShift & Self.maximumCount }
    set { word = word & ~(Self.maximumCount << Self.countShift) | newValue << Self.countShift }
  }

  /// S3-FIFO: the number of the entry in its queue.
  var sequence: UInt32 {
    get { word & Self.sequenceMask }
    set { word = word & ~Self.sequenceMask | newValue & Self.sequenceMask }
  }
}
