// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCaching
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
  let origin: OriginClient
  let executors: LoopExecutors
  let statistics: ProxyStatistics
  let logger: Logger
  /// Observes each request to the origin.
  let watch: OriginWatch
  /// Logs when there are too many requests of HTTP/2.
  let streamLog: FailureLog
  /// The access log, if there is one.
  let accessLog: AccessLog?
  /// Recent and earlier readings of the counters.
  let recent: RecentFigures
  /// Whether the proxy is stopping: it finishes requests in flight, and begins no more.
  let isDraining = Atomic(false)
  /// The scheme of the clients' URLs.
  let scheme: String
  /// The default authority, for clients of HTTP/1.0 that send none.
  let authority: String

  init(
    _ settings: CurrentConfiguration, cache: HTTPCache, origin: OriginClient, group: any EventLoopGroup,
    statistics: ProxyStatistics, logger: Logger, accessLog: AccessLog? = nil,
    clock: any CacheClock = SystemCacheClock.shared
  ) {
    self.settings = settings
    executors = LoopExecutors(group)
    configuration = settings.value
    self.cache = cache
    self.origin = origin
    self.statistics = statistics
    self.logger = logger
    self.accessLog = accessLog
    streamLog = FailureLog(logger, recovery: "there is room for requests of HTTP/2 again")
    watch = OriginWatch(statistics, logger, clock: clock)
    recent = RecentFigures(Figures(statistics), clock: clock)
    scheme = configuration.clientScheme
    let authority = configuration.origin.authority
    self.authority = Authority.normalized(authority, scheme: scheme) ?? authority
  }
}
