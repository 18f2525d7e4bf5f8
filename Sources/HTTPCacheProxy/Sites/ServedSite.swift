// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import Logging
import NIOCore

/// A site while the proxy serves it: its origin, and the counts of its requests.
final class ServedSite: Sendable {
  /// Empty for the only site of a proxy.
  let name: String
  let origin: OriginClient
  let statistics: SiteStatistics
  /// Observes each request to the origin.
  let watch: OriginWatch
  /// Recent and earlier readings of the counters.
  let recent: RecentFigures

  /// What all sites of a proxy have in common.
  struct Surroundings: Sendable {
    var group: any EventLoopGroup
    var transit: TransitBudget
    var logger: Logger
    var clock: any CacheClock
    /// Finds the addresses of servers.
    var lookup: HostLookup
  }

  /// - Parameter statistics: the counts (default: new ones).
  init(
    _ name: String, _ settings: OriginSettings, _ surroundings: Surroundings,
    statistics: SiteStatistics? = nil
  ) {
    self.name = name
    var logger = surroundings.logger
    if !name.isEmpty { logger[metadataKey: "site"] = "\(name)" }
    let statistics = statistics ?? SiteStatistics(name)
    self.statistics = statistics
    origin = OriginClient(
      settings, group: surroundings.group, statistics: statistics, transit: surroundings.transit,
      logger: logger, lookup: surroundings.lookup)
    watch = OriginWatch(statistics, logger, clock: surroundings.clock)
    recent = RecentFigures(Figures(statistics), clock: surroundings.clock)
  }

  /// The name as it is a label of a metric.
  var label: [(String, String)] { name.isEmpty ? [] : [("site", name)] }
}
