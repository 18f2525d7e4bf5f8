// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import CoreMetrics
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching

#if !Observing
  #error("HTTPCacheObserving needs the trait Observing: pass --traits Observing or set it in your .package")
#endif

/// Exact counts of the actions of caches, readable here and reported through swift-metrics.
///
/// ```swift
/// let metrics = CacheMetrics()
/// metrics.count(cache)
/// …
/// print(metrics[.hit].value, metrics.notStored)    // 812 [responseNoStore: 17]
/// ```
///
/// | Label | Dimension | What |
/// |---|---|---|
/// | `httpcache_requests_total` | `outcome` | requests answered, by where the answer came from |
/// | `httpcache_requests_failed_total` | | requests that neither the store nor the origin answered |
/// | `httpcache_requests_not_cached_total` | | requests kept from the network, that nothing stored could answer |
/// | `httpcache_served_bytes_total` | | bytes of content served from the store |
/// | `httpcache_stored_total`, `httpcache_stored_bytes_total` | | responses stored, and their content |
/// | `httpcache_not_stored_total` | `reason` | responses not stored, by the name of the `CacheEngine.Reason` |
/// | `httpcache_updated_total`, `httpcache_invalidated_total` | | what became of stored responses |
/// | `httpcache_evictions_total` | `tier` | entries dropped to make room |
/// | `httpcache_memory_bytes`, `httpcache_disk_bytes`, `httpcache_memory_entries`, `httpcache_disk_entries` | | gauges: what is stored |
///
/// Evictions and gauges are read from the store when counting begins, and each time a response is stored, updated or
/// invalidated. Evictions count from the moment that counting begins. Each counts once, however many caches use the
/// store.
public final class CacheMetrics: Sendable {
  /// Requests that neither the store nor the origin answered.
  public let failed: MetricCount
  /// Requests whose policy forbids the network, and that no stored response could answer.
  public let notCached: MetricCount
  /// Bytes of content delivered to callers.
  public let servedBytes: MetricCount
  /// Responses that were stored.
  public let stored: MetricCount
  /// Bytes of content that were stored.
  public let storedBytes: MetricCount
  /// Stored responses whose heads were updated.
  public let updated: MetricCount
  /// Invalidations.
  public let invalidated: MetricCount
  /// Entries evicted from memory.
  public let memoryEvictions: MetricCount
  /// Entries evicted from the disk.
  public let diskEvictions: MetricCount
  private let outcomes: [MetricCount]
  private let reasons = Mutex<[CacheEngine.Reason: MetricCount]>([:])
  private let gauges: [Gauge]
  private let reports = Mutex<[WeakReport]>([])
  private let factory: any MetricsFactory

  /// - Parameter factory: the factory of the counters (default: the system's).
  public init(factory: (any MetricsFactory)? = nil) {
    let factory = factory ?? MetricsSystem.factory
    func count(_ label: String, _ dimensions: [(String, String)] = []) -> MetricCount {
      MetricCount("httpcache_" + label, dimensions, factory: factory)
    }
    self.factory = factory
    outcomes = CachedResponse.Source.allCases.map { count("requests_total", [("outcome", $0.rawValue)]) }
    failed = count("requests_failed_total")
    notCached = count("requests_not_cached_total")
    servedBytes = count("served_bytes_total")
    stored = count("stored_total")
    storedBytes = count("stored_bytes_total")
    updated = count("updated_total")
    invalidated = count("invalidated_total")
    memoryEvictions = count("evictions_total", [("tier", "memory")])
    diskEvictions = count("evictions_total", [("tier", "disk")])
    gauges = ["memory_bytes", "disk_bytes", "memory_entries", "disk_entries"].map {
      Gauge(label: "httpcache_" + $0, factory: factory)
    }
  }

  /// The number of requests answered from a source.
  public subscript(source: CachedResponse.Source) -> MetricCount {
    switch source {
    case .hit: outcomes[0]
    case .stale: outcomes[1]
    case .validated: outcomes[2]
    case .network: outcomes[3]
    case .generated: outcomes[4]
    }
  }

  /// All requests answered.
  public var answered: Int { outcomes.reduce(0) { $0 + $1.value } }

  /// The number of responses that were not stored, by reason.
  public var notStored: [CacheEngine.Reason: Int] { reasons.withLock { $0.mapValues(\.value) } }

  // MARK: - Counting

  /// Counts the actions of a cache from now on.
  ///
  /// While counting, every hit makes an event. To avoid that cost, leave out `CacheEvent.Action.served`.
  @discardableResult
  public func count(
    _ cache: HTTPCache, _ actions: some Sequence<CacheEvent.Action> = CacheEvent.Action.allCases
  ) -> CacheObservation {
    let stored = report(on: cache.store)
    report(stored)
    return cache.observe(actions) { [self] event in
      count(event)
      switch event.action {
      case .stored, .updated, .invalidated: report(stored)
      default: break
      }
    }
  }

  private func count(_ event: CacheEvent) {
    switch event.action {
    case .served, .answered, .refused:
      if let source = event.source { self[source].increment() } else { notCached.increment() }
      if let bytes = event.byteCount { servedBytes.increment(by: bytes) }
    case .failed: failed.increment()
    case .stored:
      stored.increment()
      storedBytes.increment(by: event.byteCount ?? 0)
    case .notStored:
      guard let reason = event.reason else { return }
      reasons.withLock { reasons in
        if let count = reasons[reason] { return count }
        let dimensions = [("reason", reason.rawValue)]
        let count = MetricCount("httpcache_not_stored_total", dimensions, factory: factory)
        reasons[reason] = count
        return count
      }.increment()
    case .updated: updated.increment()
    case .invalidated: invalidated.increment()
    default: break
    }
  }

  // MARK: - Stores

  /// A store whose evictions are counted while one of its caches is observed.
  private final class StoreReport: Sendable {
    let store: CacheStore
    /// The evictions that were already counted, or happened before.
    let evictions: Mutex<(memory: Int, disk: Int)>

    init(_ store: CacheStore) {
      self.store = store
      evictions = Mutex(store.evictions)
    }
  }

  private struct WeakReport {
    weak var report: StoreReport?
  }

  /// Returns the report on a store. All of its caches share it, so that an eviction is counted once.
  private func report(on store: CacheStore) -> StoreReport {
    reports.withLock { reports in
      reports.removeAll { $0.report == nil }
      if let known = reports.lazy.compactMap(\.report).first(where: { $0.store === store }) { return known }
      let new = StoreReport(store)
      reports.append(WeakReport(report: new))
      return new
    }
  }

  /// Reports the content of a store and its evictions.
  ///
  /// It runs for each event and not once every few events, because no timer reads the gauges later. So they are right
  /// after the last event of a burst. It takes none of the locks that a hit takes.
  private func report(_ stored: StoreReport) {
    // Locked to the end, so that older values are never reported after newer ones.
    stored.evictions.withLock { counted in
      let (evictions, usage) = (stored.store.evictions, stored.store.usage)
      let new = (memory: evictions.memory - counted.memory, disk: evictions.disk - counted.disk)
      counted = evictions
      if new.memory > 0 { memoryEvictions.increment(by: new.memory) }
      if new.disk > 0 { diskEvictions.increment(by: new.disk) }
      let values = [usage.memoryBytes, usage.diskBytes, usage.memoryEntries, usage.diskEntries]
      for (gauge, value) in zip(gauges, values) { gauge.record(value) }
    }
  }
}
