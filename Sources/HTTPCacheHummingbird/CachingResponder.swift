// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Hummingbird

/// A responder whose stale responses are revalidated in the background.
///
/// A revalidation runs the handler after the response has been sent. Hummingbird can run a handler only through the
/// whole application, so the application must begin with this responder:
///
/// ```swift
/// let app = Application(responder: router.buildCachingResponder())
/// ```
///
/// The request of a revalidation passes through all middlewares, with a copy of the context that the application made
/// for the client's request. It has no content, and the conditions of the cache in place of the client's. A context
/// may thus be in use for longer than its request. Middlewares recognise these requests by
/// `RequestContext.isRequestOfCache`.
///
/// A HEAD request for a path without a route for HEAD gets what a GET would get: the request for it passes through the
/// middlewares, likewise.
public struct CachingResponder<Base: HTTPResponder>: HTTPResponder where Base.Context: RequestContext {
  private let base: Base

  /// - Parameter base: the application's responder.
  public init(_ base: Base) {
    self.base = base
  }

  /// Responds with the application's responder, and lets it respond again to background revalidations.
  public func respond(to request: Request, context: Base.Context) async throws -> Response {
    let base = base
    let task = CachingTask(entrance: { try await base.respond(to: $0, context: context) })
    return try await CachingTask.$current.withValue(task) {
      try await base.respond(to: request, context: context)
    }
  }
}

extension RequestContext {
  /// Whether the cache, and not a client, has sent the request that this task handles: to revalidate a response in the
  /// background, or for a GET in the place of a HEAD.
  ///
  /// Middlewares use it to leave such requests out of rate limits, metrics and logs:
  ///
  /// ```swift
  /// guard !context.isRequestOfCache else { return try await next(request, context) }
  /// ```
  public var isRequestOfCache: Bool { CachingTask.current?.run != nil }
}

extension HTTPResponderBuilder where Responder.Context: RequestContext {
  /// Builds the responder of an application whose stale responses are revalidated in the background. Call it after all
  /// routes have been added.
  public func buildCachingResponder() -> CachingResponder<Responder> {
    CachingResponder(buildResponder())
  }
}
