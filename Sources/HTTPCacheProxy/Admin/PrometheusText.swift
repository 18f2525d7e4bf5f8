// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCacheStore
import HTTPCaching
import TransportSecurity

/// The counters of the proxy and its store, in the Prometheus text format.
struct PrometheusText {
  private var text = ""

  static func of(_ context: ProxyContext) -> String {
    let (statistics, cache) = (context.statistics, context.cache)
    var page = PrometheusText()
    page.gauge("httpcache_build_info", "Version of the proxy.", [("version", HTTPCache.version)], 1)
    page.process(ProcessFigures())
    let table = context.sites.table
    page.requests(table.counted)
    page.traffic(statistics)
    page.warming(context.warmer.progress)
    page.certificates(context.settings.encryption.clients?.certificates ?? [])
    page.origin(table.sites)
    page.objects(cache)
    page.storage(table.counted)
    page.rules(cache.ruleCounts)
    page.store(cache.store)
    if let shared = cache.sharedTierStatistics { page.sharedTier(shared) }
    page.histogram(
      "httpcache_latency_seconds", "Time from a request's head to the head of its response.", table.counted,
      \.latency)
    page.histogram(
      "httpcache_origin_latency_seconds",
      "Time from the start of a fetch to the head of the origin's response.", table.sites, \.originLatency)
    return page.text
  }

  // MARK: - Metrics

  private mutating func process(_ process: ProcessFigures) {
    let values: [(name: String, type: String, help: String, value: Double?)] = [
      (
        "start_time_seconds", "gauge", "When the process was started, in seconds since 1970.",
        ProcessFigures.start
      ),
      (
        "cpu_seconds_total", "counter", "Processor time of the process, in user mode and in the kernel.",
        process.processorSeconds
      ),
      (
        "resident_memory_bytes", "gauge", "Memory of the process in RAM.",
        process.status.map { Double($0.residentBytes) }
      ),
      (
        "virtual_memory_bytes", "gauge", "Address space of the process.",
        process.status.map { Double($0.virtualBytes) }
      ),
      ("open_fds", "gauge", "File descriptors that are open.", process.descriptors.map { Double($0) }),
      ("max_fds", "gauge", "File descriptors that may be open.", process.descriptorLimit.map { Double($0) }),
      ("threads", "gauge", "Threads of the process.", process.status.map { Double($0.threads) }),
    ]
    for (name, type, help, value) in values {
      guard let value else { continue }
      family("process_" + name, type, help)
      sample("process_" + name, [], value)
    }
  }

  private mutating func requests(_ sites: [ServedSite]) {
    let figures = sites.map { ($0.label, Figures($0.statistics)) }
    family(
      "httpcache_requests_total", "counter",
      "Requests answered, by source of the response and class of status.")
    for (site, figures) in figures {
      for outcome in RequestOutcome.allCases {
        let counts = ResponseTable.classes.map { ($0, figures.requests(outcome, statusClass: $0)) }
        // 2xx is always present: a rate needs an initial zero.
        for (statusClass, count) in counts where count > 0 || statusClass == 2 {
          sample(
            "httpcache_requests_total",
            [("outcome", outcome.rawValue), ("status", "\(statusClass)xx")] + site, count)
        }
      }
    }
    family(
      "httpcache_content_bytes_total", "counter", "Bytes of content sent, by source of the response.")
    for (site, figures) in figures {
      for outcome in RequestOutcome.allCases {
        sample(
          "httpcache_content_bytes_total", [("outcome", outcome.rawValue)] + site,
          figures.contentBytes(outcome))
      }
    }
  }

  private mutating func traffic(_ statistics: ProxyStatistics) {
    counter("httpcache_responses_aborted_total", "Responses that ended early.", statistics.aborted.value)
    counter("httpcache_upgrades_total", "Connections that became tunnels.", statistics.upgrades.value)
    counter(
      "httpcache_sent_bytes_total", "Bytes sent to clients, heads included.", statistics.bytesSent.value)
    counter("httpcache_connections_total", "Connections accepted.", statistics.connectionsAccepted.value)
    gauge("httpcache_connections", "Connections open.", statistics.openConnections)
    counter(
      "httpcache_http2_streams_total", "Requests on connections of HTTP/2.", statistics.streams.value)
    gauge(
      "httpcache_http2_streams", "Requests on connections of HTTP/2 in progress.", statistics.openStreams)
    counter(
      "httpcache_http2_streams_refused_total",
      "Requests of HTTP/2 refused because there were too many at once.",
      statistics.streamsRefused.value)
    counter(
      "httpcache_http2_failures_total",
      "Connections of HTTP/2 whose client violated the protocol or its limits.",
      statistics.http2Failures.value)
    family("httpcache_tls_handshakes_total", "counter", "Handshakes of TLS with clients, by result.")
    sample("httpcache_tls_handshakes_total", [("result", "done")], statistics.handshakes.value)
    for kind in TLSFailure.Kind.allCases where kind != .truncated {
      sample(
        "httpcache_tls_handshakes_total", [("result", kind.rawValue)],
        statistics.failedHandshakes[kind]?.value ?? 0)
    }
    family(
      "httpcache_request_fields_removed_total", "counter",
      "Fields removed from requests because they name another client, host, URL or method.")
    for name in FieldRole.countedNames {
      sample(
        "httpcache_request_fields_removed_total", [("field", name)],
        statistics.fieldsRemoved[name]?.value ?? 0)
    }
    counter(
      "httpcache_connections_idle_closed_total", "Idle connections closed to make room for others.",
      statistics.idleClosed.value)
    counter(
      "httpcache_connections_refused_total", "Connections closed because their address has too many.",
      statistics.connectionsRefused.value)
    counter(
      "httpcache_accept_failures_total", "Failed attempts to accept a connection.",
      statistics.acceptFailures.value)
    counter(
      "httpcache_access_log_dropped_lines_total",
      "Lines of the access log that were dropped.", statistics.logLinesDropped.value)
  }

  private mutating func warming(_ progress: WarmingList.Progress) {
    family("httpcache_warming_urls", "gauge", "URLs of the last list to load, by state.")
    for (state, count) in progress.counts { sample("httpcache_warming_urls", [("state", state)], count) }
  }

  private mutating func origin(_ sites: [ServedSite]) {
    let figures = sites.map { ($0, servers: $0.origin.figures) }
    for (name, help, value) in Self.originMetrics {
      family(name, "counter", help)
      for site in sites { sample(name, site.label, value(site.statistics)) }
    }
    for (name, help, value) in Self.connectionMetrics {
      family(name, "gauge", help)
      for (site, servers) in figures {
        sample(name, site.label, servers.reduce(0) { $0 + value($1) })
      }
    }
    family(
      "httpcache_origin_available", "gauge",
      "1 if a server of the origin is up, 0 if all are down.")
    for (site, servers) in figures {
      sample("httpcache_origin_available", site.label, servers.contains { $0.cause == nil } ? 1 : 0)
    }
    for (name, type, help, value) in Self.serverMetrics {
      family(name, type, help)
      for (site, servers) in figures {
        for server in servers { sample(name, [("server", server.name)] + site.label, value(server)) }
      }
    }
    family(
      "httpcache_origin_refused_total", "counter", "Requests that were not sent to the origin, by reason.")
    for site in sites {
      for (reason, count) in [
        ("limit", site.statistics.originLimited), ("unavailable", site.statistics.originUnavailable),
      ] {
        sample("httpcache_origin_refused_total", [("reason", reason)] + site.label, count.value)
      }
    }
  }

  /// The counts of the origin of each site.
  private static let originMetrics: [(name: String, help: String, value: @Sendable (SiteStatistics) -> Int)] =
    [
      (
        "httpcache_origin_requests_total", "Requests to the origin.", { $0.originRequests.value }
      ),
      (
        "httpcache_origin_errors_total", "Requests to the origin without a response.",
        { $0.originErrors.value }
      ),
      (
        "httpcache_origin_retries_total", "Requests repeated on a new connection.",
        { $0.originRetries.value }
      ),
      (
        "httpcache_origin_failovers_total",
        "Requests sent to another server, because one did not answer.", { $0.originFailovers.value }
      ),
      (
        "httpcache_origin_outages_total",
        "Times that a server of the origin went down.", { $0.originOutages.value }
      ),
    ]

  /// The connections of the servers of each origin.
  private static let connectionMetrics:
    [(name: String, help: String, value: @Sendable (OriginServer.Figures) -> Int)] = [
      (
        "httpcache_origin_connections", "Connections to the origin: in use, idle, and as tunnels.",
        { $0.connections }
      ),
      (
        "httpcache_origin_streams", "Requests in flight on connections of HTTP/2 to the origin.",
        { $0.streams }
      ),
      (
        "httpcache_origin_waiting_requests", "Requests that wait for a connection to the origin.",
        { $0.waiting }
      ),
    ]

  /// The metrics of each server of the origin.
  private static let serverMetrics:
    [(name: String, type: String, help: String, value: @Sendable (OriginServer.Figures) -> Int)] = [
      (
        "httpcache_origin_server_available", "gauge",
        "1 if the server is up, 0 if it is down: most requests had no response.",
        { $0.cause == nil ? 1 : 0 }
      ),
      ("httpcache_origin_server_connections", "gauge", "Connections to the server.", { $0.connections }),
      (
        "httpcache_origin_server_waiting_requests", "gauge",
        "Requests that wait for a connection to the server.",
        { $0.waiting }
      ),
      ("httpcache_origin_server_requests_total", "counter", "Requests to the server.", { $0.requests }),
      (
        "httpcache_origin_server_errors_total", "counter", "Requests to the server without a response.",
        { $0.errors }
      ),
    ]

  private mutating func objects(_ cache: HTTPCache) {
    family(
      "httpcache_live_objects", "gauge", "Objects of the process that must be released after use, by kind.")
    for kind in LiveCount.Kind.allCases {
      sample("httpcache_live_objects", [("kind", kind.rawValue)], kind.count)
    }
    gauge(
      "httpcache_transit_bytes", "Bytes in memory of content that is neither stored nor delivered yet.",
      cache.transit.used)
    gauge(
      "httpcache_transit_storing_bytes", "Those of httpcache_transit_bytes that will be stored.",
      cache.transit.usedForStoring)
    counter(
      "httpcache_readers_left_behind_total",
      "Responses that ended early because their client read more slowly than others.",
      cache.transit.leftBehind)
  }

  private mutating func storage(_ sites: [ServedSite]) {
    for (name, help, count) in Self.storageMetrics {
      family(name, "counter", help)
      for site in sites { sample(name, site.label, count(site.statistics.storage).value) }
    }
    family("httpcache_not_stored_total", "counter", "Responses not stored, by reason.")
    for site in sites {
      for (reason, count) in Figures(site.statistics).notStored {
        sample("httpcache_not_stored_total", [("reason", reason)] + site.label, count)
      }
    }
  }

  /// What became of the responses of each site.
  private static let storageMetrics:
    [(name: String, help: String, count: @Sendable (StorageCounts) -> MetricCount)] = [
      ("httpcache_stored_total", "Responses stored.", { $0.stored }),
      ("httpcache_stored_bytes_total", "Bytes of content stored.", { $0.storedBytes }),
      ("httpcache_updated_total", "Stored responses updated.", { $0.updated }),
      ("httpcache_invalidated_total", "Invalidations.", { $0.invalidated }),
    ]

  private mutating func rules(_ counts: [(name: String, requests: Int)]) {
    if counts.isEmpty { return }
    family("httpcache_rule_requests_total", "counter", "Requests that a rule matched.")
    // A scrape with two samples of one name and labels fails.
    var sums: [String: Int] = [:]
    for (name, requests) in counts { sums[name, default: 0] += requests }
    for (name, requests) in sums.sorted(by: { $0.key < $1.key }) {
      sample("httpcache_rule_requests_total", [("rule", name)], requests)
    }
  }

  private mutating func certificates(_ certificates: [ServerCertificate]) {
    if certificates.isEmpty { return }
    family(
      "httpcache_certificate_end_seconds", "gauge",
      "Until when a certificate for clients is valid, in seconds since 1970.")
    var files: Set<String> = []
    // Sites may share one.
    for certificate in certificates where files.insert(certificate.file).inserted {
      sample("httpcache_certificate_end_seconds", [("file", certificate.file)], Int(certificate.lastSecond))
    }
  }

  /// Returns a text as the value of a label.
  private static func label(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }

  private mutating func store(_ store: CacheStore) {
    let (usage, capacity, stored) = (store.usage, store.capacity, store.statistics)
    gauge("httpcache_memory_bytes", "Bytes that entries occupy in memory.", usage.memoryBytes)
    gauge("httpcache_memory_capacity_bytes", "Maximum bytes of entries in memory.", capacity.memory)
    gauge("httpcache_memory_entries", "Entries in memory.", usage.memoryEntries)
    gauge("httpcache_disk_bytes", "Bytes of the files on disk.", usage.diskBytes)
    gauge("httpcache_disk_capacity_bytes", "Maximum bytes of the files on disk.", capacity.disk)
    gauge("httpcache_disk_entries", "Entries on disk.", usage.diskEntries)
    family("httpcache_evictions_total", "counter", "Entries evicted to make room.")
    sample("httpcache_evictions_total", [("tier", "memory")], stored.memoryEvictions)
    sample("httpcache_evictions_total", [("tier", "disk")], stored.diskEvictions)
    counter(
      "httpcache_corrupt_records_total", "Damaged records that were found on disk.", stored.corruptRecords)
    counter("httpcache_io_errors_total", "File system operations that failed.", stored.ioErrors)
    counter(
      "httpcache_disk_failures_total", "Times that the disk stopped accepting writes.",
      stored.diskFailures)
  }

  private mutating func sharedTier(_ tier: HTTPCache.SharedTierStatistics) {
    var label = ""
    for figure in SharedTierFigure.all {
      if figure.label != label { family(figure.label, figure.isGauge ? "gauge" : "counter", figure.help) }
      label = figure.label
      sample(label, figure.dimensions, figure.value(tier))
    }
  }

  // MARK: - Samples

  private mutating func family(_ name: String, _ type: String, _ help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
  }

  private mutating func sample(_ name: String, _ labels: [(String, String)], _ value: some Numeric) {
    let labels = labels.map { "\($0)=\"\(Self.label($1))\"" }.joined(separator: ",")
    text += labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n"
  }

  private mutating func counter(_ name: String, _ help: String, _ value: Int) {
    family(name, "counter", help)
    sample(name, [], value)
  }

  private mutating func gauge(_ name: String, _ help: String, _ value: Int) {
    gauge(name, help, [], value)
  }

  private mutating func gauge(
    _ name: String, _ help: String, _ labels: [(String, String)], _ value: Int
  ) {
    family(name, "gauge", help)
    sample(name, labels, value)
  }

  private mutating func histogram(
    _ name: String, _ help: String, _ sites: [ServedSite],
    _ histogram: KeyPath<SiteStatistics, LatencyHistogram>
  ) {
    family(name, "histogram", help)
    for site in sites {
      let (counts, microseconds) = site.statistics[keyPath: histogram].snapshot
      var sum = 0
      for (bound, count) in zip(LatencyHistogram.bounds, counts) {
        sum += count
        sample(name + "_bucket", [("le", "\(Double(bound) / 1e6)")] + site.label, sum)
      }
      sum += counts.last ?? 0
      sample(name + "_bucket", [("le", "+Inf")] + site.label, sum)
      sample(name + "_sum", site.label, Double(microseconds) / 1e6)
      sample(name + "_count", site.label, sum)
    }
  }
}
