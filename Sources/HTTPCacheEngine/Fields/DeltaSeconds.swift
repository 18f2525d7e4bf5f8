// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A non-negative number of seconds, as in `max-age` and `Age` (RFC 9111 §1.2.2).
///
/// A larger number counts as 2147483648 seconds, which stands for infinity.
public struct DeltaSeconds: Hashable, Sendable, Comparable, ExpressibleByIntegerLiteral {
  /// Seconds, from 0 to 2147483648.
  package let seconds: Int64

  /// The time, 0 to 2147483648 seconds.
  public var duration: Duration { .seconds(seconds) }

  /// The value for a number that is too large: 2^31 seconds (§1.2.2).
  public static let infinity = DeltaSeconds(2_147_483_648)

  /// Clamps `seconds` into 0...2147483648.
  package init(_ seconds: Int64) {
    self.seconds = Swift.min(Swift.max(seconds, 0), 2_147_483_648)
  }

  /// Clamps the literal into 0...2147483648.
  public init(integerLiteral value: Int64) {
    self.init(value)
  }

  /// Parses `1*DIGIT`; returns `nil` for anything else, including a sign or a fraction.
  package init?(parsing text: String) {
    guard let value = text.withFieldBytes({ DeltaSeconds(parsing: $0, in: $0.whole) }) else { return nil }
    self = value
  }

  init?(parsing bytes: Span<UInt8>, in range: ByteRange) {
    guard !range.isEmpty else { return nil }
    var value: Int64 = 0
    if range.count <= 9 {
      // Few digits cannot be too large: less than half the instructions.
      for index in range.start..<range.end {
        let digit = bytes[index] &- 0x30
        guard digit <= 9 else { return nil }
        value = value &* 10 &+ Int64(digit)
      }
      self.init(value)
      return
    }
    for index in range.start..<range.end {
      let byte = bytes[index]
      guard byte.isDigit else { return nil }
      // Saturates instead of overflowing, and continues: the rest must be digits too.
      value = Swift.min(value * 10 + Int64(byte - 0x30), 2_147_483_648)
    }
    self.init(value)
  }

  var milliseconds: Int64 { seconds * 1000 }

  public static func < (lhs: DeltaSeconds, rhs: DeltaSeconds) -> Bool {
    lhs.seconds < rhs.seconds
  }
}
