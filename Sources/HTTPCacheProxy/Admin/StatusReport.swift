// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCacheStore
import HTTPCaching
import Synchronization

/// What the status page shows, as JSON for programs. Times are in seconds, and sizes in bytes.
enum StatusReport {
  /// - Parameter settings: those in use; `nil` if they must not be shown.
  static func json(_ context: ProxyContext, _ settings: [ShownSetting]?) -> String {
    let (store, table) = (context.cache.store, context.sites.table)
    let (usage, capacity) = (store.usage, store.capacity)
    let all = table.counted.reduce(Figures()) { $0 + Figures($1.statistics) }
    var members: [(name: String, value: JSONText)] = [
      ("version", .string(HTTPCache.version)), ("name", .string(context.configuration.name)),
      ("start", .optional(ProcessFigures.start)),
      ("isStopping", .bool(context.isDraining.load(ordering: .relaxed))),
      ("connections", .integer(context.statistics.openConnections)),
      ("sites", .list(table.sites.map { site($0) })),
      ("memory", tier(usage.memoryEntries, usage.memoryBytes, capacity.memory)),
      ("disk", capacity.disk == 0 ? .null : tier(usage.diskEntries, usage.diskBytes, capacity.disk)),
      ("stored", .integer(all.stored)),
      ("notStored", notStored(all)),
      ("warming", .map(context.warmer.progress.counts.map { ($0.name, .integer($0.value)) })),
      ("rules", .map(context.cache.ruleCounts.map { ($0.name, .integer($0.requests)) })),
    ]
    if let shared = context.cache.sharedTierStatistics {
      members.append(
        (
          "sharedTier",
          .map([
            ("isAvailable", .bool(shared.isAvailable)), ("isInStep", .bool(shared.isInStep)),
            ("queuedRemovals", .integer(shared.queuedRemovals)),
          ])
        ))
    }
    if let settings {
      members.append(("configuration", .list(settings.map { setting($0) })))
    }
    return "\(JSONText.map(members))\n"
  }

  private static func setting(_ setting: ShownSetting) -> JSONText {
    .map([
      ("site", .optional(setting.site)), ("name", .string(setting.name)), ("value", .string(setting.value)),
      ("place", .optional(setting.place)),
    ])
  }

  private static func tier(_ entries: Int, _ bytes: Int, _ capacity: Int) -> JSONText {
    .map([("entries", .integer(entries)), ("bytes", .integer(bytes)), ("capacity", .integer(capacity))])
  }

  private static func site(_ site: ServedSite) -> JSONText {
    let all = Figures(site.statistics)
    let (last, seconds) = site.recent.last(all)
    return .map([
      ("name", .string(site.name)), ("servers", .list(site.origin.figures.map { server($0) })),
      ("lastSeconds", .integer(Int(seconds))), ("last", figures(last)), ("total", figures(all)),
    ])
  }

  private static func notStored(_ figures: Figures) -> JSONText {
    .map(figures.notStored.map { ($0.reason, .integer($0.count)) })
  }

  private static func figures(_ figures: Figures) -> JSONText {
    let hits = figures.share(of: [.hit, .stale])
    func latency(_ counts: [Int]) -> JSONText {
      .map(
        [0.5, 0.9, 0.99, 0.999].map { share in
          (
            "\(share)",
            .optional(LatencyHistogram.quantile(share, of: counts).map { Double($0) / 1e6 })
          )
        })
    }
    return .map([
      ("requests", .map(RequestOutcome.allCases.map { ($0.rawValue, .integer(figures.requests($0))) })),
      (
        "contentBytes",
        .map(RequestOutcome.allCases.map { ($0.rawValue, .integer(figures.contentBytes($0))) })
      ),
      ("hitRatio", .optional(hits.requests)), ("hitRatioByBytes", .optional(hits.contentBytes)),
      ("latency", latency(figures.latency)), ("originLatency", latency(figures.originLatency)),
      ("originRequests", .integer(figures.originRequests)), ("originErrors", .integer(figures.originErrors)),
      ("stored", .integer(figures.stored)), ("notStored", notStored(figures)),
    ])
  }

  private static func server(_ server: OriginServer.Figures) -> JSONText {
    .map([
      ("name", .string(server.name)), ("isAvailable", .bool(server.cause == nil)),
      ("cause", .optional(server.cause?.kind.rawValue)), ("connections", .integer(server.connections)),
      ("connectionLimit", .optional(server.limit)), ("streams", .integer(server.streams)),
      ("waiting", .integer(server.waiting)), ("requests", .integer(server.requests)),
      ("errors", .integer(server.errors)),
    ])
  }
}

/// A setting in use, as the admin port shows it.
package struct ShownSetting: Hashable, Sendable {
  /// The name of the site that it is for; `nil` if it is for all.
  package var site: String?
  package var name: String
  package var value: String
  /// Where it was set: `--memory`, or `proxy.yaml:3`; `nil` for a default.
  package var place: String?

  package init(site: String? = nil, name: String, value: String, place: String? = nil) {
    (self.site, self.name, self.value, self.place) = (site, name, value, place)
  }
}
