// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

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
  /// The cache stays open for the life of the process, or until `HTTPCache.close()`.
  ///
  /// Foundation's own `urlCache` is switched off: it must not answer before this cache is asked.
  ///
  /// - Parameters:
  ///   - cache: where responses are stored; several configurations may share one.
  ///   - options: which requests, and what else a session may want its own way.
  ///   - base: the configuration to start from. It is copied.
  public static func caching(
    with cache: HTTPCache, options: CachingOptions = CachingOptions(),
    base: URLSessionConfiguration = .default
  ) -> URLSessionConfiguration {
    guard let configuration = base.copy() as? URLSessionConfiguration else { return base }
    configuration.urlCache = nil
    let others = configuration.protocolClasses ?? []
    let own = CacheBindings.shared.makeClass(
      for: CacheBinding(cache: cache, options: options, configuration: configuration))
    configuration.protocolClasses = [own] + others.filter { !($0 is CachingURLProtocol.Type) }
    return configuration
  }

  /// A configuration whose sessions answer from an HTTP cache; see ``caching(with:options:base:)-(HTTPCache,_,_)``.
  public static func caching(
    with cache: HTTPURLCache, options: CachingOptions = CachingOptions(),
    base: URLSessionConfiguration = .default
  ) -> URLSessionConfiguration {
    caching(with: cache.cache, options: options, base: base)
  }
}
