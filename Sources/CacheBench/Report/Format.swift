import Foundation

/// Figures as people read them: three digits and a unit.
enum Format {
  static func duration(_ nanoseconds: Double) -> String {
    switch nanoseconds {
    case ..<1000: digits(nanoseconds) + " ns"
    case ..<1_000_000: digits(nanoseconds / 1000) + " µs"
    case ..<1_000_000_000: digits(nanoseconds / 1_000_000) + " ms"
    default: digits(nanoseconds / 1_000_000_000) + " s"
    }
  }

  static func rate(_ perSecond: Double) -> String {
    switch perSecond {
    case ..<1000: digits(perSecond) + "/s"
    case ..<1_000_000: digits(perSecond / 1000) + " k/s"
    default: digits(perSecond / 1_000_000) + " M/s"
    }
  }

  static func bytes(_ bytes: Double) -> String {
    switch bytes {
    case ..<1024: digits(bytes) + " B"
    case ..<1_048_576: digits(bytes / 1024) + " KiB"
    case ..<1_073_741_824: digits(bytes / 1_048_576) + " MiB"
    default: digits(bytes / 1_073_741_824) + " GiB"
    }
  }

  static func times(_ ratio: Double) -> String { digits(ratio) + "x" }

  static func percent(_ share: Double) -> String { String(format: "%.1f %%", share * 100) }

  // For the marks of an axis, where there is little room and all figures are round.

  static func shortRate(_ perSecond: Double) -> String {
    switch abs(perSecond) {
    case ..<1000: trimmed(perSecond)
    case ..<1_000_000: trimmed(perSecond / 1000) + " k"
    default: trimmed(perSecond / 1_000_000) + " M"
    }
  }

  static func shortDuration(_ nanoseconds: Double) -> String {
    switch nanoseconds {
    case ..<1000: trimmed(nanoseconds) + " ns"
    case ..<1_000_000: trimmed(nanoseconds / 1000) + " µs"
    case ..<1_000_000_000: trimmed(nanoseconds / 1_000_000) + " ms"
    default: trimmed(nanoseconds / 1_000_000_000) + " s"
    }
  }

  static func shortPercent(_ share: Double) -> String { trimmed(share * 100) + " %" }

  private static func trimmed(_ value: Double) -> String { String(format: "%.4g", value) }

  /// A difference of two shares.
  static func points(_ share: Double) -> String { String(format: "%.2f points", share * 100) }

  static func count(_ number: Int) -> String {
    let digits = String(number.magnitude)
    var grouped = ""
    for (position, digit) in digits.enumerated() {
      if position > 0, (digits.count - position).isMultiple(of: 3) { grouped.append(",") }
      grouped.append(digit)
    }
    return (number < 0 ? "-" : "") + grouped
  }

  /// A figure that is meant to be whole.
  static func whole(_ value: Double) -> String {
    abs(value) < 1e15 ? count(Int(value.rounded())) : digits(value)
  }

  private static func digits(_ value: Double) -> String {
    switch abs(value) {
    // Beyond what a whole number holds; only a report that somebody wrote by hand has such figures.
    case 1e15...: String(format: "%.2e", value)
    case ..<10: String(format: "%.2f", value)
    case ..<100: String(format: "%.1f", value)
    case ..<1e15: count(Int(value.rounded()))
    default: "?"  // no number
    }
  }
}
