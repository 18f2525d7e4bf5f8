/// A point in time, in milliseconds since 1970-01-01T00:00:00Z.
///
/// The engine has no clock: every question carries the time at which it is asked.
/// All arithmetic saturates, so that no date from the network can overflow (RFC 9111 §1.2.2).
public struct Timestamp: Hashable, Sendable, Comparable {
  /// Milliseconds since the Unix epoch; negative before it.
  public var milliseconds: Int64

  public init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  /// - Parameter seconds: seconds since the Unix epoch.
  public init(seconds: Int64) {
    milliseconds = seconds.saturatingMultiplied(by: 1000)
  }

  /// Whole seconds since the Unix epoch, rounded down.
  public var seconds: Int64 {
    milliseconds >= 0 ? milliseconds / 1000 : (milliseconds + 1) / 1000 - 1
  }

  /// Milliseconds from `earlier` to this; negative if this comes first.
  public func millisecondsSince(_ earlier: Timestamp) -> Int64 {
    milliseconds.saturatingSubtracted(earlier.milliseconds)
  }

  /// This time moved by a number of seconds.
  public func advanced(bySeconds seconds: Int64) -> Timestamp {
    Timestamp(milliseconds: milliseconds.saturatingAdded(seconds.saturatingMultiplied(by: 1000)))
  }

  public static func < (lhs: Timestamp, rhs: Timestamp) -> Bool {
    lhs.milliseconds < rhs.milliseconds
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
