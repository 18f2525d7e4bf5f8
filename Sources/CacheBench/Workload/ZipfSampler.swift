import Foundation

/// Draws ranks from 0 up to `count`, rank `k` with a probability in proportion to `1 / (k + 1)^exponent`.
///
/// Rejection-inversion (Hörmann and Derflinger, 1996): exact, without a table, in constant time for any count.
struct ZipfSampler: Sendable {
  private let count: Int
  private let exponent: Double
  private let integralAtFirst: Double
  private let integralAtLast: Double
  private let acceptance: Double

  /// - Precondition: `count` and `exponent` are above 0.
  init(count: Int, exponent: Double) {
    precondition(count > 0 && exponent > 0)
    self.count = count
    self.exponent = exponent
    integralAtFirst = Self.integral(1.5, exponent) - 1
    integralAtLast = Self.integral(Double(count) + 0.5, exponent)
    acceptance =
      2 - Self.inverse(Self.integral(2.5, exponent) - Self.density(2, exponent), exponent)
  }

  func sample(using generator: inout SplitMix64) -> Int {
    while true {
      let point = integralAtLast + generator.nextUnit() * (integralAtFirst - integralAtLast)
      let position = Self.inverse(point, exponent)
      let rank = min(max(position.rounded(), 1), Double(count))
      if rank - position <= acceptance
        || point >= Self.integral(rank + 0.5, exponent) - Self.density(rank, exponent)
      {
        return Int(rank) - 1
      }
    }
  }

  private static func density(_ x: Double, _ exponent: Double) -> Double { exp(-exponent * log(x)) }

  /// The integral of the density from 1 to `x`: `(x^(1-e) - 1) / (1-e)`, and `log(x)` where `e` is 1.
  private static func integral(_ x: Double, _ exponent: Double) -> Double {
    let logarithm = log(x)
    return expm1Ratio((1 - exponent) * logarithm) * logarithm
  }

  private static func inverse(_ value: Double, _ exponent: Double) -> Double {
    let product = max(value * (1 - exponent), -1)
    return exp(log1pRatio(product) * value)
  }

  /// `(e^x - 1) / x`, steady near 0.
  private static func expm1Ratio(_ x: Double) -> Double {
    abs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2 * (1 + x / 3 * (1 + x / 4))
  }

  /// `log(1 + x) / x`, steady near 0.
  private static func log1pRatio(_ x: Double) -> Double {
    abs(x) > 1e-8 ? log1p(x) / x : 1 - x * (0.5 - x * (1.0 / 3 - x / 4))
  }
}
