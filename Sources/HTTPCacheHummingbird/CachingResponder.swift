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
/// may thus be in use for longer than its request.
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

extension HTTPResponderBuilder where Responder.Context: RequestContext {
  /// Builds the responder of an application whose stale responses are revalidated in the background. Call it after all
  /// routes have been added.
  public func buildCachingResponder() -> CachingResponder<Responder> {
    CachingResponder(buildResponder())
  }
}
