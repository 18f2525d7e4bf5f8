// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The standing of an entry: the data of the eviction policy, and the mark that memory holds every variant of its key.
/// It is one word in the entry's place in the table. The fields of a policy are in the file of the policy.
struct Standing: Sendable {
  private static let complete: UInt32 = 1 << 31

  /// The standing of a place without an entry. No entry is ever used as late as this time, so a search for old entries
  /// skips it.
  static let ofFreePlace: Standing = {
    var standing = Standing()
    standing.time = timeMask
    return standing
  }()

  private var word: UInt32 = 0

  /// A field of the policy: the bits of a mask, from a bit on.
  @inline(__always)
  subscript(shift: UInt32, mask: UInt32) -> UInt32 {
    get { word >> shift & mask }
    set { word = word & ~(mask << shift) | (newValue & mask) << shift }
  }

  /// Everything except ``isComplete``.
  @inline(__always)
  var rank: UInt32 { word & ~Self.complete }

  /// Whether memory holds all variants of the key that the store has. The same for every variant of a key.
  var isComplete: Bool {
    get { word & Self.complete != 0 }
    set { word = newValue ? word | Self.complete : word & ~Self.complete }
  }
}
