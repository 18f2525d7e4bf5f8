// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCacheStore
import HTTPCaching

/// The status page: one document without scripts or external resources.
enum StatusPage {
  /// - Parameters:
  ///   - query: `site=` and a name, for the page of one site.
  ///   - settings: those in use; `nil` if they must not be shown.
  /// - Returns: `nil` if there is no such site.
  static func html(
    _ context: ProxyContext, query: Substring = "", _ settings: [ShownSetting]? = nil
  ) -> String? {
    let table = context.sites.table
    let parameters = query.utf8.split(separator: UInt8(ascii: "&")).map { Substring($0) }
    if parameters.contains(where: { $0.utf8.elementsEqual("configuration".utf8) }) {
      return settings.map { configuration(context, $0) }
    }
    guard let name = parameters.first(where: { $0.utf8.starts(with: "site=".utf8) })?.utf8.dropFirst(5) else {
      return html(context, table.sites, counted: table.counted, showsSettings: settings?.isEmpty == false)
    }
    return table[Substring(name)].map { html(context, [table.sites[$0]], counted: [table.sites[$0]]) }
  }

  /// - Parameter counted: the sites, and what counts the requests of none.
  private static func html(
    _ context: ProxyContext, _ sites: [ServedSite], counted: [ServedSite],
    showsSettings: Bool = false
  ) -> String {
    let (statistics, store) = (context.statistics, context.cache.store)
    let (usage, capacity) = (store.usage, store.capacity)
    var (all, last, seconds) = (Figures(), Figures(), Int64(0))
    for site in counted {
      let figures = Figures(site.statistics)
      let recent = site.recent.last(figures)
      (all, last, seconds) = (all + figures, last + recent.figures, Swift.max(seconds, recent.seconds))
    }
    /// Returns a row with the figures of the last minute and of all time.
    func both(_ name: String, _ value: (Figures) -> String) -> String { row(name, value(last), value(all)) }
    let hits: [RequestOutcome] = [.hit, .stale]
    let shares =
      both("hit ratio: answered without the origin") { percent($0.share(of: hits).requests) }
      + both("hit ratio by bytes of content") { percent($0.share(of: hits).contentBytes) }
      + both("validated by the origin") { percent($0.share(of: [.validated]).requests) }
      + both("validated, by bytes of content") { percent($0.share(of: [.validated]).contentBytes) }
    let outcomes = RequestOutcome.allCases.map { outcome in
      both(outcome.rawValue) { "\($0.requests(outcome))" }
    }
    let quantiles = [0.5, 0.9, 0.99, 0.999]
    let latency = quantiles.map { share in
      both("\(share * 100)%") { milliseconds(LatencyHistogram.quantile(share, of: $0.latency)) }
    }
    let originLatency = quantiles.map { share in
      both("\(share * 100)%") { milliseconds(LatencyHistogram.quantile(share, of: $0.originLatency)) }
    }
    let now = "last \(seconds) s"
    return document(
      context,
      """
      <h1>\(escaped(heading(context, sites)))</h1>\(sites.count > 1 ? overview(sites) : "")
      \(table("Shares of the requests that were not refused", now, [shares]))
      \(table("Requests by outcome", now, outcomes))
      \(table("Latency to the head of the response", now, latency))
      \(table("Latency of the origin to the head of its response", now, originLatency))
      \(table("Traffic", now, [
        both("content sent to clients") { bytes($0.sentBytes) },
        both("requests to the origin") { "\($0.originRequests)" },
        both("requests without a response") { "\($0.originErrors)" },
      ]))
      <h2>Now</h2><table>\(row("clients connected", "\(statistics.openConnections)"))\
      \(row("requests refused at the limit, after failures of the origin", "\(counted.reduce(0) { $0 + $1.statistics.originLimited.value }), \(counted.reduce(0) { $0 + $1.statistics.originUnavailable.value })"))\
      \(row("memory", "\(usage.memoryEntries) entries, \(bytes(usage.memoryBytes)) of \(bytes(capacity.memory))"))\
      \(capacity.disk == 0 ? "" : row("disk", "\(usage.diskEntries) entries, \(bytes(usage.diskBytes)) of \(bytes(capacity.disk))"))\
      \(context.cache.sharedTierStatistics.map { shared($0) } ?? "")\
      \(warming(context.warmer.progress))\
      </table>\(sites.map { servers($0) }.joined())\(table("Responses", now, storage(last: last, all)))\(rules(context.cache.ruleCounts))<p>\(showsSettings ? "<a href=\"?configuration\">Configuration</a>, " : "")httpcache \(HTTPCache.version)</p>
      """, isRefreshed: true)
  }

  /// The responses that were stored, and the most frequent reasons for which others were not.
  private static func storage(last: Figures, _ all: Figures) -> [String] {
    let recent = Dictionary(uniqueKeysWithValues: last.notStored.map { ($0.reason, $0.count) })
    let counts = all.notStored.sorted { ($1.count, $0.reason) < ($0.count, $1.reason) }
    return [row("stored", "\(last.stored)", "\(all.stored)")]
      + counts.prefix(20).map {
        row("not stored: \($0.reason)", "\(recent[$0.reason, default: 0])", "\($0.count)")
      }
  }

  private static func configuration(_ context: ProxyContext, _ settings: [ShownSetting]) -> String {
    let rows = settings.map { setting in
      row((setting.site.map { "\($0): " } ?? "") + setting.name, setting.value, setting.place ?? "default")
    }
    return document(
      context,
      "<h1>Configuration</h1><p><a href=\"?\">Status</a></p><table>\(rows.joined())</table>",
      isRefreshed: false)
  }

  private static func document(_ context: ProxyContext, _ body: String, isRefreshed: Bool) -> String {
    """
    <!doctype html><html lang="en"><head><meta charset="utf-8">\(isRefreshed ? "<meta http-equiv=\"refresh\" content=\"5\">" : "")
    <meta name="viewport" content="width=device-width"><title>\(escaped(context.configuration.name))</title><style>
    body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:48rem;padding:0 1rem;color:#222}
    h1{font-size:1.4rem}h2{font-size:1rem;margin:1.5rem 0 .3rem}
    table{border-collapse:collapse;width:100%}td,th{padding:.15rem 0;border-bottom:1px solid #ddd}
    th{text-align:left}td+td,th+th{text-align:right;width:9rem;font-variant-numeric:tabular-nums}
    @media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}td,th{border-color:#444}}
    </style></head><body>\(body)</body></html>
    """
  }

  private static func rules(_ counts: [(name: String, requests: Int)]) -> String {
    if counts.isEmpty { return "" }
    return "<h2>Requests that rules matched</h2><table>"
      + counts.map { row($0.name, "\($0.requests)") }.joined() + "</table>"
  }

  private static func heading(_ context: ProxyContext, _ sites: [ServedSite]) -> String {
    let name = context.configuration.name
    guard let site = sites.first, sites.count == 1 else { return "\(name) in front of \(sites.count) sites" }
    let servers = site.origin.figures.map(\.name).joined(separator: ", ")
    return (site.name.isEmpty ? name : "\(site.name) on \(name)") + " in front of \(servers)"
  }

  /// The sites of the last minute, with links to their own pages.
  private static func overview(_ sites: [ServedSite]) -> String {
    let heads = ["requests", "hit ratio", "failed", "99% within"].map { "<th>\($0)</th>" }.joined()
    return "<table><tr><th><h2>Sites</h2></th>\(heads)</tr>"
      + sites.map { site in
        let last = site.recent.last(Figures(site.statistics)).figures
        let requests = RequestOutcome.allCases.reduce(0) { $0 + last.requests($1) }
        let name = escaped(site.name)
        return "<tr><td><a href=\"?site=\(name)\">\(name)</a></td>"
          + [
            "\(requests)", percent(last.share(of: [.hit, .stale]).requests), "\(last.requests(.failed))",
            milliseconds(LatencyHistogram.quantile(0.99, of: last.latency)),
          ].map { "<td>\($0)</td>" }.joined() + "</tr>"
      }.joined() + "</table>"
  }

  private static func servers(_ site: ServedSite) -> String {
    let servers = site.origin.figures
    let heads = ["server of the origin", "state", "connections", "waiting", "requests", "failed"]
    return "<h2>\(escaped(site.name.isEmpty ? "Origin" : "Origin of \(site.name)"))</h2><table><tr>"
      + heads.map { "<th>\($0)</th>" }.joined() + "</tr>"
      + servers.map { server in
        row(
          server.name,
          server.cause.map { "down until it answers a probe: \($0.kind.rawValue)" }
            ?? "available",
          "\(server.connections)\(server.limit.map { " of \($0)" } ?? "")", "\(server.waiting)",
          "\(server.requests)", "\(server.errors)")
      }.joined() + "</table>"
  }

  private static func shared(_ tier: HTTPCache.SharedTierStatistics) -> String {
    row("shared tier", tier.isAvailable ? "available" : "unavailable: works without it")
      + row("in step with the other nodes", tier.isInStep ? "yes" : "no: stored responses are validated")
      + row(
        "removals applied",
        tier.position.map { "up to \($0)\(tier.lag > 0 ? ", \(tier.lag) behind" : "")" } ?? "unknown")
      + row("removals not delivered yet", "\(tier.queuedRemovals)")
      + row("shared hits and misses", "\(tier.hits), \(tier.misses)")
      + row("stored, refused, dropped", "\(tier.stores), \(tier.refused), \(tier.dropped)")
      + row("errors of the shared tier", "\(tier.errors)")
  }

  private static func warming(_ progress: WarmingList.Progress) -> String {
    guard progress.all > 0 else { return "" }
    let text = progress.counts.filter { $0.value > 0 }.map { "\($0.value) \($0.name)" }.joined(
      separator: ", ")
    return row("URLs of the last list to load", text)
  }

  private static func table(_ heading: String, _ now: String, _ rows: [String]) -> String {
    "<table><tr><th><h2>\(escaped(heading))</h2></th><th>\(now)</th><th>all time</th></tr>\(rows.joined())</table>"
  }

  private static func row(_ values: String...) -> String {
    "<tr>" + values.map { "<td>\(escaped($0))</td>" }.joined() + "</tr>"
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
  }

  /// Returns a share in percent, with one decimal digit.
  private static func percent(_ share: Double?) -> String {
    guard let share else { return "none yet" }
    let permille = Int(share * 1000)
    return "\(permille / 10).\(permille % 10)%"
  }

  private static func milliseconds(_ microseconds: Int64?) -> String {
    guard let microseconds else { return "none yet" }
    return microseconds < 10_000
      ? "≤ \(microseconds / 1000).\(microseconds % 1000 / 100) ms" : "≤ \(microseconds / 1000) ms"
  }

  private static func bytes(_ count: Int) -> String {
    for (unit, shift) in [("GB", 30), ("MB", 20), ("KB", 10)] where count >= 1 << shift {
      return "\(count >> shift).\((count & ((1 << shift) - 1)) * 10 >> shift) \(unit)"
    }
    return "\(count) B"
  }
}
