// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness

extension SplitMix64 {
  /// Returns one of the usual texts. One call of `count`, on average, returns up to four odd parts instead.
  mutating func text(_ usual: [String], odd: [String], every count: UInt64) -> String {
    if next(upperBound: count) > 0, let one = usual.randomElement(using: &self) { return one }
    return (0..<Int.random(in: 0...4, using: &self)).map { _ in odd.randomElement(using: &self) ?? "" }
      .joined()
  }
}
