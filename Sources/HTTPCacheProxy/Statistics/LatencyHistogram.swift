// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// Times, counted in buckets whose bounds are 1, 2 and 5 times the powers of ten from a tenth of a millisecond to 50
/// seconds: the thresholds that people name.
package final class LatencyHistogram: Sendable {
  /// The upper bounds of the buckets in microseconds; one more bucket follows the last.
  package static let bounds: [Int64] = [100, 1000, 10_000, 100_000, 1_000_000, 10_000_000].flatMap {
    [$0, 2 * $0, 5 * $0]
  }

  private let buckets = Mutex(
    (counts: [Int](repeating: 0, count: bounds.count + 1), microseconds: Int64(0)))

  package func record(microseconds: Int64) {
    let index = Self.bucket(of: microseconds)
    buckets.withLock {
      $0.counts[index] += 1
      $0.microseconds += microseconds
    }
  }

  /// Returns the first bucket whose bound is not below the time.
  private static func bucket(of microseconds: Int64) -> Int {
    // Most are in one of the first.
    bounds.firstIndex { microseconds <= $0 } ?? bounds.count
  }

  package var snapshot: (counts: [Int], microseconds: Int64) { buckets.withLock { $0 } }

  /// Returns the upper bound of the bucket that contains this quantile, in microseconds; `nil` if there are no times.
  package func quantile(_ share: Double) -> Int64? { Self.quantile(share, of: snapshot.counts) }

  static func quantile(_ share: Double, of counts: [Int]) -> Int64? {
    let total = counts.reduce(0, +)
    guard total > 0 else { return nil }
    let rank = Int((Double(total) * share).rounded(.up))
    var sum = 0
    for (index, count) in counts.enumerated() {
      sum += count
      if sum >= Swift.max(rank, 1) {
        return index < Self.bounds.count ? Self.bounds[index] : Self.bounds.last.map { $0 * 2 }
      }
    }
    return nil
  }
}
