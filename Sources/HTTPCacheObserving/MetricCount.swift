// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CoreMetrics
import Synchronization

/// A number that only grows: to be read here, and counted through swift-metrics, too.
public final class MetricCount: Sendable {
  private let number = Atomic<Int>(0)
  private let counter: Counter

  /// - Parameter factory: the system's, unless given.
  package init(
    _ label: String, _ dimensions: [(String, String)] = [], factory: (any MetricsFactory)? = nil
  ) {
    counter = Counter(label: label, dimensions: dimensions, factory: factory ?? MetricsSystem.factory)
  }

  /// Adds to the count.
  package func increment(by amount: Int = 1) {
    number.wrappingAdd(amount, ordering: .relaxed)
    counter.increment(by: amount)
  }

  /// The count since the process started.
  public var value: Int { number.load(ordering: .relaxed) }
}
