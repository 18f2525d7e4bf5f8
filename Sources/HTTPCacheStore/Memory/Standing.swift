// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// What the policy of eviction keeps of an entry, and the mark that memory holds every variant of its key. One word, beside
/// the entry's place in the table.
struct Standing: Sendable {
  private static let complete: UInt32 = 1 << 31
  private static let probation: UInt32 = 1 << 30
  private static let usesShift: UInt32 = 28
  static let timeMask: UInt32 = probation - 1
  static let sequenceMask: UInt32 = 1 << usesShift - 1
  /// S3-FIFO: uses beyond this many do not count.
  static let maximumUses: UInt32 = 3

  /// Of a place without an entry: no entry was ever used as late as that, so a search for what is old passes it by.
  static let ofFreePlace: Standing = {
    var standing = Standing()
    standing.time = timeMask
    return standing
  }()

  private var word: UInt32 = 0

  /// Of every variant of a key alike: memory holds all of them that the store has.
  var isComplete: Bool {
    get { word & Self.complete != 0 }
    set { word = newValue ? word | Self.complete : word & ~Self.complete }
  }

  /// LRU: when the entry was used last, by the clock of its shard. Less than ``timeMask``.
  @inline(__always)
  var time: UInt32 {
    get { word & Self.timeMask }
    set { word = word & ~Self.timeMask | newValue & Self.timeMask }
  }

  /// S3-FIFO: in the small queue.
  var isOnProbation: Bool {
    get { word & Self.probation != 0 }
    set { word = newValue ? word | Self.probation : word & ~Self.probation }
  }

  /// S3-FIFO: how often the entry was used, up to 3.
  var uses: UInt32 {
    get { word >> Self.usesShift & Self.maximumUses }
    set { word = word & ~(Self.maximumUses << Self.usesShift) | newValue << Self.usesShift }
  }

  /// S3-FIFO: the entry's place in its queue.
  var sequence: UInt32 {
    get { word & Self.sequenceMask }
    set { word = word & ~Self.sequenceMask | newValue & Self.sequenceMask }
  }
}
