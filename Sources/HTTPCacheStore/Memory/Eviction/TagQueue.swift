// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A queue of entries by their tags, first in, first out; four bytes each.
///
/// An entry that leaves the table stays in the queue until it comes to the front. Each entry knows the number under
/// which it was added. So the queue recognises a number whose entry is gone, or was added again since.
struct TagQueue {
  /// An upper bound: half of the numbers belong to present entries, and the ring is up to twice as long.
  static let bytesPerEntry = 16

  /// Its size is a power of two.
  private var ring: [UInt32] = []
  private var first: UInt32 = 0
  /// Number of numbers, including those of removed entries.
  private(set) var count = 0

  /// Makes an empty queue continue with the numbers after those of another queue.
  mutating func begin(behind other: TagQueue) {
    first = other.first &+ UInt32(truncatingIfNeeded: other.count)
  }

  /// Adds an entry and returns its number, of which ``Standing/sequenceMask`` counts.
  mutating func append(_ tag: UInt32) -> UInt32 {
    if count == ring.count { grow() }
    let number = first &+ UInt32(truncatingIfNeeded: count)
    ring[Int(number) & (ring.count - 1)] = tag
    count += 1
    return number & Standing.sequenceMask
  }

  /// The tag and the number that were added first.
  var front: (tag: UInt32, number: UInt32)? {
    count == 0 ? nil : (ring[Int(first) & (ring.count - 1)], first & Standing.sequenceMask)
  }

  /// The tag that was added so many after the first.
  func tag(_ offset: Int) -> UInt32? {
    offset < count ? ring[Int(first &+ UInt32(truncatingIfNeeded: offset)) & (ring.count - 1)] : nil
  }

  mutating func removeFirst() {
    first &+= 1
    count -= 1
  }

  private mutating func grow() {
    var new = [UInt32](repeating: 0, count: Swift.max(16, ring.count * 2))
    for offset in 0..<count {
      let number = Int(first &+ UInt32(truncatingIfNeeded: offset))
      new[number & (new.count - 1)] = ring[number & (ring.count - 1)]
    }
    ring = new
  }
}
