// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The stored ranges of a representation that is not stored completely (RFC 9111 §3.3).
///
/// The stored content is these ranges in order.
package struct StoredParts: Hashable, Sendable {
  /// Positions in the representation: not empty, in order, and with a gap between any two.
  package let ranges: [Range<Int64>]
  /// The length of the whole representation in bytes, if the origin has sent it.
  package let completeLength: Int64?
  /// Whether the parts came with a strong validator, so that others may be combined with them (§3.4).
  ///
  /// It is decided once. With the `Date` of a later update, a modification date that was too recent to be strong would
  /// look strong (RFC 9110 §8.8.2.2).
  package let isCombinable: Bool

  /// Maximum number of separate ranges: every answer reads them all.
  static let limit = 64

  /// Makes the parts; `nil` if the ranges are invalid, or are the complete representation.
  init?(ranges: [Range<Int64>], completeLength: Int64?, isCombinable: Bool) {
    guard let last = ranges.last, ranges.count <= Self.limit else { return nil }
    var end: Int64 = -1
    for range in ranges {
      guard !range.isEmpty, range.lowerBound > end else { return nil }
      end = range.upperBound
    }
    if let completeLength {
      guard last.upperBound <= completeLength, ranges != [0..<completeLength] else { return nil }
    }
    self.ranges = ranges
    self.completeLength = completeLength
    self.isCombinable = isCombinable
  }

  /// The number of stored bytes.
  package var count: Int64 { ranges.reduce(0) { $0 + Int64($1.count) } }

  /// Returns the number of stored bytes before a position of the representation: its position in the stored content.
  func count(before position: Int64) -> Int64 {
    ranges.reduce(0) { $0 + Int64($1.clamped(to: 0..<Swift.max(0, position)).count) }
  }

  /// Returns the range in the stored content of these bytes of the representation; `nil` if some of them are missing.
  ///
  /// - Complexity: O(*n*) in the number of ranges, of which there are few.
  func storedRange(of range: Range<Int64>) -> Range<Int64>? {
    var start: Int64 = 0
    for part in ranges {
      if part.lowerBound <= range.lowerBound, range.upperBound <= part.upperBound {
        let first = start + (range.lowerBound - part.lowerBound)
        return first..<first + Int64(range.count)
      }
      start += Int64(part.count)
    }
    return nil
  }

  /// Returns the ranges with another one added: ranges that overlap or touch become one.
  static func union(_ ranges: [Range<Int64>], _ added: Range<Int64>) -> [Range<Int64>] {
    var (before, joined, after) = ([Range<Int64>](), added, [Range<Int64>]())
    for range in ranges {
      if range.upperBound < added.lowerBound {
        before.append(range)
      } else if range.lowerBound > added.upperBound {
        after.append(range)
      } else {
        joined =
          Swift.min(joined.lowerBound, range.lowerBound)..<Swift.max(joined.upperBound, range.upperBound)
      }
    }
    return before + [joined] + after
  }

  /// The only missing range; `nil` if there are several. Its end is `nil` if the length is unknown.
  var onlyGap: (first: Int64, end: Int64?)? {
    switch (ranges.count, completeLength) {
    case (1, nil): ranges[0].lowerBound == 0 ? (ranges[0].upperBound, nil) : nil
    case (1, let length?):
      if ranges[0].lowerBound == 0 {
        (ranges[0].upperBound, length)
      } else {
        ranges[0].upperBound == length ? (0, ranges[0].lowerBound) : nil
      }
    case (2, let length?):
      ranges[0].lowerBound == 0 && ranges[1].upperBound == length
        ? (ranges[0].upperBound, ranges[1].lowerBound) : nil
    default: nil
    }
  }
}
