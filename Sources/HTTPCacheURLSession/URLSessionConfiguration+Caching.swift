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
  /// On Linux, several sessions may be made from the configuration and from copies of it, also with other settings: each sends
  /// its own headers, cookies and credentials.
  ///
  /// On Apple platforms, make one session for each call of this method: a task does not tell which session runs it. Make it at
  /// once: 10 seconds after the call, the settings are copied, in case you release the configuration before the first task.
  /// After a change that follows the first task, tasks fail with an error that says so. Copies and changes before the first task
  /// are not noticed: all sessions then have the settings of one.
  ///
  /// The cache stays open as long as you, the configuration or a session refers to it, or until `HTTPCache.close()`.
  ///
  /// The configuration's `urlCache` is replaced by an object that refers to this cache: what it returns, stores and removes
  /// is in the cache, and `URLSession.reset` empties it. Do not set it again.
  ///
  /// - Parameters:
  ///   - cache: the cache that stores responses; several configurations may share one.
  ///   - options: per-session options.
  ///   - base: the configuration to start from. It is copied.
  public static func caching(
    with cache: HTTPCache, options: CachingOptions = CachingOptions(),
    base: URLSessionConfiguration = .default
  ) -> URLSessionConfiguration {
    caching(
      with: cache, options: options, base: base, readsSessions: Platform.readsSessions,
      clientThread: Platform.clientThread)
  }

  /// - Parameters:
  ///   - readsSessions: whether a task leads to its session; `false` is the behaviour on Apple platforms.
  ///   - clientThread: returns the thread on which the client must be called; `nil` is the behaviour on Linux.
  static func caching(
    with cache: HTTPCache, options: CachingOptions, base: URLSessionConfiguration, readsSessions: Bool,
    clientThread: @escaping @Sendable () -> ClientThread?
  ) -> URLSessionConfiguration {
    guard let configuration = base.copy() as? URLSessionConfiguration else { return base }
    let carrier = CacheCarrier(
      cache, options, in: configuration, readsSessions: readsSessions, clientThread: clientThread)
    let others = configuration.protocolClasses ?? []
    configuration.protocolClasses =
      [CacheCarriers.makeClass(for: carrier)] + others.filter { !($0 is CachingURLProtocol.Type) }
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
      guard let type = type as? CachingURLProtocol.Type, let carrier = CacheCarriers.carrier(of: type)
      else { continue }
      return (carrier.cache, carrier.options)
    }
    return nil
  }
}
