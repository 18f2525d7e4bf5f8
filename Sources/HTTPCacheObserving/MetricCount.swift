// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CoreMetrics
import Synchronization

/// A counter that only grows, readable here and reported through swift-metrics.
public final class MetricCount: Sendable {
  private let number = Atomic<Int>(0)
  private let counter: Counter

  /// - Parameter factory: the factory of the counter (default: the system's).
  package init(
    _ label: String, _ dimensions: [(String, String)] = [], factory: (any MetricsFactory)? = nil
  ) {
    counter = Counter(label: label, dimensions: dimensions, factory: factory ?? MetricsSystem.factory)
  }

  /// Adds to the count.
  ///
  /// - Returns: the count before.
  @discardableResult
  package func increment(by amount: Int = 1) -> Int {
    counter.increment(by: amount)
    return number.wrappingAdd(amount, ordering: .relaxed).oldValue
  }

  /// The count since the process started.
  public var value: Int { number.load(ordering: .relaxed) }
}
