// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import HTTPCacheEngine

@Suite("Durations as numbers", .timeLimit(.minutes(10)))
struct DurationTests {
  @Test(
    "A duration is rounded down and clamped to the range of integers",
    arguments: [
      (.zero, 0, 0), (.milliseconds(1999), 1, 1999), (.milliseconds(-1), -1, -1),
      (.nanoseconds(1), 0, 0), (.nanoseconds(-1), -1, -1), (.milliseconds(-1500), -2, -1500),
      (.seconds(Int64.max), .max, .max), (.seconds(Int64.min), .min, .min),
      (.seconds(Int64.max) * 2, .max, .max), (.seconds(Int64.min) * 2, .min, .min),
      (.seconds(Int64.min) - .nanoseconds(1), .min, .min),
    ] as [(Duration, Int64, Int64)])
  func wholeNumbers(duration: Duration, seconds: Int64, milliseconds: Int64) {
    #expect(duration.wholeSeconds == seconds)
    #expect(duration.wholeMilliseconds == milliseconds)
  }

  @Test("A maximum heuristic lifetime beyond the range of integers sets no limit")
  func heuristics() throws {
    var configuration = CacheEngine.Configuration(kind: .private)
    configuration.heuristicMaximum = .seconds(Int64.max) * 2
    let stored = try #require(
      CacheEngine(configuration).stored(
        response(200, "Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT", "ETag: \"a\"")))
    #expect(stored.facts.lifetime.seconds == arrival.seconds / 10)
  }

  @Test("An advanced time is clamped to the range of timestamps")
  func times() {
    #expect(arrival.advanced(by: .seconds(Int64.max) * 2) == Timestamp(milliseconds: .max))
    #expect(Timestamp(seconds: -1).advanced(by: .seconds(Int64.min) * 2) == Timestamp(milliseconds: .min))
    #expect(arrival.advanced(by: .milliseconds(1500)).milliseconds == arrival.milliseconds + 1500)
  }
}
