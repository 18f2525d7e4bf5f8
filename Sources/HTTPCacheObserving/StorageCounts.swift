// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import CoreMetrics
import HTTPCacheEngine
import HTTPCaching

/// Counts what became of responses: stored, not stored and why, updated, invalidated.
package final class StorageCounts: Sendable {
  /// Responses that were stored.
  package let stored: MetricCount
  /// Bytes of content that were stored.
  package let storedBytes: MetricCount
  /// Stored responses whose heads were updated.
  package let updated: MetricCount
  /// Invalidations.
  package let invalidated: MetricCount
  private let reasons = Mutex<[CacheEngine.Reason: MetricCount]>([:])
  private let make: @Sendable (_ label: String, _ dimensions: [(String, String)]) -> MetricCount

  /// - Parameters:
  ///   - base: the dimensions of all its metrics.
  ///   - factory: the factory of the metrics (default: the system's).
  package init(_ base: [(String, String)], factory: (any MetricsFactory)? = nil) {
    let factory = factory ?? MetricsSystem.factory
    make = { MetricCount("httpcache_" + $0, base + $1, factory: factory) }
    stored = make("stored_total", [])
    storedBytes = make("stored_bytes_total", [])
    updated = make("updated_total", [])
    invalidated = make("invalidated_total", [])
  }

  /// The number of responses that were not stored, by reason.
  package var notStored: [CacheEngine.Reason: Int] { reasons.withLock { $0.mapValues(\.value) } }

  /// Counts an event, if it is one of these.
  package func count(_ event: CacheEvent) {
    switch event.action {
    case .stored:
      stored.increment()
      storedBytes.increment(by: event.byteCount ?? 0)
    case .notStored:
      guard let reason = event.reason else { return }
      reasons.withLock { reasons in
        if let count = reasons[reason] { return count }
        let count = make("not_stored_total", [("reason", reason.rawValue)])
        reasons[reason] = count
        return count
      }.increment()
    case .updated: updated.increment()
    case .invalidated: invalidated.increment()
    default: break
    }
  }
}
