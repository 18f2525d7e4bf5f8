// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Synchronization

/// Nanoseconds of a clock that only runs forwards.
enum MonotonicClock {
  static var now: UInt64 { read(CLOCK_MONOTONIC) }

  /// Nanoseconds that the calling thread has had a processor for. Reading it takes a call of the kernel.
  static var ofThread: UInt64 { read(CLOCK_THREAD_CPUTIME_ID) }

  @inline(__always)
  private static func read(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// What reading the clock costs, in nanoseconds: it is a part of every latency, and is not subtracted.
  static func cost() -> Double {
    let reads = 1000
    let rounds = (0..<21).map { _ in
      let start = now
      for _ in 0..<reads { _ = now }
      return Double(now - start) / Double(reads + 1)
    }
    return median(rounds) ?? 0
  }
}

/// The middle of some figures; the mean of the two in the middle if their number is even, `nil` if there are none.
func median(_ figures: [Double]) -> Double? {
  guard !figures.isEmpty else { return nil }
  let sorted = figures.sorted()
  return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
}

/// Takes numbers that are not used, so that the compiler does not leave out what computes them.
enum BlackHole {
  private static let sum = Atomic<Int>(0)

  static func take(_ number: Int) { sum.add(number, ordering: .relaxed) }
}
