// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import Hummingbird

// One import is enough. Declarations one by one: all of HTTPCaching would bring a second `CacheControl` beside Hummingbird's.
@_exported import struct HTTPCacheEngine.TargetURI
@_exported import struct HTTPCaching.CacheRule
@_exported import struct HTTPCaching.CacheRules
@_exported import class HTTPCaching.HTTPCache

#if !Hummingbird
  #error(
    "HTTPCacheHummingbird needs the trait Hummingbird: pass --traits Hummingbird or set it in your .package")
#endif

/// A middleware that caches the responses of the routes behind it, as a shared cache that implements RFC 9111.
///
/// ```swift
/// let cache = try HTTPCache(.init(kind: .shared, memoryCapacity: 64 << 20))
/// let router = Router()
/// router.add(middleware: CacheMiddleware(cache: cache))
/// router.get("news") { _, _ in
///   Response(status: .ok, body: .init(byteBuffer: try await news()))
///     .caching(.public, maxAge: .seconds(60), staleWhileRevalidate: .seconds(600))
/// }
/// let app = Application(responder: router.buildCachingResponder())
/// ```
///
/// The handler decides by `Cache-Control`: a response without it, and without `Expires`, is not stored.
/// `Response.cache` and `Response.caching` write the fields.
///
/// - A hit in memory is answered without a suspension, and the handler does not run.
/// - Concurrent requests for the same response run the handler once, if the response may be shared.
/// - Conditional requests, ranges and HEAD are answered from the stored response.
/// - A reload by a client (`no-cache`, `max-age`) is answered from a fresh stored response: there is no origin behind the
///   handler. `rules.reload` of the cache's configuration restores it with `honor`.
/// - A stale response is revalidated in the background if its `stale-while-revalidate` allows it, provided that the
///   application has a ``CachingResponder``. Without one, the request waits for the revalidation.
/// - A handler that throws, or responds with 500, 502, 503 or 504, is replaced by a stored response within its
///   `stale-if-error`. Otherwise the error reaches the middlewares before this one unchanged.
/// - A successful request with an unsafe method invalidates its target. Handlers invalidate more with
///   `RequestContext.cache`.
/// - `Cache-Status` says what happened to each response.
///
/// Add it behind the middlewares that decide whether a client may see a response: a hit runs only the middlewares
/// before this one. See <doc:CacheYourRoutes>.
public struct CacheMiddleware<Context: RequestContext>: RouterMiddleware {
  /// The cache of the responses.
  public let cache: HTTPCache
  let validator: ResponseValidator
  private let defaultAuthority: String
  private let publicOrigin: TargetURI?
  private let partition: (@Sendable (Request, Context) -> String?)?
  private let shouldIntercept: (@Sendable (Request, Context) -> Bool)?

  /// Makes a middleware over a cache. Several middlewares may share one.
  ///
  /// - Parameters:
  ///   - cache: a cache of the kind `shared`: a private one would give the responses of one user to the next.
  ///   - validator: the validator of responses that the handler gives none (default: ``ResponseValidator/strong``). The
  ///     handler can choose another with ``RouteCache/useValidator(_:)``, and names one with
  ///     `Request.isCurrent(etag:lastModified:)`.
  ///   - defaultAuthority: the authority of requests that have none, because HTTP/1.0 does not require `Host` (default:
  ///     `localhost`).
  ///   - publicOrigin: the scheme, the host and the port by which clients know the application, such as
  ///     `https://shop.example` (default: those of each request). All requests count as requests for it, whatever their
  ///     `Host`: they share responses, groups and invalidations. Handlers see it in place of the host of the client, which
  ///     could otherwise bring its own into a response for all. Behind a proxy that ends TLS, absolute URLs in `Location`
  ///     then belong to the same origin as the request, which is plain `http`.
  ///   - partition: returns the partition of a request, such as its tenant; `nil` for the partition of the cache.
  ///     Responses of different partitions have nothing in common.
  ///   - shouldIntercept: returns whether the cache takes part in a request (default: in all). The handler of any other
  ///     request runs as without the middleware: its response is not stored, and invalidates nothing.
  public init(
    cache: HTTPCache, validator: ResponseValidator = .strong, defaultAuthority: String = "localhost",
    publicOrigin: String? = nil,
    partition: (@Sendable (Request, Context) -> String?)? = nil,
    shouldIntercept: (@Sendable (Request, Context) -> Bool)? = nil
  ) {
    // Not a precondition, whose text is missing in a release build.
    guard cache.isShared else {
      fatalError(
        "the cache of a CacheMiddleware serves many users: make it with HTTPCache.Configuration(kind: .shared)"
      )
    }
    self.cache = cache
    self.validator = validator
    self.defaultAuthority = defaultAuthority
    self.publicOrigin = publicOrigin.map { text in
      guard let origin = TargetURI(absolute: text), origin.path == "/" else {
        fatalError(
          "the publicOrigin of a CacheMiddleware is a scheme and a host, such as https://a.example: \(text)")
      }
      return origin
    }
    self.partition = partition
    self.shouldIntercept = shouldIntercept
  }

  /// Answers from the cache, or runs the handler.
  public func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    if let shouldIntercept, !shouldIntercept(request, context) {
      var response = try await next(request, context)
      if CachingTask.current?.route == nil { response.headers.removeOwnCacheControl() }
      return response
    }
    var asked = request.head
    if asked.authority == nil { asked.authority = defaultAuthority }
    let head = keyed(asked)
    let task = CachingTask.current
    if let task, let route = task.route, route.isNested(in: cache, asked) {
      // Another middleware of this cache has already looked up the request, and waits for the response.
      route.validator = validator
      return try await next(request, context)
    }
    let partition = partition?(request, context)
    if let run = task?.run, run.isExpected {
      // Not for another cache: it would answer the revalidation from what it has stored.
      guard run.arrives(at: cache) else { return try await next(request, context) }
      return try await revalidate(run, request, head, context, partition, next)
    }
    let content = MessageBody(requestBody: request.body, of: head)
    let beginning = cache.begin(
      head, body: content, partition: partition, revalidatesInBackground: task?.entrance != nil, isLocal: true
    )
    switch beginning {
    case .answer(let response): return Response(response, to: head.method)
    case .pending(let begun):
      return try await fetch(request, head, begun, content, context, partition, task, next)
    }
  }

  /// Returns the head of a request as the cache knows it.
  private func keyed(_ head: HTTPRequest) -> HTTPRequest {
    guard let publicOrigin else { return head }
    var head = head
    (head.scheme, head.authority) = (publicOrigin.scheme, publicOrigin.authority)
    return head
  }
}
