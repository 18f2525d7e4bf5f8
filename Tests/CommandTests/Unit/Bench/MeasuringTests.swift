// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import BenchmarkHarness

/// For files that import Foundation, or both commands, which have another `Measurement`.
typealias BenchMeasurement = BenchmarkHarness.Measurement

@Suite(.timeLimit(.minutes(10))) struct MeasuringTests {
  @Test func `the median is the middle value, or the mean of the two middle values`() {
    #expect(median([]) == nil)
    #expect(median([7]) == 7)
    #expect(median([9, 1, 5]) == 5)
    #expect(median([4, 1, 3, 2]) == 2.5)
  }

  @Test func `concurrent rounds count their time once, consecutive rounds add it up`() {
    let one = Round(operations: 10, successes: 9, nanoseconds: 100)
    let other = Round(operations: 20, successes: 20, nanoseconds: 150)
    var together = one
    together.join(other)
    #expect(together.operations == 30)
    #expect(together.successes == 29)
    #expect(together.nanoseconds == 150)
    var inTurn = one
    inTurn.append(other)
    #expect(inTurn.nanoseconds == 250)
  }
}
