import HTTPCacheObserving
import HTTPCaching
import Synchronization

/// Counts what the proxy does: exactly, for its admin port, and through swift-metrics for whoever embeds it.
public final class ProxyStatistics: Sendable {
  public typealias Count = MetricCount

  /// What the cache counts of itself, and the answers by where they came from, which the proxy counts.
  public let cache = CacheMetrics()

  /// Client connections accepted, and those that are open.
  public let connectionsAccepted = Count("httpcache_connections_total")
  private let open = Atomic<Int>(0)
  /// Requests that were refused for what was wrong with them, or with the limits.
  public let refused = Count("httpcache_requests_refused_total")
  /// Requests that neither the store nor the origin could answer.
  public var failed: Count { cache.failed }
  /// Responses that broke off.
  public let aborted = Count("httpcache_responses_aborted_total")
  public let originRequests = Count("httpcache_origin_requests_total")
  public let originErrors = Count("httpcache_origin_errors_total")
  public let originRetries = Count("httpcache_origin_retries_total")
  public let bytesSent = Count("httpcache_sent_bytes_total")
  /// How long it took from a request's head to the head of its response.
  public let latency = LatencyHistogram()

  public init() {}

  /// What the cache is listened to for: what becomes of responses. A hit costs nothing for that.
  static let cacheActions: [CacheEvent.Action] = [.stored, .notStored, .updated, .invalidated]

  /// Requests answered, by where the answer came from.
  public subscript(source: CachedResponse.Source) -> Count { cache[source] }

  public var requests: Int { cache.answered }

  /// Client connections that are open.
  public var openConnections: Int { open.load(ordering: .relaxed) }

  func connectionOpened() {
    connectionsAccepted.increment()
    open.wrappingAdd(1, ordering: .relaxed)
  }

  func connectionClosed() {
    open.wrappingSubtract(1, ordering: .relaxed)
  }
}

/// Times, counted in buckets of doubling width from a tenth of a millisecond.
public final class LatencyHistogram: Sendable {
  /// The upper ends of the buckets in microseconds; beyond the last there is one more.
  public static let bounds: [Int64] = (0..<18).map { 100 << Int64($0) }

  private let buckets = Mutex((counts: [Int](repeating: 0, count: 19), microseconds: Int64(0)))

  public func record(microseconds: Int64) {
    let index = Self.bounds.firstIndex { microseconds <= $0 } ?? Self.bounds.count
    buckets.withLock {
      $0.counts[index] += 1
      $0.microseconds += microseconds
    }
  }

  public var snapshot: (counts: [Int], microseconds: Int64) { buckets.withLock { $0 } }

  /// The upper end of the bucket in which this share of all times ends, in microseconds; `nil` if there are none.
  public func quantile(_ share: Double) -> Int64? {
    let counts = snapshot.counts
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
