import Foundation
import HTTPCaching

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLSessionConfiguration {
  /// A configuration whose sessions answer from an HTTP cache.
  ///
  /// ```swift
  /// let cache = try HTTPCache(.init(memoryCapacity: 64 << 20, diskCapacity: 1 << 30, directory: path))
  /// let session = URLSession(configuration: .caching(with: cache))
  /// ```
  ///
  /// Tasks for `http` and `https` URLs go through the cache, each by its request's `cachePolicy`, or by the
  /// configuration's where the request has the default one. What the configuration says of headers, timeouts, cookies
  /// and the like holds for the requests to the origin, whether it was set before this call or after.
  ///
  /// The cache stays open for the life of the process, or until ``HTTPCache/close()``.
  ///
  /// Foundation's own `urlCache` is switched off: it must not answer before this cache is asked.
  ///
  /// - Parameters:
  ///   - cache: where responses are stored; several configurations may share one.
  ///   - base: the configuration to start from. It is copied.
  ///   - partition: the partition that a request's responses are kept in, as the account or the site that it is for;
  ///     `nil` for the cache's own. Redirects stay in that of the first request.
  ///   - transport: makes the transport that asks origins out of the session's own: to record what comes, or to make things
  ///     go wrong.
  public static func caching(
    with cache: HTTPCache, base: URLSessionConfiguration = .default,
    partition: @escaping @Sendable (URLRequest) -> String? = { _ in nil },
    through transport: @escaping @Sendable (@escaping Transport) -> Transport = { $0 }
  ) -> URLSessionConfiguration {
    guard let configuration = base.copy() as? URLSessionConfiguration else { return base }
    configuration.urlCache = nil
    let others = configuration.protocolClasses ?? []
    let own = CacheBindings.shared.bind(
      CacheBinding(
        cache: cache, configuration: configuration, partition: partition, through: transport))
    configuration.protocolClasses = [own] + others.filter { !($0 is CachingURLProtocol.Type) }
    return configuration
  }
}
