import HTTPCacheObserving
import HTTPCaching
import Logging
import Synchronization

/// What all connections of a proxy share.
final class ProxyContext: Sendable {
  let configuration: ProxyConfiguration
  let cache: HTTPCache
  let origin: OriginClient
  let statistics: ProxyStatistics
  let logger: Logger
  /// Whether the proxy is to stop: what is under way is finished, and no more begun.
  let isDraining = Atomic(false)
  /// Whose server this is, for clients of HTTP/1.0 that do not say.
  let authority: String

  init(
    _ configuration: ProxyConfiguration, cache: HTTPCache, origin: OriginClient, statistics: ProxyStatistics,
    logger: Logger
  ) {
    self.configuration = configuration
    self.cache = cache
    self.origin = origin
    self.statistics = statistics
    self.logger = logger
    authority = configuration.origin.description
  }
}
