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
/// let metrics = CacheMetrics("images")
/// metrics.count(cache)
/// …
/// print(metrics[.hit].value, metrics.notStored)    // 812 [responseNoStore: 17]
/// ```
///
/// If a process has several caches, count each with a `CacheMetrics` of its own, and give each a name: it is the
/// dimension `cache` of all its metrics. Caches that are counted together have the sums of their figures.
///
/// | Label | Dimension | What |
/// |---|---|---|
/// | `httpcache_requests_total` | `outcome` | requests answered, by where the answer came from |
/// | `httpcache_requests_failed_total` | | requests that neither the store nor the origin answered |
/// | `httpcache_requests_not_cached_total` | | requests kept from the network, that nothing stored could answer |
/// | `httpcache_latency_seconds` | `outcome` | timers: from the request to the head of its response, for a `hit`, a miss (`network`) and the others |
/// | `httpcache_origin_latency_seconds` | | timer: from a request to the origin to the head of its response |
/// | `httpcache_served_bytes_total` | | bytes of content served from the store |
/// | `httpcache_stored_total`, `httpcache_stored_bytes_total` | | responses stored, and their content |
/// | `httpcache_not_stored_total` | `reason` | responses not stored, by the name of the `CacheEngine.Reason` |
/// | `httpcache_updated_total`, `httpcache_invalidated_total` | | what became of stored responses |
/// | `httpcache_evictions_total` | `tier` | entries dropped to make room |
/// | `httpcache_memory_bytes`, `httpcache_disk_bytes`, `httpcache_memory_entries`, `httpcache_disk_entries` | | gauges: what is stored |
/// | `httpcache_shared_available`, `_in_step`, `_lag`, `_position`, `_queued_removals`, `_queued_bytes` | | gauges of the shared tier, see `HTTPCache.SharedTierStatistics` |
/// | `httpcache_shared_lookups_total`, `_stores_total` | `result` | lookups in the shared tier, and responses for it |
/// | `httpcache_shared_unusable_total` | `reason` | entries of the shared tier that were not used |
/// | `httpcache_shared_errors_total`, `_reclaimed_total`, `_leases_total`, `_followers_total`, `_removals_total`, `_restarts_total` | | what happened with the shared tier |
///
/// Evictions, gauges and the figures of the shared tier are read when counting begins, and then each time the origin
/// answers, a response is stored, updated or invalidated, or the disk or the shared tier changes its state. Counts count
/// from the moment that counting begins. Each eviction counts once, however many caches use the store.
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
  private let latencies: [Timer]
  private let originLatency: Timer
  private let storage: StorageCounts
  private let storeMeters: [Meter]
  private let readings = Mutex<[Reading]>([])
  private let factory: any MetricsFactory
  private let base: [(String, String)]

  /// - Parameters:
  ///   - name: the name of the cache, for the dimension `cache` (default: `nil`, without that dimension).
  ///   - factory: the factory of the metrics (default: the system's).
  public convenience init(_ name: String? = nil, factory: (any MetricsFactory)? = nil) {
    let base = name.map { [("cache", $0)] } ?? []
    self.init(base, storage: StorageCounts(base, factory: factory), factory: factory)
  }

  /// - Parameters:
  ///   - base: the dimensions of the metrics.
  ///   - storage: the counts of what became of responses.
  package init(
    _ base: [(String, String)] = [], storage: StorageCounts, factory: (any MetricsFactory)? = nil
  ) {
    let factory = factory ?? MetricsSystem.factory
    func count(_ label: String, _ dimensions: [(String, String)] = []) -> MetricCount {
      MetricCount("httpcache_" + label, base + dimensions, factory: factory)
    }
    self.factory = factory
    self.base = base
    let sources = CachedResponse.Source.allCases.map { [("outcome", $0.rawValue)] }
    outcomes = sources.map { count("requests_total", $0) }
    latencies = sources.map {
      Timer(label: "httpcache_latency_seconds", dimensions: base + $0, factory: factory)
    }
    originLatency = Timer(label: "httpcache_origin_latency_seconds", dimensions: base, factory: factory)
    failed = count("requests_failed_total")
    notCached = count("requests_not_cached_total")
    servedBytes = count("served_bytes_total")
    self.storage = storage
    stored = storage.stored
    storedBytes = storage.storedBytes
    updated = storage.updated
    invalidated = storage.invalidated
    memoryEvictions = count("evictions_total", [("tier", "memory")])
    diskEvictions = count("evictions_total", [("tier", "disk")])
    let gauges = ["memory_bytes", "disk_bytes", "memory_entries", "disk_entries"]
    storeMeters =
      [.count(memoryEvictions), .count(diskEvictions)]
      + gauges.map { .gauge(Gauge(label: "httpcache_" + $0, dimensions: base, factory: factory)) }
  }

  /// The number of requests answered from a source.
  public subscript(source: CachedResponse.Source) -> MetricCount { outcomes[Self.index(source)] }

  private static func index(_ source: CachedResponse.Source) -> Int {
    switch source {
    case .hit: 0
    case .stale: 1
    case .validated: 2
    case .network: 3
    case .generated: 4
    }
  }

  /// All requests answered.
  public var answered: Int { outcomes.reduce(0) { $0 + $1.value } }

  /// The number of responses that were not stored, by reason.
  public var notStored: [CacheEngine.Reason: Int] { storage.notStored }

  // MARK: - Counting

  /// Counts the actions of a cache from now on.
  ///
  /// While counting, every hit makes an event. To avoid that cost, leave out `CacheEvent.Action.served`.
  @discardableResult
  public func count(
    _ cache: HTTPCache, _ actions: some Sequence<CacheEvent.Action> = CacheEvent.Action.allCases
  ) -> CacheObservation {
    count(cache, actions) { [storage] _ in storage }
  }

  /// Counts the actions of a cache from now on, and what became of responses where a function says.
  package func count(
    _ cache: HTTPCache, _ actions: some Sequence<CacheEvent.Action>,
    storage: @escaping @Sendable (CacheEvent) -> StorageCounts
  ) -> CacheObservation {
    let sources = [source(for: cache.store)] + (source(for: cache).map { [$0] } ?? [])
    report()
    return cache.observe(actions) { [self] event in
      count(event)
      storage(event).count(event)
      switch event.action {
      case .served, .forwarded, .refused, .answered, .failed, .notStored: break
      default: withExtendedLifetime(sources) { report() }
      }
    }
  }

  private func count(_ event: CacheEvent) {
    switch event.action {
    case .served, .answered, .refused:
      if let source = event.source {
        self[source].increment()
        if let duration = event.duration { latencies[Self.index(source)].record(duration) }
      } else {
        notCached.increment()
      }
      if let bytes = event.byteCount { servedBytes.increment(by: bytes) }
    case .received: if let duration = event.duration { originLatency.record(duration) }
    case .failed: failed.increment()
    default: break
    }
  }

  // MARK: - Figures that are read

  private enum Meter: Sendable {
    case gauge(Gauge)
    case count(MetricCount)
  }

  /// A store or a shared tier whose figures are read while one of its caches is observed.
  private final class Source: Sendable {
    let meters: [Meter]
    /// Returns the figures in the order of the meters; `nil` if what has them is gone.
    let read: @Sendable () -> [Int]?

    init(_ meters: [Meter], _ read: @escaping @Sendable () -> [Int]?) {
      (self.meters, self.read) = (meters, read)
    }
  }

  private struct Reading {
    weak var source: Source?
    /// The store or, for a shared tier, the cache.
    weak var object: (any AnyObject & Sendable)?
    /// What was read last; counts count from there.
    var values: [Int]
  }

  /// Returns the source for a store. All of its caches share it, so that an eviction is counted once.
  private func source(for store: CacheStore) -> Source {
    source(for: store) {
      Source(storeMeters) {
        let (evictions, usage) = (store.evictions, store.usage)
        return [
          evictions.memory, evictions.disk, usage.memoryBytes, usage.diskBytes, usage.memoryEntries,
          usage.diskEntries,
        ]
      }
    }
  }

  /// Returns the source for the shared tier of a cache; `nil` if it has none.
  private func source(for cache: HTTPCache) -> Source? {
    guard cache.sharedTierStatistics != nil else { return nil }
    return source(for: cache) {
      let meters = SharedTierFigure.all.map { figure -> Meter in
        let dimensions = base + figure.dimensions
        return figure.isGauge
          ? .gauge(Gauge(label: figure.label, dimensions: dimensions, factory: factory))
          : .count(MetricCount(figure.label, dimensions, factory: factory))
      }
      return Source(meters) { [weak cache] in
        cache?.sharedTierStatistics.map { statistics in SharedTierFigure.all.map { $0.value(statistics) } }
      }
    }
  }

  private func source(for object: any AnyObject & Sendable, _ make: () -> Source) -> Source {
    readings.withLock { readings in
      readings.removeAll { $0.source == nil }
      if let known = readings.first(where: { $0.object === object })?.source { return known }
      let new = make()
      readings.append(Reading(source: new, object: object, values: new.read() ?? []))
      return new
    }
  }

  /// Reports the figures of all sources: of gauges the sum, of counts what is new.
  ///
  /// It runs for each event and not once every few events, because no timer reads the gauges later. So they are right
  /// after the last event of a burst. It takes none of the locks that a hit takes.
  private func report() {
    // Locked to the end, so that older values are never reported after newer ones.
    readings.withLock { readings in
      var sums: [(gauge: Gauge, value: Int)] = []
      for index in readings.indices {
        guard let source = readings[index].source, let values = source.read() else { continue }
        for (meter, (value, last)) in zip(source.meters, zip(values, readings[index].values)) {
          switch meter {
          case .gauge(let gauge):
            if let known = sums.firstIndex(where: { $0.gauge.label == gauge.label }) {
              sums[known].value += value
            } else {
              sums.append((gauge, value))
            }
          case .count(let count): if value > last { count.increment(by: value - last) }
          }
        }
        readings[index].values = values
      }
      for (gauge, sum) in sums { gauge.record(sum) }
    }
  }
}

extension Timer {
  fileprivate func record(_ duration: Duration) { recordNanoseconds(Int64(duration / .nanoseconds(1))) }
}
