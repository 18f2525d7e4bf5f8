import CoreMetrics
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import Synchronization

/// What caches do, counted: exactly, to be read here, and through swift-metrics.
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
/// | `httpcache_not_stored_total` | `reason` | responses not stored, by the name of the ``Reason`` |
/// | `httpcache_updated_total`, `httpcache_invalidated_total` | | what became of stored responses |
/// | `httpcache_evictions_total` | `tier` | entries dropped to make room |
/// | `httpcache_memory_bytes`, `httpcache_disk_bytes`, `httpcache_memory_entries`, `httpcache_disk_entries` | | gauges: what is stored |
public final class CacheMetrics: Sendable {
  /// Requests that neither the store nor the origin answered.
  public let failed: MetricCount
  /// Requests that their policy kept from the network, and that nothing stored could answer.
  public let notCached: MetricCount
  public let servedBytes: MetricCount
  public let stored: MetricCount
  public let storedBytes: MetricCount
  public let updated: MetricCount
  public let invalidated: MetricCount
  public let memoryEvictions: MetricCount
  public let diskEvictions: MetricCount
  private let outcomes: [MetricCount]
  private let reasons = Mutex<[Reason: MetricCount]>([:])
  private let gauges: [Gauge]
  private let factory: any MetricsFactory

  /// - Parameter factory: where to count; the system's, unless given.
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

  /// Requests answered, by where the answer came from.
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

  /// How many responses were not stored, by the reason.
  public var notStored: [Reason: Int] { reasons.withLock { $0.mapValues(\.value) } }

  // MARK: - Counting

  /// Counts what a cache does from now on.
  ///
  /// Every hit makes an event, then; leave out ``CacheEvent/Action/served`` where that is too much.
  @discardableResult
  public func count(
    _ cache: HTTPCache, _ actions: some Sequence<CacheEvent.Action> = CacheEvent.Action.allCases
  ) -> CacheObservation {
    let evictions = Evictions()
    return cache.observe(actions) { [self, store = cache.store] event in
      count(event)
      // Nothing is evicted but for what is stored.
      if event.action == .stored { report(store, since: evictions) }
    }
  }

  private func count(_ event: CacheEvent) {
    switch event.action {
    case .forwarded: break
    case .served, .answered, .refused:
      if let source = event.source { self[source].increment() } else { notCached.increment() }
      if let bytes = event.byteCount { servedBytes.increment(by: bytes) }
    case .failed: failed.increment()
    case .stored:
      stored.increment()
      storedBytes.increment(by: event.byteCount ?? 0)
    case .notStored:
      reasons.withLock { reasons in
        if let count = reasons[event.reason] { return count }
        let dimensions = [("reason", event.reason.rawValue)]
        let count = MetricCount("httpcache_not_stored_total", dimensions, factory: factory)
        reasons[event.reason] = count
        return count
      }.increment()
    case .updated: updated.increment()
    case .invalidated: invalidated.increment()
    }
  }

  /// What was counted of a store's evictions already.
  private final class Evictions: Sendable {
    let counted = Mutex((memory: 0, disk: 0))
  }

  private func report(_ store: CacheStore, since evictions: Evictions) {
    let (statistics, usage) = (store.statistics, store.usage)
    let (memory, disk) = evictions.counted.withLock { counted in
      // Two who report at the same time may come here in the other order.
      let new = (
        Swift.max(0, statistics.memoryEvictions - counted.memory),
        Swift.max(0, statistics.diskEvictions - counted.disk)
      )
      counted = (counted.memory + new.0, counted.disk + new.1)
      return new
    }
    if memory > 0 { memoryEvictions.increment(by: memory) }
    if disk > 0 { diskEvictions.increment(by: disk) }
    let values = [usage.memoryBytes, usage.diskBytes, usage.memoryEntries, usage.diskEntries]
    for (gauge, value) in zip(gauges, values) { gauge.record(value) }
  }
}
