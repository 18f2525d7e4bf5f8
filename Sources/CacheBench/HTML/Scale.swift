import Foundation

/// How figures lie on an axis, and where its marks are.
struct Scale {
  struct Mark {
    var value: Double
    var label: String
  }

  var marks: [Mark]
  private let transform: @Sendable (Double) -> Double
  private let first: Double
  private let last: Double

  /// Where a figure lies, from 0 to 1; `nil` where it cannot lie on the axis.
  func position(_ value: Double) -> Double? {
    let place = transform(value)
    guard place.isFinite, last > first else { return nil }
    return min(1, max(0, (place - first) / (last - first)))
  }

  /// From 0, or from below the smallest figure, to above the largest, with some four marks.
  static func linear(_ values: [Double], fromZero: Bool, label: (Double) -> String) -> Scale {
    // What is larger lies at the edge.
    let values = values.filter { abs($0) < 1e300 }
    let largest = values.max() ?? 1
    let smallest = fromZero ? 0 : values.min() ?? 0
    let span = largest - smallest > 0 ? largest - smallest : max(abs(largest), 1)
    let power = pow(10, (log10(span / 4)).rounded(.down))
    let step = [1, 2, 2.5, 5, 10].map { $0 * power }.first { span / $0 <= 5 } ?? span
    let low = (smallest / step).rounded(.down)
    let high = max(low + 1, (largest / step).rounded(.up))
    // Few, also where the figures are so large that a step is lost in them.
    let count = min(12, max(1, Int(min(12, high - low))))
    let marks = (0...count).map {
      Mark(value: (low + Double($0)) * step, label: label((low + Double($0)) * step))
    }
    return Scale(marks: marks, transform: { $0 }, first: low * step, last: (low + Double(count)) * step)
  }

  /// Powers of ten around all figures, which are above 0.
  static func logarithmic(_ values: [Double], label: (Double) -> String) -> Scale {
    let values = values.filter { $0.isFinite && $0 > 0 }
    let low = log10(values.min() ?? 1).rounded(.down)
    let high = max(low + 1, log10(values.max() ?? 10).rounded(.up))
    let step = max(1, ((high - low) / 6).rounded(.up))
    let marks = stride(from: low, through: high, by: step).map {
      Mark(value: pow(10, $0), label: label(pow(10, $0)))
    }
    return Scale(marks: marks, transform: { log10($0) }, first: low, last: high)
  }

  /// Percents of a distribution, so that 90, 99, 99.9… lie at equal distances.
  static let nines = Scale(
    marks: [0, 50, 90, 99, 99.9, 99.99].map { percent in
      Mark(value: percent, label: percent == percent.rounded() ? "\(Int(percent))" : "\(percent)")
    },
    transform: { -log10(1 - min(99.99, max(0, $0)) / 100) }, first: 0, last: 4)

  /// Some figures at equal distances, in their order.
  static func steps(_ values: [Double], label: (Double) -> String) -> Scale {
    let sorted = Set(values.filter(\.isFinite)).sorted()
    return Scale(
      marks: sorted.map { Mark(value: $0, label: label($0)) },
      transform: { value in sorted.firstIndex(of: value).map(Double.init) ?? .nan },
      first: -0.25, last: Double(sorted.count) - 0.75)
  }
}
