// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCaching
import HTTPTypes
import Hummingbird
import NIOCore

/// What the task of a request knows about caching. It is a task-local value, so contexts need no member for it.
struct CachingTask: Sendable {
  /// Runs all of the application for a request; `nil` without a ``CachingResponder``.
  var entrance: Entrance?
  /// Set in a run that the cache starts: a background revalidation, or a GET in the place of a HEAD.
  var run: BackgroundRun?
  /// Set behind a middleware.
  var route: RouteCache.Storage?

  typealias Entrance = @Sendable (Request) async throws -> Response

  @TaskLocal static var current: CachingTask?

  /// Returns content that is written with this task's value, after the handler has returned: it, too, may use
  /// `RequestContext.cache`.
  func running(_ body: ResponseBody) -> ResponseBody {
    if body.contentLength == 0 { return body }
    return ResponseBody(contentLength: body.contentLength) { writer in
      try await Self.$current.withValue(self) { try await body.write(writer) }
    }
  }
}

/// A request of the cache, such as a background revalidation, on its way through the application.
final class BackgroundRun: Sendable {
  private let cache: HTTPCache
  private let response = Mutex<TransportResponse?>(nil)
  private let hasArrived = Atomic(false)

  private init(_ cache: HTTPCache) {
    self.cache = cache
  }

  /// Makes the transport of background revalidations: it sends the request through the whole application, because the
  /// handler may need what the middlewares before the cache put into the context.
  static func transport(for cache: HTTPCache, through entrance: @escaping CachingTask.Entrance) -> Transport {
    { head, _ in
      let run = BackgroundRun(cache)
      var status: HTTPResponse.Status?
      do {
        let outer = try await CachingTask.$current.withValue(CachingTask(run: run)) {
          try await entrance(Request(head: head, body: RequestBody(buffer: ByteBuffer())))
        }
        status = outer.status
        // For the middlewares before the cache, a response ends when its content has been written. This content is empty.
        try await outer.body.write(DiscardingWriter())
      } catch {
        // What comes back through the other middlewares does not matter if the handler has run.
        guard run.response.withLock({ $0 != nil }) else { throw error }
      }
      guard let response = run.response.withLock({ $0.take() }) else {
        throw RevalidationError(status: status)
      }
      return response
    }
  }

  /// Whether the request has not reached its middleware yet. Later ones are requests that the handler makes by itself.
  var isExpected: Bool { !hasArrived.load(ordering: .relaxed) }

  /// Whether a cache is the one that revalidates.
  func arrives(at cache: HTTPCache) -> Bool {
    guard cache === self.cache else { return false }
    hasArrived.store(true, ordering: .relaxed)
    return true
  }

  /// Gives the cache the response to its request.
  func finish(_ response: TransportResponse) {
    self.response.withLock { $0 = response }
  }
}

/// A background revalidation did not reach the cache, because a middleware before it answered. The stored response
/// stays as it is.
struct RevalidationError: Error, CustomStringConvertible {
  let status: HTTPResponse.Status?

  var description: String {
    "a middleware before the cache answered the background revalidation with \(status?.code ?? 500); let it pass the request on"
  }
}

private struct DiscardingWriter: ResponseBodyWriter {
  mutating func write(_ buffer: ByteBuffer) async throws {}
  consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
