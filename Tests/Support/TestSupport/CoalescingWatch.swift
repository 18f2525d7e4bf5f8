// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import HTTPTypes

/// Tells a test when requests wait for the response to another request: the tracer of a cache, which learns of each such
/// wait as it begins.
package final class CoalescingWatch: CacheTracer {
  private let waits = EventCount()
  private let base: (any CacheTracer)?

  /// - Parameter base: the tracer that records the steps.
  package init(_ base: (any CacheTracer)? = nil) {
    self.base = base
  }

  /// Returns when so many requests have begun to wait.
  package func followers(_ count: Int) async throws { try await waits.reached(count) }

  package func trace<Result>(
    _ step: TracedStep, of request: HTTPRequest, _ work: (any TracedSpan) async throws -> Result
  ) async rethrows -> Result {
    guard let base else {
      if step == .wait { waits.next() }
      return try await work(NoSpan())
    }
    return try await base.trace(step, of: request) { span in
      if step == .wait { waits.next() }
      return try await work(span)
    }
  }

  package func traceHit(_ response: CachedResponse, to request: HTTPRequest) {
    base?.traceHit(response, to: request)
  }
}

/// The span of a step that is not recorded.
private struct NoSpan: TracedSpan {
  var context: any Sendable { 0 }
  func link(to context: any Sendable) {}
  func record(_ response: CachedResponse) {}
  func record(_ status: HTTPResponse.Status) {}
}
