// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import Hummingbird

/// The cache of the route that handles a request: what `RequestContext.cache` returns.
///
/// It may be kept and used after the response, for example in a task.
public struct RouteCache: Sendable {
  private let storage: Storage

  fileprivate init(_ storage: Storage) {
    self.storage = storage
  }

  /// The cache itself.
  public var responses: HTTPCache { storage.cache }

  /// Invalidates all responses in a group of the request's origin (RFC 9875 §2.1), including those in flight.
  ///
  /// Responses name their groups in `Cache-Groups`. The origin is the scheme, host and port of the request: responses for
  /// other hosts of the application stay.
  ///
  /// - Complexity: O(1), regardless of the number of stored responses.
  public func invalidate(group: String) {
    guard let target = storage.target else { return }
    storage.cache.remove(.group(group, of: target, partition: storage.partition))
  }

  /// Removes all responses for a URL. Responses in flight for it are not stored.
  ///
  /// - Parameter url: a path with its query, such as `/news?page=1`, or an absolute URL.
  /// - Returns: the number of responses that were removed.
  @discardableResult
  public func invalidate(_ url: String) -> Int {
    guard let selection = selection(of: url) else { return 0 }
    return storage.cache.remove(selection).count ?? 0
  }

  /// Marks all responses for a URL as stale: they are revalidated before their next use, and may be used if that fails,
  /// as their directives allow.
  ///
  /// - Parameter url: a path with its query, such as `/news?page=1`, or an absolute URL.
  /// - Returns: the number of responses that are now stale.
  @discardableResult
  public func expire(_ url: String) -> Int {
    guard let selection = selection(of: url) else { return 0 }
    return storage.cache.expire(selection).count ?? 0
  }

  /// Invalidates all responses of the request's origin, including those in flight. The origin is the scheme, host and port
  /// of the request: responses for other hosts of the application stay.
  ///
  /// - Complexity: O(1), regardless of the number of stored responses.
  public func invalidateAll() {
    guard let target = storage.target else { return }
    storage.cache.remove(.origin(of: target, partition: storage.partition))
  }

  /// Sets how the response to this request gets a validator, in place of the middleware's option.
  public func useValidator(_ validator: ResponseValidator) {
    storage.validator = validator
  }

  private func selection(of url: String) -> HTTPCache.Selection? {
    storage.target?.resolving(url).map { .target($0, partition: storage.partition) }
  }

  /// What a middleware tells the handlers behind it.
  final class Storage: Sendable {
    let cache: HTTPCache
    let partition: String?
    private let request: HTTPRequest
    private let outer: Storage?
    private let chosen: Mutex<ResponseValidator>
    private let declared = Mutex<String?>(nil)

    init(
      _ cache: HTTPCache, _ request: HTTPRequest, _ partition: String?, _ validator: ResponseValidator,
      within outer: Storage?
    ) {
      self.cache = cache
      self.request = request
      self.outer = outer
      self.partition = partition
      chosen = Mutex(validator)
    }

    /// The target of the request; `nil` if it has no valid one.
    var target: TargetURI? { TargetURI(request) }

    var validator: ResponseValidator {
      get { chosen.withLock { $0 } }
      set { chosen.withLock { $0 = newValue } }
    }

    /// The `Cache-Control` that a group has declared for the response; `nil` if none has.
    var declaration: String? {
      get { declared.withLock { $0 } }
      set { declared.withLock { $0 = newValue } }
    }

    /// Whether a request belongs to this one: a second middleware of the same cache gets it. A request that a handler
    /// makes by itself is another.
    func isNested(in cache: HTTPCache, _ head: HTTPRequest) -> Bool {
      cache === self.cache && head.path == request.path && head.method == request.method
        && head.authority == request.authority || outer?.isNested(in: cache, head) ?? false
    }
  }

  /// The cache of the task's route; `nil` outside of one.
  fileprivate static var current: RouteCache? { CachingTask.current?.route.map { RouteCache($0) } }
}

extension RequestContext {
  /// The cache of the route that handles the request, for invalidations.
  ///
  /// ```swift
  /// router.post("news") { request, context in
  ///   try await publish(request)
  ///   try context.cache.invalidate(group: "news")
  ///   return HTTPResponse.Status.created
  /// }
  /// ```
  ///
  /// It is found by the task of the request, also while the content of a `ResponseBody` is written. In a detached task, use
  /// a value that you got before.
  ///
  /// - Throws: ``RouteCacheError`` if no ``CacheMiddleware`` takes part in the request, or the task is detached.
  public var cache: RouteCache {
    get throws {
      guard let cache = RouteCache.current else { throw RouteCacheError() }
      return cache
    }
  }
}

/// A task that has no cache has used `RequestContext.cache`.
public struct RouteCacheError: Error, CustomStringConvertible {
  public var description: String {
    """
    this task belongs to no request with a cache. If no CacheMiddleware is before the handler, add one to its router or \
    group before the route. If shouldIntercept excludes the request, use the HTTPCache itself. In a detached task, use a \
    value of context.cache that the handler got
    """
  }
}
