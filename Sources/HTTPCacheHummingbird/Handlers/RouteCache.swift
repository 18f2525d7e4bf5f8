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

  /// Invalidates all responses in a group (RFC 9875 §2.1), including those in flight. Responses name their groups in
  /// `Cache-Groups`.
  ///
  /// - Parameters:
  ///   - group: the name of the group.
  ///   - everywhere: whether the groups of that name of all origins and partitions are meant (default: only that of the
  ///     request's origin and partition). The origin is the `publicOrigin` of the middleware, or else the scheme, host and
  ///     port of the request.
  ///   - counting: whether to search for the responses and count them (default: no, unless `everywhere`).
  /// - Complexity: O(1), regardless of the number of stored responses; O(*n*) to count them, and while a rule makes partitions, all
  ///   of which are then meant.
  @discardableResult
  public func invalidate(
    group: String, everywhere: Bool = false, counting: Bool = false
  ) -> HTTPCache.RemovalResult {
    let own = storage.target.map { HTTPCache.Selection.group(group, of: $0, partition: storage.partition) }
    return remove(everywhere ? .group(group) : own, counting: counting)
  }

  /// Removes all responses for a URL. Responses in flight for it are not stored.
  ///
  /// - Parameter url: a path with its query, such as `/news?page=1`, or an absolute URL.
  /// - Returns: the number of responses that were removed.
  @discardableResult
  public func invalidate(_ url: String) -> Int {
    remove(selection(of: url)).count ?? 0
  }

  /// Removes all responses whose URL begins with a text. Responses in flight for them are not stored.
  ///
  /// - Parameter prefix: a path or the beginning of one, such as `/news/`, or the beginning of an absolute URL.
  /// - Returns: the number of responses that were removed.
  /// - Complexity: O(*n*) in the number of responses stored, with one read for each response on disk.
  @discardableResult
  public func invalidate(prefix: String) -> Int {
    let url = storage.target?.resolving(prefix)
    return remove(url.map { .patterns([.prefix($0.text)], partition: storage.partition) }).count ?? 0
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

  /// Invalidates all responses of the request's origin and partition, including those in flight. The origin is the
  /// `publicOrigin` of the middleware, or else the scheme, host and port of the request.
  ///
  /// - Parameter counting: whether to search for the responses and count them (default: no).
  /// - Complexity: O(1), regardless of the number of stored responses; O(*n*) to count them, and while a rule makes partitions, all
  ///   of which are then meant.
  @discardableResult
  public func invalidateAll(counting: Bool = false) -> HTTPCache.RemovalResult {
    remove(storage.target.map { .origin(of: $0, partition: storage.partition) }, counting: counting)
  }

  /// Waits until all nodes of the shared tier have applied the invalidations so far; see
  /// `HTTPCache.confirmRemovals(within:)`. Without a shared tier it returns at once.
  ///
  /// - Parameter limit: maximum time to wait.
  /// - Returns: how far the invalidations have reached.
  public func confirm(within limit: Duration = .seconds(5)) async -> HTTPCache.RemovalReach {
    await storage.cache.confirmRemovals(within: limit)
  }

  /// Sets how the response to this request gets a validator, in place of the middleware's option.
  public func useValidator(_ validator: ResponseValidator) {
    storage.validator = validator
  }

  /// Removes nothing if there is no selection: the request has no valid target.
  private func remove(_ selection: HTTPCache.Selection?, counting: Bool = false) -> HTTPCache.RemovalResult {
    storage.cache.remove(selection ?? .patterns([]), counting: counting)
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
