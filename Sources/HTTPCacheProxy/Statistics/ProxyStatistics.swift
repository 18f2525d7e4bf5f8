// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCaching
import Synchronization
import TransportSecurity

/// Counts the proxy's work for all sites together: exactly, for its admin port, and through swift-metrics for the embedding
/// program.
package final class ProxyStatistics: Sendable {
  /// The counts of requests, and of events of the cache, that belong to no site.
  let unassigned = SiteStatistics()
  /// The responses by source, which the proxy counts, and the figures of the store. What becomes of responses is counted for
  /// their sites.
  private let cache: CacheMetrics

  /// Client connections accepted.
  package let connectionsAccepted = MetricCount("httpcache_connections_total")
  private let open = Atomic<Int>(0)
  /// Requests that arrived on connections of HTTP/2.
  package let streams = MetricCount("httpcache_http2_streams_total")
  private let openStreamCount = Atomic<Int>(0)
  /// Requests of HTTP/2 that were refused because there were too many at once.
  package let streamsRefused = MetricCount("httpcache_http2_streams_refused_total")
  /// Handshakes of TLS with clients that have succeeded.
  package let handshakes = MetricCount("httpcache_tls_handshakes_total", [("result", "done")])
  /// Handshakes of TLS with clients that have failed, by the cause.
  let failedHandshakes = Dictionary(
    uniqueKeysWithValues: TLSFailure.Kind.allCases.map {
      ($0, MetricCount("httpcache_tls_handshakes_total", [("result", $0.rawValue)]))
    })
  /// Connections of HTTP/2 that ended because the client violated the protocol, or one of its limits.
  package let http2Failures = MetricCount("httpcache_http2_failures_total")
  /// Idle client connections that were closed to make room for others.
  package let idleClosed = MetricCount("httpcache_connections_idle_closed_total")
  /// Client connections that were closed because their address has too many with requests in progress.
  package let connectionsRefused = MetricCount("httpcache_connections_refused_total")
  /// Failed attempts to accept a client connection.
  package let acceptFailures = MetricCount("httpcache_accept_failures_total")
  /// Requests that were refused because they were malformed or exceeded a limit.
  package let refused = MetricCount("httpcache_requests_refused_total")
  /// Fields that were removed from requests, by their names.
  let fieldsRemoved = Dictionary(
    uniqueKeysWithValues: FieldRole.countedNames.map {
      ($0, MetricCount("httpcache_request_fields_removed_total", [("field", $0)]))
    })
  /// Requests that neither the store nor the origin could answer.
  package var failed: MetricCount { cache.failed }
  /// Responses that ended early.
  package let aborted = MetricCount("httpcache_responses_aborted_total")
  /// Connections that became tunnels, because the origin switched to another protocol.
  package let upgrades = MetricCount("httpcache_upgrades_total")
  /// Bytes sent to clients, including heads.
  package let bytesSent = MetricCount("httpcache_sent_bytes_total")
  /// Lines that the access log lost, because its file or its reader accepted no more.
  package let logLinesDropped = MetricCount("httpcache_access_log_dropped_lines_total")

  package init() {
    cache = CacheMetrics(storage: unassigned.storage)
  }

  /// Counts for their sites what becomes of responses. It costs a hit nothing.
  func count(_ cache: HTTPCache, for sites: ServedSites) -> CacheObservation {
    self.cache.count(cache, [.stored, .notStored, .updated, .invalidated]) { event in
      sites.table.site(of: event.request).statistics.storage
    }
  }

  /// Requests answered, by the source of the response.
  package subscript(source: CachedResponse.Source) -> MetricCount { cache[source] }

  /// Requests answered.
  package var requests: Int { cache.answered }

  /// Client connections that are open.
  package var openConnections: Int { open.load(ordering: .relaxed) }

  func connectionOpened() {
    connectionsAccepted.increment()
    open.wrappingAdd(1, ordering: .relaxed)
  }

  func connectionClosed() {
    open.wrappingSubtract(1, ordering: .relaxed)
  }

  /// Requests on connections of HTTP/2 that are in progress.
  package var openStreams: Int { openStreamCount.load(ordering: .relaxed) }

  func streamOpened() {
    streams.increment()
    openStreamCount.wrappingAdd(1, ordering: .relaxed)
  }

  func streamClosed() {
    openStreamCount.wrappingSubtract(1, ordering: .relaxed)
  }

  /// Counts a request, once the head of its response is sent.
  func answered(_ outcome: RequestOutcome) {
    switch outcome {
    case .failed: failed.increment()
    case .refused: refused.increment()
    case .hit, .stale, .validated, .network, .generated:
      if let source = outcome.source { cache[source].increment() }
    }
  }
}

/// Requests and the content of their responses, by outcome and by class of status.
final class ResponseTable: Sendable {
  /// The class of a status (RFC 9110 §15), as `2` for 200.
  static let classes = 1...5

  final class Cell: Sendable {
    let requests = Atomic(0)
    let contentBytes = Atomic(0)
  }

  static let count = RequestOutcome.allCases.count * classes.count

  private let cells = (0..<count).map { _ in Cell() }

  subscript(outcome: RequestOutcome, status: Int) -> Cell {
    cells[Self.index(outcome, Swift.min(Swift.max(status / 100, 1), 5))]
  }

  static func index(_ outcome: RequestOutcome, _ statusClass: Int) -> Int {
    outcome.index * classes.count + statusClass - 1
  }

  var requests: [Int] { cells.map { $0.requests.load(ordering: .relaxed) } }
  var contentBytes: [Int] { cells.map { $0.contentBytes.load(ordering: .relaxed) } }
}
