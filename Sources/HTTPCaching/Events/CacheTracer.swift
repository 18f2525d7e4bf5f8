// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Records the steps of each request; `HTTPCacheObserving` makes spans of them.
///
/// A cache without a tracer pays for one comparison per request.
package protocol CacheTracer: Sendable {
  /// Runs one step of a request and records it.
  func trace<Result>(
    _ step: TracedStep, of request: HTTPRequest, _ work: (any TracedSpan) async throws -> Result
  ) async rethrows -> Result

  /// The context of the present task, to record further steps as parts of the one that runs; `nil` outside of a step.
  var context: (any Sendable)? { get }

  /// Runs something in the context of another task, which waits for it.
  func run<Result>(in context: any Sendable, _ work: () async throws -> Result) async rethrows -> Result

  /// Records an answer from memory that was given without waiting.
  func traceHit(_ response: CachedResponse, to request: HTTPRequest)
}

/// A step of answering a request.
package enum TracedStep: Sendable, CaseIterable {
  /// All of it, until the head of the response is there. The others are parts of it.
  case answer
  /// Reading the disk's stored responses.
  case lookup
  /// Waiting for the response to another request (request coalescing).
  case wait
  /// A request to the origin, until the head of the response has arrived.
  case fetch
  /// The same in the background, for a stale response that was served meanwhile.
  case revalidation
  /// Looking for the response in the shared tier.
  case tierLookup
  /// Taking the lease of the shared tier, or waiting until another node has released it.
  case tierLease
  /// Storing the response in the shared tier, in the background.
  case tierStore
}

/// A step that is being recorded.
package protocol TracedSpan: Sendable {
  /// What other spans need to link to this one.
  var context: any Sendable { get }
  func link(to context: any Sendable)
  func record(_ response: CachedResponse)
  func record(_ status: HTTPResponse.Status)
}

extension CacheTracer {
  package var context: (any Sendable)? { nil }

  package func run<Result>(
    in context: any Sendable, _ work: () async throws -> Result
  ) async rethrows -> Result {
    try await work()
  }
}

/// A step that a queue takes later. It is a part of what runs when the step is queued.
struct QueuedStep: Sendable {
  private let tracer: any CacheTracer
  private let request: HTTPRequest
  private let context: (any Sendable)?

  /// Notes what runs; `nil` without a tracer.
  init?(of request: HTTPRequest, _ tracer: (any CacheTracer)?) {
    guard let tracer else { return nil }
    (self.tracer, self.request, context) = (tracer, request, tracer.context)
  }

  func take(_ step: TracedStep, _ work: () async -> Void) async {
    guard let context else { return await tracer.trace(step, of: request) { _ in await work() } }
    await tracer.run(in: context) {
      await tracer.trace(step, of: request) { _ in await work() }
    }
  }
}

extension HTTPCache {
  /// What records the steps of requests; `nil` if nothing does.
  package var tracer: (any CacheTracer)? { configuration.tracer }
}

extension HTTPCache.Configuration {
  /// Runs one step of a request, and records it if there is a tracer.
  func traced<Result>(
    _ step: TracedStep, of request: HTTPRequest, _ work: ((any TracedSpan)?) async throws -> Result
  ) async rethrows -> Result {
    guard let tracer else { return try await work(nil) }
    return try await tracer.trace(step, of: request) { span in try await work(span) }
  }
}
