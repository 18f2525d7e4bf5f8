// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheHummingbird
import Hummingbird

private func CacheYourRoutes_12() async throws {
  struct CountClients<Context: RequestContext>: RouterMiddleware {
    let count: @Sendable () -> Void

    func handle(
      _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
      if !context.isRequestOfCache { count() }
      return try await next(request, context)
    }
  }
}
