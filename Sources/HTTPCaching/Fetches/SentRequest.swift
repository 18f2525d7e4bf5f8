// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// A request that goes to the origin, and what was known when it was sent.
///
/// It is a class because all steps of a fetch know it. As a struct it has several hundred bytes, and an async function
/// keeps many copies.
package final class SentRequest: Sendable {
  let cache: HTTPCache
  let call: Call
  let forwarding: CacheEngine.Forwarding
  let lookup: Lookup
  let collapsing: Collapsing
  /// Whether no client waits for it: it revalidates a stored response.
  let isInBackground: Bool
  /// What is removed or invalidated afterwards concerns the response.
  let tokens: ResponseStore.RemovalTokens
  /// When it was sent, by the clock that ages are computed with.
  let time: Timestamp
  /// The same for the event of the response.
  let sendingBegun: EventHub.Moment
  /// How it is sent without a task; see ``HTTPCache/exchange(for:body:work:interim:on:from:transport:)``.
  let direct: Mutex<Direct>

  /// - Parameters:
  ///   - tokens: `nil` for those of the present moment.
  ///   - direct: how it is sent without a task.
  init(
    _ call: Call, _ forwarding: CacheEngine.Forwarding, _ lookup: Lookup,
    _ collapsing: Collapsing = .notTried,
    isInBackground: Bool = false, tokens: ResponseStore.RemovalTokens? = nil, _ direct: Direct = Direct(),
    in cache: HTTPCache
  ) {
    self.cache = cache
    self.call = call
    self.forwarding = forwarding
    self.lookup = lookup
    self.collapsing = collapsing
    self.isInBackground = isInBackground
    self.tokens = tokens ?? cache.responses.removalTokens(lookup, shared: cache.shared?.position)
    (time, sendingBegun) = (cache.clock.now, cache.hub.beginFetch())
    self.direct = Mutex(direct)
  }

  deinit {
    // The event loop is gone before it could call `finish(_:)`: requests that have joined must not wait.
    direct.withLock { $0.fetch }?.finish(.abandoned)
  }

  /// Returns the same with other parts, and the tokens of the present moment if none are given.
  func with(
    forwarding: CacheEngine.Forwarding? = nil, lookup: Lookup? = nil,
    tokens: ResponseStore.RemovalTokens? = nil
  ) -> SentRequest {
    SentRequest(
      call, forwarding ?? self.forwarding, lookup ?? self.lookup, collapsing, isInBackground: isInBackground,
      tokens: tokens, in: cache)
  }

  /// The client's request.
  var request: HTTPRequest { forwarding.original }
  /// What is stored for the request in the shared tier is a step of it.
  var queuedStep: QueuedStep? { QueuedStep(of: request, cache.configuration.tracer) }

  /// Sends the request and returns the origin's final response. Interim responses before it go to the client (RFC 9110
  /// §15.2).
  func send() async throws -> TransportResponse {
    if let error = call.withhold?({ hasFallback }) { throw error }
    return try await final(call.transport(forwarding.request, call.body))
  }

  /// Whether a stored response may answer if the origin does not.
  var hasFallback: Bool { cache.outcome(of: exchange(.failure), by: call.ruled).answer.isStored }

  /// Returns the final response after the first one, which may be interim.
  func final(_ first: TransportResponse) async throws -> TransportResponse {
    var response = first
    while response.head.status.kind == .informational, let next = response.next {
      call.interim?(response.head)
      response = try await next()
    }
    return response
  }

  /// The engine with what rules decide for the request.
  var engine: CacheEngine { call.ruled?.engine ?? cache.responses.engine }

  /// Returns what the engine decides about.
  ///
  /// - Parameter length: the length of the content in bytes, if it is known.
  func exchange(_ result: CacheEngine.Exchange.Result, length: Int? = nil) -> CacheEngine.Exchange {
    var (result, lifetime): (CacheEngine.Exchange.Result, Duration?) = (result, nil)
    if case .response(var head) = result, head.status == .noContent, head.headerFields[.contentLength] != nil
    {
      // It ends with its head, whatever this field says (RFC 9112 §6.3), and must not have it (RFC 9110 §8.6).
      head.headerFields[.contentLength] = nil
      result = .response(head)
    }
    if let rule = call.lifetime, case .response(let head) = result { lifetime = rule(request, head) }
    var exchange = CacheEngine.Exchange(
      forwarding: forwarding, candidates: lookup.responses, result: result,
      contentLength: length.map { Int64($0) }, lifetime: lifetime,
      // Between a handler of this process and its cache, there is no delay (§4.2.3).
      requestTime: call.localOrigin == nil ? time : cache.clock.now,
      responseTime: cache.clock.now, arrival: cache.clock.wallTime)
    exchange.storesUndeclared = call.localOrigin == nil
    return exchange
  }

  /// Returns the outcome if the transport failed.
  func outcome(of error: any Error) -> CacheEngine.Outcome {
    cache.outcome(of: exchange(TransportFault.cause(of: error).result), by: call.ruled)
  }

  // MARK: - Events

  func note(
    _ action: CacheEvent.Action, _ reason: CacheEngine.Reason, source: CachedResponse.Source? = nil,
    byteCount: Int? = nil, refusal: InsertRefusal? = nil, since begun: EventHub.Moment = 0
  ) {
    cache.hub.note(
      action, request, reason, source: source, byteCount: byteCount, refusal: refusal,
      partition: lookup.partition, since: begun)
  }

  /// Counts the client's response and makes its event, if a client waits for one.
  func noteAnswer(_ reason: CacheEngine.Reason, _ source: CachedResponse.Source, byteCount: Int? = nil) {
    guard !isInBackground else { return }
    cache.hub.answers.count(source)
    note(.answered, reason, source: source, byteCount: byteCount, since: call.begun)
  }

  func noteFailure(_ reason: CacheEngine.Reason) {
    if !isInBackground { note(.failed, reason, since: call.begun) }
  }
}
