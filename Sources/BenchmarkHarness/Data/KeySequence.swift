// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation

/// How often each key is requested.
package enum Distribution: String, CaseIterable, Codable, Sendable, ExpressibleByArgument {
  /// A few keys often, most seldom, as on the web.
  case zipf
  /// All equally often.
  case uniform
}

/// Key numbers drawn in advance, so that drawing is not part of the measurement.
package struct KeySequence: Sendable {
  package static let defaultLength = 1 << 18

  package let indices: [UInt32]

  /// - Parameter stream: another number gives another sequence of the same seed; each thread has its own.
  package init(
    keys: Int, distribution: Distribution, exponent: Double, seed: UInt64, stream: Int,
    length: Int = defaultLength
  ) {
    var generator = SplitMix64(seed: seed &+ UInt64(stream) &* 0xD1B5_4A32_D192_ED03)
    switch distribution {
    case .uniform:
      indices = (0..<length).map { _ in UInt32(Int.random(in: 0..<keys, using: &generator)) }
    case .zipf:
      // Popular keys must be spread over memory: the same shuffle for all threads.
      let order = Self.shuffle(keys: keys, seed: seed)
      let sampler = ZipfSampler(count: keys, exponent: exponent)
      indices = (0..<length).map { _ in order[sampler.sample(using: &generator)] }
    }
  }

  /// Every key once.
  package static func shuffle(keys: Int, seed: UInt64) -> [UInt32] {
    var generator = SplitMix64(seed: seed ^ 0x5DEE_CE66)
    return (0..<UInt32(keys)).shuffled(using: &generator)
  }
}

/// A small generator whose sequence is fixed by its seed (Steele, Lea and Flood, 2014).
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number from 0 up to, not including, 1.
  package mutating func nextUnit() -> Double { Double(next() >> 11) * 0x1p-53 }
}

/// Draws ranks from 0 up to `count`; the probability of rank `k` is proportional to `1 / (k + 1)^exponent`.
///
/// Rejection-inversion (Hörmann and Derflinger, 1996): exact, without a table, in constant time for any count.
package struct ZipfSampler: Sendable {
  private let count: Int
  private let exponent: Double
  private let integralAtFirst: Double
  private let integralAtLast: Double
  private let acceptance: Double

  /// - Precondition: `count` and `exponent` are above 0.
  package init(count: Int, exponent: Double) {
    precondition(count > 0 && exponent > 0)
    self.count = count
    self.exponent = exponent
    integralAtFirst = Self.integral(1.5, exponent) - 1
    integralAtLast = Self.integral(Double(count) + 0.5, exponent)
    acceptance =
      2 - Self.inverse(Self.integral(2.5, exponent) - Self.density(2, exponent), exponent)
  }

  package func sample(using generator: inout SplitMix64) -> Int {
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
