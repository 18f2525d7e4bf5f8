// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
// One import is enough for the two lines that switch the cache on.
@_exported import HTTPCaching

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLSessionConfiguration {
  /// Returns a configuration whose sessions answer from an HTTP cache.
  ///
  /// ```swift
  /// let cache = try HTTPCache(.init(memoryCapacity: 64 << 20, diskCapacity: 1 << 30, directory: path))
  /// let session = URLSession(configuration: .caching(with: cache))
  /// ```
  ///
  /// Tasks for `http` and `https` URLs go through the cache. Each uses its request's `cachePolicy`, or the
  /// configuration's if the request has the default one. The configuration's headers, timeouts, cookies and the like
  /// apply to the requests to the origin, whether you set them before this call or after it.
  ///
  /// The cache stays open for the life of the process, or until `HTTPCache.close()`.
  ///
  /// Foundation's own `urlCache` is switched off, because it would answer before this cache.
  ///
  /// - Parameters:
  ///   - cache: the cache that stores responses; several configurations may share one.
  ///   - options: per-session options.
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

  /// Returns a configuration whose sessions answer from an HTTP cache; see
  /// ``caching(with:options:base:)-(HTTPCache,_,_)``.
  public static func caching(
    with cache: HTTPURLCache, options: CachingOptions = CachingOptions(),
    base: URLSessionConfiguration = .default
  ) -> URLSessionConfiguration {
    caching(with: cache.cache, options: options, base: base)
  }

  /// The cache of a configuration that ``caching(with:options:base:)-(HTTPCache,_,_)`` made, and its options; `nil` for
  /// any other.
  package var caching: (cache: HTTPCache, options: CachingOptions)? {
    for type in protocolClasses ?? [] {
      guard let type = type as? CachingURLProtocol.Type, let binding = CacheBindings.shared.value(of: type)
      else { continue }
      return (binding.cache, binding.options)
    }
    return nil
  }
}
