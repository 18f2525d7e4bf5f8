// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching

/// A figure of `HTTPCache.SharedTierStatistics` as a metric, here and on the proxy's admin port.
package struct SharedTierFigure: Sendable {
  package typealias Dimension = (String, String)

  package let label: String
  package let dimensions: [Dimension]
  package let help: String
  /// Whether the figure may fall; otherwise it is a count.
  package let isGauge: Bool
  package let value: @Sendable (HTTPCache.SharedTierStatistics) -> Int

  private static func gauge(
    _ name: String, _ help: String, _ value: @escaping @Sendable (HTTPCache.SharedTierStatistics) -> Int
  ) -> SharedTierFigure {
    SharedTierFigure(
      label: "httpcache_shared_" + name, dimensions: [], help: help, isGauge: true, value: value)
  }

  private static func count(
    _ name: String, _ dimension: Dimension?, _ help: String,
    _ value: @escaping @Sendable (HTTPCache.SharedTierStatistics) -> Int
  ) -> SharedTierFigure {
    SharedTierFigure(
      label: "httpcache_shared_" + name, dimensions: dimension.map { [$0] } ?? [], help: help, isGauge: false,
      value: value)
  }

  /// All figures; those of one label follow each other.
  package static let all: [SharedTierFigure] = [
    gauge("available", "Whether requests use the shared tier.") { $0.isAvailable ? 1 : 0 },
    gauge("in_step", "Whether all removals of other nodes are known.") { $0.isInStep ? 1 : 0 },
    gauge("lag", "Removals of other nodes that are not applied yet.") { Int(clamping: $0.lag) },
    gauge("position", "Number of the last removal that was applied.") { Int(clamping: $0.position ?? 0) },
    gauge("queued_removals", "Removals that the shared tier has not been told yet.") { $0.queuedRemovals },
    gauge("queued_bytes", "Bytes of responses that wait to be stored in the shared tier.") { $0.queuedBytes },
    count("lookups_total", ("result", "hit"), "Lookups in the shared tier.") { $0.hits },
    count("lookups_total", ("result", "miss"), "Lookups in the shared tier.") { $0.misses },
    count(
      "unusable_total", ("reason", "damaged"), "Entries of the shared tier that were found and not used."
    ) { $0.damaged },
    count(
      "unusable_total", ("reason", "removed"), "Entries of the shared tier that were found and not used."
    ) { $0.removed },
    count("stores_total", ("result", "stored"), "Responses for the shared tier.") { $0.stores },
    count("stores_total", ("result", "refused"), "Responses for the shared tier.") { $0.refused },
    count("stores_total", ("result", "dropped"), "Responses for the shared tier.") { $0.dropped },
    count("reclaimed_total", nil, "Entries of the shared tier that were deleted after a removal.") {
      $0.reclaimed
    },
    count("errors_total", nil, "Calls of the shared tier that failed or took too long.") { $0.errors },
    count("leases_total", nil, "Requests to the origin for all nodes.") { $0.leases },
    count("followers_total", nil, "Requests that waited for a request of another node.") { $0.followers },
    count("removals_total", nil, "Removals of other nodes that were applied.") { $0.applied },
    count("restarts_total", nil, "Times that the log of removals was lost.") { $0.restarts },
  ]
}
