import HTTPCacheObserving
import HTTPCaching
import HTTPCacheStore

/// What the proxy and its store have counted, as Prometheus reads it.
enum PrometheusText {
  static func of(_ statistics: ProxyStatistics, _ httpCache: HTTPCache) -> String {
    let store = httpCache.store
    var text = ""
    func metric(_ name: String, _ type: String, _ help: String, _ samples: [(labels: String, value: Int)]) {
      text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
      for sample in samples { text += "\(name)\(sample.labels) \(sample.value)\n" }
    }
    func counter(_ name: String, _ help: String, _ value: Int) {
      metric(name, "counter", help, [("", value)])
    }
    func gauge(_ name: String, _ help: String, _ value: Int) { metric(name, "gauge", help, [("", value)]) }
    metric(
      "httpcache_requests_total", "counter", "Requests answered, by where the answer came from.",
      CachedResponse.Source.allCases.map { ("{outcome=\"\($0.rawValue)\"}", statistics[$0].value) })
    counter(
      "httpcache_requests_refused_total", "Requests refused as malformed or too large.",
      statistics.refused.value)
    counter("httpcache_requests_failed_total", "Requests that nobody could answer.", statistics.failed.value)
    counter("httpcache_responses_aborted_total", "Responses that broke off.", statistics.aborted.value)
    counter("httpcache_origin_requests_total", "Requests to the origin.", statistics.originRequests.value)
    counter(
      "httpcache_origin_errors_total", "Requests to the origin without a response.",
      statistics.originErrors.value)
    counter(
      "httpcache_origin_retries_total", "Requests repeated on a new connection.",
      statistics.originRetries.value)
    counter("httpcache_sent_bytes_total", "Bytes sent to clients.", statistics.bytesSent.value)
    counter("httpcache_connections_total", "Connections accepted.", statistics.connectionsAccepted.value)
    gauge("httpcache_connections", "Connections open.", statistics.openConnections)
    metric(
      "httpcache_live_objects", "gauge", "Objects in this process that must not outlive their use, by kind.",
      LiveCount.Kind.allCases.map { ("{kind=\"\($0.rawValue)\"}", $0.count) })
    gauge(
      "httpcache_transit_bytes", "Bytes in memory of content that is neither stored nor delivered yet.",
      httpCache.transit.used)
    let cache = statistics.cache
    counter("httpcache_stored_total", "Responses stored.", cache.stored.value)
    counter("httpcache_stored_bytes_total", "Bytes of content stored.", cache.storedBytes.value)
    metric(
      "httpcache_not_stored_total", "counter", "Responses not stored, by the reason.",
      cache.notStored.sorted { $0.key.rawValue < $1.key.rawValue }.map {
        ("{reason=\"\($0.key.rawValue)\"}", $0.value)
      })
    counter("httpcache_updated_total", "Stored responses updated.", cache.updated.value)
    counter("httpcache_invalidated_total", "Invalidations.", cache.invalidated.value)
    let (usage, stored) = (store.usage, store.statistics)
    gauge("httpcache_memory_bytes", "Bytes that entries occupy in memory.", usage.memoryBytes)
    gauge("httpcache_memory_entries", "Entries in memory.", usage.memoryEntries)
    gauge("httpcache_disk_bytes", "Bytes of the files on disk.", usage.diskBytes)
    gauge("httpcache_disk_entries", "Entries on disk.", usage.diskEntries)
    metric(
      "httpcache_evictions_total", "counter", "Entries dropped to make room.",
      [("{tier=\"memory\"}", stored.memoryEvictions), ("{tier=\"disk\"}", stored.diskEvictions)])
    counter(
      "httpcache_corrupt_records_total", "Records that were not what was written.", stored.corruptRecords)
    counter("httpcache_io_errors_total", "Operations of the file system that failed.", stored.ioErrors)
    let (counts, microseconds) = statistics.latency.snapshot
    let name = "httpcache_latency_seconds"
    text += "# HELP \(name) From a request's head to its response's.\n# TYPE \(name) histogram\n"
    var sum = 0
    for (bound, count) in zip(LatencyHistogram.bounds, counts) {
      sum += count
      text += "\(name)_bucket{le=\"\(Double(bound) / 1e6)\"} \(sum)\n"
    }
    sum += counts.last ?? 0
    text +=
      "\(name)_bucket{le=\"+Inf\"} \(sum)\n\(name)_sum \(Double(microseconds) / 1e6)\n\(name)_count \(sum)\n"
    return text
  }
}
