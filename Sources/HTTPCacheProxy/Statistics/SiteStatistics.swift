// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import Synchronization

/// Counts the requests of one site, those to its origin, and what became of its responses.
final class SiteStatistics: Sendable {
  /// Requests that went to the origin.
  let originRequests: MetricCount
  /// Requests that the origin did not answer.
  let originErrors: MetricCount
  /// Requests that were repeated on another connection, because the origin had closed the first.
  let originRetries: MetricCount
  /// Requests that another server got, because one did not answer them.
  let originFailovers: MetricCount
  /// Requests that were not sent, because the limit of connections to the origin was reached.
  let originLimited: MetricCount
  /// Requests that were not sent, because the origin had failed.
  let originUnavailable: MetricCount
  /// Times that the origin failed so often that it got no more requests.
  let originOutages: MetricCount
  /// Time from a request's head to the head of its response.
  let latency = LatencyHistogram()
  /// Time from the start of a request to the origin to the head of its response, including the connection.
  let originLatency = LatencyHistogram()
  /// The requests by outcome and status.
  let responses = ResponseTable()
  /// The responses that were stored, and those that were not.
  let storage: StorageCounts

  /// - Parameter name: the name of the site; empty for none.
  init(_ name: String = "") {
    // Always with the label: systems of metrics want the same ones each time, and an empty one means none.
    func count(_ label: String, _ dimensions: [(String, String)] = []) -> MetricCount {
      MetricCount(label, dimensions + [("site", name)])
    }
    storage = StorageCounts([("site", name)])
    originRequests = count("httpcache_origin_requests_total")
    originErrors = count("httpcache_origin_errors_total")
    originRetries = count("httpcache_origin_retries_total")
    originFailovers = count("httpcache_origin_failovers_total")
    originLimited = count("httpcache_origin_refused_total", [("reason", "limit")])
    originUnavailable = count("httpcache_origin_refused_total", [("reason", "unavailable")])
    originOutages = count("httpcache_origin_outages_total")
  }

  /// Counts a request, once the head of its response is sent.
  func answered(_ outcome: RequestOutcome, _ status: Int) {
    responses[outcome, status].requests.wrappingAdd(1, ordering: .relaxed)
  }

  /// Counts the content of a response after its end.
  func sent(_ bytes: Int, _ outcome: RequestOutcome, _ status: Int) {
    responses[outcome, status].contentBytes.wrappingAdd(bytes, ordering: .relaxed)
  }
}
