// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A point in time, in milliseconds since 1970-01-01T00:00:00Z.
///
/// The engine has no clock: each call gets the present time as a parameter. All arithmetic saturates, so that no date
/// from the network can overflow (RFC 9111 §1.2.2).
public struct Timestamp: Hashable, Sendable, InstantProtocol {
  package var milliseconds: Int64

  package init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  /// - Parameter millisecondsSince1970: milliseconds since the Unix epoch; negative before it.
  public init(millisecondsSince1970: Int64) {
    milliseconds = millisecondsSince1970
  }

  /// - Parameter secondsSince1970: seconds since the Unix epoch; negative before it.
  public init(secondsSince1970: Int64) {
    milliseconds = secondsSince1970.saturatingMultiplied(by: 1000)
  }

  package init(seconds: Int64) {
    self.init(secondsSince1970: seconds)
  }

  /// Milliseconds since the Unix epoch; negative before it.
  public var millisecondsSince1970: Int64 { milliseconds }

  /// Whole seconds since the Unix epoch, rounded down.
  package var seconds: Int64 {
    milliseconds >= 0 ? milliseconds / 1000 : (milliseconds + 1) / 1000 - 1
  }

  /// Returns the milliseconds from `earlier` to this time; negative if this comes first.
  package func millisecondsSince(_ earlier: Timestamp) -> Int64 {
    milliseconds.saturatingSubtracted(earlier.milliseconds)
  }

  /// Returns this time moved by a number of seconds.
  package func advanced(bySeconds seconds: Int64) -> Timestamp {
    Timestamp(milliseconds: milliseconds.saturatingAdded(seconds.saturatingMultiplied(by: 1000)))
  }

  /// Returns this time moved by a number of milliseconds.
  package func advanced(byMilliseconds milliseconds: Int64) -> Timestamp {
    Timestamp(milliseconds: self.milliseconds.saturatingAdded(milliseconds))
  }

  /// Returns this time moved by a duration, which is rounded down to milliseconds.
  public func advanced(by duration: Duration) -> Timestamp {
    Timestamp(milliseconds: milliseconds.saturatingAdded(duration.wholeMilliseconds))
  }

  /// Returns the duration from this time to another; negative if the other comes first.
  public func duration(to other: Timestamp) -> Duration {
    .milliseconds(other.millisecondsSince(self))
  }

  public static func < (lhs: Timestamp, rhs: Timestamp) -> Bool {
    lhs.milliseconds < rhs.milliseconds
  }
}

extension Duration {
  /// The whole seconds, rounded down; saturates.
  package var wholeSeconds: Int64 {
    let (seconds, attoseconds) = boundedComponents
    return attoseconds < 0 ? seconds.saturatingSubtracted(1) : seconds
  }

  /// The whole milliseconds, rounded down; saturates.
  package var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = boundedComponents
    let rest = attoseconds / 1_000_000_000_000_000 - (attoseconds % 1_000_000_000_000_000 < 0 ? 1 : 0)
    return seconds.saturatingMultiplied(by: 1000).saturatingAdded(rest)
  }

  /// The components of the nearest duration that has any. A duration can exceed the seconds of `Int64`, and
  /// `components` then ends the process.
  private var boundedComponents: (seconds: Int64, attoseconds: Int64) {
    Swift.min(Swift.max(self, .seconds(Int64.min)), .seconds(Int64.max)).components
  }
}

extension Int64 {
  func saturatingAdded(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other > 0 ? .max : .min) : sum
  }

  func saturatingSubtracted(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }

  func saturatingMultiplied(by other: Int64) -> Int64 {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
  }
}
