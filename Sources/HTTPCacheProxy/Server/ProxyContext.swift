// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCaching
import HTTPTypes
import Logging
import NIOCore
import Synchronization

/// The objects that all connections of a proxy share.
final class ProxyContext: Sendable {
  /// The configuration that the proxy was started with.
  let configuration: ProxyConfiguration
  /// The current configuration; reading it takes a lock, so do not read it for each request.
  let settings: CurrentConfiguration
  let cache: HTTPCache
  let sites: ServedSites
  let executors: LoopExecutors
  let warmer: Warmer
  let statistics: ProxyStatistics
  let logger: Logger
  /// Logs when there are too many requests of HTTP/2.
  let streamLog: FailureLog
  /// Logs that requests have come back.
  private let loopLog: FailureLog
  /// The access log, if there is one.
  let accessLog: AccessLog?
  /// Whether the proxy is stopping: it finishes requests in flight, and begins no more.
  let isDraining = Atomic(false)
  /// The scheme of the clients' URLs.
  let scheme: String

  init(
    _ settings: CurrentConfiguration, cache: HTTPCache, group: any EventLoopGroup,
    statistics: ProxyStatistics, logger: Logger, accessLog: AccessLog? = nil,
    clock: any CacheClock = SystemCacheClock.shared, lookup: @escaping HostLookup = systemHostLookup
  ) {
    self.settings = settings
    executors = LoopExecutors(group)
    warmer = Warmer(on: group.next(), logger)
    configuration = settings.value
    self.cache = cache
    self.statistics = statistics
    self.logger = logger
    self.accessLog = accessLog
    streamLog = FailureLog(logger, recovery: "there is room for requests of HTTP/2 again")
    loopLog = FailureLog(logger, recovery: "")
    scheme = configuration.clientScheme
    let sites = ServedSites(
      settings,
      ServedSite.Surroundings(
        group: group, transit: cache.transit, logger: logger, clock: clock, lookup: lookup),
      unassigned: statistics.unassigned)
    self.sites = sites
    settings.onChange { [weak sites] _ in sites?.update() }
  }

  /// Counts a field that was removed from a request, and logs the first one of each counted name.
  func fieldRemoved(_ field: HTTPField) {
    // CGI does not distinguish them.
    let name = field.name.canonicalName.replacing("_", with: "-")
    guard let count = statistics.fieldsRemoved[name], count.increment() == 0 else { return }
    let reason: Logger.Message =
      FieldRole(name) == .methodOverride
      ? "removed a field that names another method from a GET, HEAD or QUERY"
      : "removed a field about the client; if a proxy in front sets it, add its address to --trust, and the field to --trust-field"
    logger.notice(reason, metadata: ["field": "\(name)"])
  }

  /// Throws ``MessageFault`` if the request cannot go to an origin: it is for no site, or has come back.
  func check(_ request: ClientRequest) throws(MessageFault) {
    try request.checkSite()
    guard request.hasVia, settings.pseudonym.isIn(request.request.headerFields) else { return }
    let site = site(of: request).name
    loopLog.failed(
      "loop \(site)",
      "a request has come back: the origin\(site.isEmpty ? "" : " of the site \(site)") leads to this proxy; correct its address"
    )
    throw MessageFault(508, "the request has passed this proxy before (RFC 9110 §7.6)")
  }

  /// The site of a request.
  func site(of request: ClientRequest?) -> ServedSite { request?.site ?? sites.table.unassigned }
}
