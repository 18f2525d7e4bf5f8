// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// Puts together what clients get.
extension HTTPCache {
  /// The request to the origin behind an answer, for `Cache-Status`.
  struct Forwarded {
    /// Why it was sent; of a collapsed request, why it would have been.
    var reason: CacheStatus.Forward?
    /// The origin's status code, if the origin answered.
    var status: Int?
    /// Whether the response is stored.
    var isStored: Bool
    /// RFC 9211 §2.6.
    var isCollapsed: Bool?
  }

  /// What `Cache-Status` tells of an answer (RFC 9211).
  ///
  /// - Parameter forwarded: `nil` if no request went to the origin.
  func cacheStatus(
    of detail: CacheEngine.Reason, _ key: CacheKey?, isHit: Bool = true, remainingSeconds: Int64?,
    _ forwarded: Forwarded? = nil
  ) -> CacheStatus {
    CacheStatus(
      cache: configuration.name, isHit: isHit && forwarded == nil, forward: forwarded?.reason,
      forwardStatus: forwarded?.status, remainingSeconds: remainingSeconds,
      isStored: forwarded?.isStored ?? false,
      isCollapsed: forwarded?.isCollapsed, key: shownKey(key), reason: detail)
  }

  /// The key, where it is to be told and no burden to a header section: that of a QUERY has the content.
  private func shownKey(_ key: CacheKey?) -> CacheKey? {
    guard configuration.showsKeys, let key, key.bytes.count <= 1024 else { return nil }
    return key
  }

  /// An answer with all that is told of it.
  ///
  /// - Parameters:
  ///   - detail: what `Cache-Status` gives as the reason, where that is another.
  ///   - forwarded: `nil` if no request went to the origin.
  private func answer(
    _ head: HTTPResponse, _ body: MessageBody, from source: CachedResponse.Source,
    _ reason: CacheEngine.Reason,
    _ key: CacheKey?, remainingSeconds: Int64?, _ forwarded: Forwarded?, storage: CacheEngine.Reason? = nil,
    detail: CacheEngine.Reason? = nil
  ) -> CachedResponse {
    CachedResponse(
      head: head, body: body, source: source, reason: reason, storage: storage,
      cacheStatus: cacheStatus(
        of: detail ?? reason, key, isHit: source != .generated, remainingSeconds: remainingSeconds,
        forwarded))
  }

  // MARK: - From the store

  /// The stored response that a plan selected.
  func serve(
    _ service: CacheEngine.Service, to request: HTTPRequest, _ lookup: Lookup,
    collapsing: Collapsing = .notTried
  ) -> CachedResponse {
    serve(service, content(of: service, lookup, for: request), to: request, lookup, collapsing: collapsing)
  }

  /// The stored response that a plan selected, with its content.
  func serve(
    _ service: CacheEngine.Service, _ body: MessageBody, to request: HTTPRequest, _ lookup: Lookup,
    collapsing: Collapsing
  ) -> CachedResponse {
    serve(
      service, lookup.candidates.responses[service.candidate], body, to: request, lookup,
      collapsing: collapsing)
  }

  /// A stored response, or one that is being stored, with its content.
  func serve(
    _ service: CacheEngine.Service, _ stored: StoredResponse, _ body: MessageBody, to request: HTTPRequest,
    _ lookup: Lookup,
    collapsing: Collapsing
  ) -> CachedResponse {
    let source: CachedResponse.Source = service.isStale ? .stale : .hit
    note(
      .served, request, service.reason, source: source, byteCount: body.length, partition: lookup.partition)
    var forwarded: Forwarded?
    if case .collapsed(let forward, let status) = collapsing {
      forwarded = Forwarded(reason: forward, status: status, isStored: true, isCollapsed: true)
    }
    return answer(
      stored.response(service.content, ageInSeconds: service.ageInSeconds, boundary: boundary), body,
      from: source,
      service.reason, lookup.key, remainingSeconds: service.remainingSeconds, forwarded)
  }

  /// The content of the stored response that a plan selected.
  func content(of service: CacheEngine.Service, _ lookup: Lookup, for request: HTTPRequest) -> MessageBody {
    content(
      service.content, of: lookup.candidates.responses[service.candidate],
      lookup.candidates.entries[service.candidate], for: request)
  }

  /// The content of a stored response that answers a request that went to the origin.
  func content(of answer: CacheEngine.Outcome.StoredAnswer, _ pending: PendingExchange) -> MessageBody {
    content(
      answer.content, of: answer.response, pending.lookup.candidates.entries[answer.candidate],
      for: pending.request)
  }

  /// The content of a stored response, as much of it as the request is answered with.
  private func content(
    _ selection: CacheEngine.ContentSelection, of stored: StoredResponse, _ entry: StoredEntry,
    for request: HTTPRequest
  ) -> MessageBody {
    if request.method == .head { return .empty }
    return switch selection {
    case .whole: MessageBody(entry.body)
    case .notModified, .unsatisfiable: .empty
    case .ranges: MessageBody(entry.body, pieces: stored.pieces(of: selection, boundary: boundary))
    }
  }

  // MARK: - After the origin was asked

  /// A stored response as the answer to a request that went to the origin.
  func respond(
    with answer: CacheEngine.Outcome.StoredAnswer, _ body: MessageBody, _ outcome: CacheEngine.Outcome,
    _ pending: PendingExchange,
    forwardStatus: Int?
  ) -> CachedResponse {
    let source: CachedResponse.Source =
      outcome.reason == .validated ? .validated : (answer.isStale ? .stale : .hit)
    noteAnswer(to: pending, outcome.reason, source, byteCount: body.length)
    return self.answer(
      answer.response.response(answer.content, ageInSeconds: answer.ageInSeconds, boundary: boundary), body,
      from: source,
      outcome.reason, pending.lookup.key, remainingSeconds: answer.remainingSeconds,
      forwarded(
        pending, forwardStatus, isStored: !outcome.updates.isEmpty || outcome.addition != nil))
  }

  /// The origin's response, perhaps with stored content around its own.
  ///
  /// - Parameter settlement: tells later whether it was stored; `nil` if it is not being stored.
  func respond(
    with response: TransportResponse, _ body: MessageBody, _ outcome: CacheEngine.Outcome,
    _ pending: PendingExchange,
    settlement: Settlement?
  ) -> CachedResponse {
    var head = response.head
    if case .completed(let answer) = outcome.answer {
      head = answer.response.response(ageInSeconds: answer.ageInSeconds)
    }
    if settlement != nil { head = engine.headWhileStoring(head) }
    // The caller gets the time of arrival, as the store does, where the origin gave none (RFC 9110 §6.6.1).
    if head.headerFields[.date] == nil { head.headerFields[.date] = HTTPDate(clock.now).fieldValue }
    noteAnswer(to: pending, outcome.reason, .network)
    var answer = answer(
      head, body, from: .network, outcome.reason, pending.lookup.key,
      remainingSeconds: remainingSeconds(outcome),
      forwarded(pending, response.head.status.code, isStored: settlement != nil),
      storage: outcome.storage.reason, detail: outcome.storage.reason)
    answer.settlement = settlement
    return answer
  }

  private func forwarded(_ pending: PendingExchange, _ status: Int?, isStored: Bool) -> Forwarded {
    Forwarded(
      reason: pending.forwarding.reason.forward, status: status, isStored: isStored,
      isCollapsed: pending.collapsing.isCollapsed)
  }

  /// In whole seconds, of a response that is being stored.
  private func remainingSeconds(_ outcome: CacheEngine.Outcome) -> Int64? {
    guard case .store(let stored, _) = outcome.storage else { return nil }
    return stored.facts.remainingSeconds(at: clock.now)
  }

  // MARK: - Neither

  /// What a client gets that may not have the origin asked.
  ///
  /// - Throws: ``HTTPCacheError/notCached(_:)`` where the policy forbids it.
  func refuse(_ request: HTTPRequest, _ refusal: CacheEngine.Refusal, _ partition: String) throws
    -> CachedResponse
  {
    note(
      .refused, request, refusal.reason, source: refusal.reason == .onlyIfCached ? .generated : nil,
      partition: partition)
    // only-if-cached is the client's word on the wire and is answered there (RFC 9111 §5.2.1.7); the policy is the
    // caller's, who gets an error.
    guard refusal.reason == .onlyIfCached else { throw HTTPCacheError.notCached(refusal.reason) }
    return generate(refusal, for: request, nil, nil)
  }

  /// The answer to a request whose transport failed: something stored, or a generated error; `nil` where the caller gets
  /// the transport's error.
  func respond(toFailure outcome: CacheEngine.Outcome, _ pending: PendingExchange) async -> CachedResponse? {
    switch outcome.answer {
    case .stored(let answer):
      let body = content(of: answer, pending)
      if await body.canBegin() { return respond(with: answer, body, outcome, pending, forwardStatus: nil) }
      noteFailure(of: pending, .originUnreachable)
      return nil
    case .generated(let refusal):
      noteFailure(of: pending, refusal.reason)
      return generate(
        refusal, for: pending.request, pending.lookup.key, forwarded(pending, nil, isStored: false))
    case .network, .completed, .forwardAgain, .failure:
      noteFailure(of: pending, outcome.reason)
      return nil
    }
  }

  private func generate(
    _ refusal: CacheEngine.Refusal, for request: HTTPRequest, _ key: CacheKey?, _ forwarded: Forwarded?
  ) -> CachedResponse {
    let body: MessageBody = request.method == .head ? .empty : MessageBody(refusal.content[...])
    return answer(
      refusal.response, body, from: .generated, refusal.reason, key, remainingSeconds: nil, forwarded)
  }
}

extension Collapsing {
  /// RFC 9211 §2.6.
  fileprivate var isCollapsed: Bool? {
    switch self {
    case .notTried: nil
    case .inVain: false
    case .collapsed: true
    }
  }
}
