// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import Hummingbird

/// A middleware that declares, for all routes behind it, what their handlers do not say.
///
/// ```swift
/// router.add(middleware: CacheMiddleware(cache: cache))
/// router.group("products").caching(.seconds(60), groups: ["products"])
///   .get(":id") { _, context in try await product(context) }
/// ```
///
/// The successful responses and permanent redirects (2xx, 301 and 308) to GET, HEAD and QUERY get the `Cache-Control` of the declaration if
/// they have no field about caching, and set no cookies. What a handler says itself counts, and among several declarations
/// that of the innermost group. All of these responses get the groups and `Vary`, in addition to their own.
///
/// Add it behind the ``CacheMiddleware``. In front of it, the fields would be only for clients.
public struct CachingDefaults<Context: RequestContext>: RouterMiddleware {
  private let sharing: CacheSharing
  private let declare: @Sendable (inout Response) -> Void
  private let vary: [HTTPField.Name]
  private let groups: [String]

  /// - Parameters:
  ///   - maxAge: the time for which the responses are fresh.
  ///   - sharing: who may store them (default: ``CacheSharing/anonymous``).
  ///   - sharedMaxAge: the same time for shared caches only.
  ///   - staleWhileRevalidate: the time after that in which they are used while they are revalidated in the background.
  ///   - staleIfError: the time after that in which they are used if the handler fails.
  ///   - directives: other directives.
  ///   - vary: the request fields that the responses depend on.
  ///   - groups: the groups that invalidate them.
  ///   - clients: what `Cache-Control` tells clients and CDNs instead; `nil` for the same.
  public init(
    _ maxAge: Duration, sharing: CacheSharing = .anonymous, sharedMaxAge: Duration? = nil,
    staleWhileRevalidate: Duration? = nil, staleIfError: Duration? = nil, directives: [CacheDirective] = [],
    vary: [HTTPField.Name] = [], groups: [String] = [], clients: CacheRestriction? = nil
  ) {
    declare = { response in
      response.cache(
        sharing, maxAge: maxAge, sharedMaxAge: sharedMaxAge, staleWhileRevalidate: staleWhileRevalidate,
        staleIfError: staleIfError, directives: directives, clients: clients)
    }
    (self.sharing, self.vary, self.groups) = (sharing, vary, groups)
  }

  /// Other redirects may depend on who is signed in.
  private static func isDeclared(_ status: HTTPResponse.Status) -> Bool {
    (200...299).contains(status.code) || status == .movedPermanently || status == .permanentRedirect
  }

  /// Runs the handler, and adds to its response.
  public func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    var response = try await next(request, context)
    // A 304 confirms what is stored: fields of a group would replace those of the handler's own (RFC 9111 §3.2).
    let isRetrieval = request.method == .get || request.method == .head || request.method.isQuery
    guard isRetrieval, Self.isDeclared(response.status) else { return response }
    // Some directives also permit to store responses to requests with credentials (RFC 9111 §3.5).
    let isForAll = sharing != .anonymous || !request.headers.contains(.authorization)
    if isForAll, !response.declaresCaching {
      declare(&response)
      CachingTask.current?.route?.declaration = response.headers[.cacheControl]
      // Without a cache, nothing would remove the field.
      if CachingTask.current?.route == nil { response.headers.removeOwnCacheControl() }
    }
    response.add(vary: vary, groups: groups)
    return response
  }
}

extension RouterMethods {
  /// Declares, for the routes that are added after this call, what their handlers do not say: see ``CachingDefaults``,
  /// whose parameters these are.
  ///
  /// ```swift
  /// router.group("products").caching(.seconds(60), groups: ["products"], clients: .noStore)
  ///   .get(":id") { _, context in try await product(context) }
  /// ```
  @discardableResult
  public func caching(
    _ maxAge: Duration, sharing: CacheSharing = .anonymous, sharedMaxAge: Duration? = nil,
    staleWhileRevalidate: Duration? = nil, staleIfError: Duration? = nil, directives: [CacheDirective] = [],
    vary: [HTTPField.Name] = [], groups: [String] = [], clients: CacheRestriction? = nil
  ) -> Self {
    add(
      middleware: CachingDefaults<Context>(
        maxAge, sharing: sharing, sharedMaxAge: sharedMaxAge, staleWhileRevalidate: staleWhileRevalidate,
        staleIfError: staleIfError, directives: directives, vary: vary, groups: groups, clients: clients))
  }
}

extension Response {
  /// Whether the handler has said something about caching, or sets cookies: they are not for other users.
  fileprivate var declaresCaching: Bool {
    headers.contains { field in
      switch field.name {
      case .cacheControl, .expires, .setCookie: true
      // A targeted field (RFC 9213).
      default: field.name.canonicalName.hasSuffix("-cache-control")
      }
    }
  }
}
