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

  static func count(_ number: Int) -> String {
    let digits = String(number.magnitude)
    var grouped = ""
    for (position, digit) in digits.enumerated() {
      if position > 0, (digits.count - position).isMultiple(of: 3) { grouped.append(",") }
      grouped.append(digit)
    }
    return (number < 0 ? "-" : "") + grouped
  }

  private static func digits(_ value: Double) -> String {
    switch abs(value) {
    case ..<10: String(format: "%.2f", value)
    case ..<100: String(format: "%.1f", value)
    default: count(Int(value.rounded()))
    }
  }
}
