import HTTPCacheObserving
import HTTPCaching
import HTTPCacheStore

/// The page for people: one document, no script, nothing from elsewhere.
enum StatusPage {
  static func html(_ context: ProxyContext) -> String {
    let (statistics, store) = (context.statistics, context.cache.store)
    let (usage, capacity) = (store.usage, store.capacity)
    let requests = statistics.requests
    let fromStore = statistics[.hit].value + statistics[.stale].value + statistics[.validated].value
    let ratio = requests == 0 ? "none yet" : "\(permille(fromStore, of: requests))%"
    let outcomes = CachedResponse.Source.allCases.map { source in
      row(source.rawValue, "\(statistics[source].value)")
    }
    let quantiles = [0.5, 0.9, 0.99, 0.999].map { share in
      row(
        "\(share * 100)%", statistics.latency.quantile(share).map { "≤ \(milliseconds($0)) ms" } ?? "none yet"
      )
    }
    return """
      <!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="5">
      <meta name="viewport" content="width=device-width"><title>\(escaped(context.configuration.name))</title><style>
      body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:44rem;padding:0 1rem;color:#222}
      h1{font-size:1.4rem}h2{font-size:1rem;margin:1.5rem 0 .3rem}p.big{font-size:3rem;margin:.2rem 0}
      table{border-collapse:collapse;width:100%}td{padding:.15rem 0;border-bottom:1px solid #ddd}
      td+td{text-align:right;font-variant-numeric:tabular-nums}
      @media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}td{border-color:#444}}
      </style></head><body><h1>\(escaped(context.configuration.name)) in front of \(escaped("\(context.configuration.origin)"))</h1>
      <h2>Hit ratio</h2><p class="big">\(ratio)</p>
      <h2>Requests by outcome</h2><table>\(outcomes.joined())\(row("refused", "\(statistics.refused.value)"))\
      \(row("failed", "\(statistics.failed.value)"))\(row("all answered", "\(requests)"))</table>
      <h2>Latency to the head of the response</h2><table>\(quantiles.joined())</table>
      <h2>Stored</h2><table>\
      \(row("memory", "\(usage.memoryEntries) entries, \(bytes(usage.memoryBytes)) of \(bytes(capacity.memory))"))\
      \(capacity.disk == 0 ? "" : row("disk", "\(usage.diskEntries) entries, \(bytes(usage.diskBytes)) of \(bytes(capacity.disk))"))\
      </table><h2>Connections and origin</h2><table>\(row("clients connected", "\(statistics.openConnections)"))\
      \(row("sent to clients", bytes(statistics.bytesSent.value)))\
      \(row("requests to the origin", "\(statistics.originRequests.value)"))\
      \(row("of these without a response", "\(statistics.originErrors.value)"))</table></body></html>
      """
  }

  private static func row(_ name: String, _ value: String) -> String {
    "<tr><td>\(escaped(name))</td><td>\(escaped(value))</td></tr>"
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
  }

  /// In percent, with one digit behind the point.
  private static func permille(_ part: Int, of whole: Int) -> String {
    let permille = part * 1000 / whole
    return "\(permille / 10).\(permille % 10)"
  }

  private static func milliseconds(_ microseconds: Int64) -> String {
    microseconds < 10_000 ? "\(microseconds / 1000).\(microseconds % 1000 / 100)" : "\(microseconds / 1000)"
  }

  private static func bytes(_ count: Int) -> String {
    for (unit, shift) in [("GB", 30), ("MB", 20), ("KB", 10)] where count >= 1 << shift {
      return "\(count >> shift).\((count & ((1 << shift) - 1)) * 10 >> shift) \(unit)"
    }
    return "\(count) B"
  }
}
