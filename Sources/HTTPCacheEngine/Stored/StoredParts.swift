// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Which bytes of a representation are stored, where that is not all of them (RFC 9111 §3.3).
///
/// The stored content is these ranges one after the other.
package struct StoredParts: Hashable, Sendable {
  /// Positions in the representation: none empty, in order, and with a gap between any two.
  package let ranges: [Range<Int64>]
  /// The length of the whole representation in bytes, where the origin has said it.
  package let completeLength: Int64?
  /// Whether the parts came with a strong validator, so that others may be combined with them (§3.4).
  ///
  /// It is noted once and for all: a modification date that was too recent to be strong would look strong beside the
  /// `Date` of a later update (RFC 9110 §8.8.2.2).
  package let isCombinable: Bool

  /// The most ranges that are kept apart: every answer looks through them.
  static let limit = 64

  /// `nil` where the ranges are not as they must be, or are the whole.
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

  /// How many bytes are stored.
  package var count: Int64 { ranges.reduce(0) { $0 + Int64($1.count) } }

  /// How many of the stored bytes come before a position of the representation: where it is in the stored content.
  func count(before position: Int64) -> Int64 {
    ranges.reduce(0) { $0 + Int64($1.clamped(to: 0..<Swift.max(0, position)).count) }
  }

  /// Where these bytes of the representation are in the stored content; `nil` if not all of them are there.
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

  /// The ranges with another among them: what overlaps or touches is one.
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

  /// The one run of bytes that is missing; `nil` if there are several. Its end is `nil` where the length is not known.
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
