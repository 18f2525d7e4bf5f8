// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCaching
import Logging
import Synchronization

/// What all connections of a proxy share.
final class ProxyContext: Sendable {
  /// As the proxy was started.
  let configuration: ProxyConfiguration
  /// With what has changed since; reading it takes a lock, so not for each request.
  let settings: CurrentConfiguration
  let cache: HTTPCache
  let origin: OriginClient
  let statistics: ProxyStatistics
  let logger: Logger
  /// Sees each request to the origin.
  let watch: OriginWatch
  /// The access log, if there is one.
  let accessLog: AccessLog?
  /// What the counters said a moment ago, and before.
  let recent: RecentFigures
  /// Whether the proxy is to stop: what is under way is finished, and no more begun.
  let isDraining = Atomic(false)
  /// Whose server this is, for clients of HTTP/1.0 that do not say.
  let authority: String

  init(
    _ settings: CurrentConfiguration, cache: HTTPCache, origin: OriginClient, statistics: ProxyStatistics,
    logger: Logger, accessLog: AccessLog? = nil
  ) {
    self.settings = settings
    configuration = settings.value
    self.cache = cache
    self.origin = origin
    self.statistics = statistics
    self.logger = logger
    self.accessLog = accessLog
    watch = OriginWatch(statistics, logger)
    recent = RecentFigures(Figures(statistics))
    let origin = configuration.origin.description
    authority = Authority.normalized(origin, scheme: configuration.scheme) ?? origin
  }
}
