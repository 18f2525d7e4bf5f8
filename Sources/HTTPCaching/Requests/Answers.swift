// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// Assembles the responses that clients get, and makes their events.
struct Answers: Sendable {
  /// The request to the origin for a response, as `Cache-Status` reports it.
  ///
  /// - Parameters:
  ///   - reason: why it was sent; for a coalesced request, why it would have been sent.
  ///   - status: the origin's status code, if the origin answered.
  ///   - isStored: whether the response is stored.
  ///   - isCollapsed: whether the request was coalesced (RFC 9211 §2.6).
  private typealias Forwarded = (
    reason: CacheStatus.Forward?, status: Int?, isStored: Bool, isCollapsed: Bool?
  )

  let responses: ResponseStore
  let hub: EventHub
  /// Separates the parts of multipart responses; clients and origins cannot predict it.
  let boundary = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()

  // MARK: - A plain hit

  /// Returns a stored response that needs no check but that of its age.
  func serve(
    _ hit: CacheEngine.Hit, _ entry: StoredEntry, _ variants: KnownVariants?, under key: CacheKey,
    to request: HTTPRequest, _ partition: String, since begun: EventHub.Moment
  ) -> CachedResponse {
    responses.noteUse(of: entry, under: key, variants)
    let body = request.method == .head || hit.isNotModified ? MessageBody.empty : MessageBody(entry.body)
    hub.answers.count(.hit)
    // Otherwise no listener wants the event.
    if begun != 0 {
      hub.note(
        .served, request, hit.reason, source: .hit, byteCount: body.length, partition: partition, since: begun
      )
    }
    return CachedResponse(
      StoredHeading(
        entry, hit,
        cacheStatus: cacheStatus(of: hit.reason, key, remainingSeconds: hit.remainingSeconds, nil)),
      body: body, reason: hit.reason)
  }

  /// Returns the `Cache-Status` of a response (RFC 9211).
  ///
  /// - Parameter forwarded: the request to the origin; `nil` if there was none.
  private func cacheStatus(
    of detail: CacheEngine.Reason, _ key: CacheKey?, isHit: Bool = true, remainingSeconds: Int64?,
    _ forwarded: Forwarded?
  ) -> CacheStatus {
    CacheStatus(
      cache: responses.configuration.name, isHit: isHit && forwarded == nil, forward: forwarded?.reason,
      forwardStatus: forwarded?.status, remainingSeconds: remainingSeconds,
      isStored: forwarded?.isStored ?? false,
      isCollapsed: forwarded?.isCollapsed, key: shownKey(key), reason: detail)
  }

  /// Returns the key if it may be shown and is short enough for a header section: the key of a QUERY contains its
  /// content.
  private func shownKey(_ key: CacheKey?) -> CacheKey? {
    guard responses.configuration.showsKeys, let key, key.bytes.count <= 1024 else { return nil }
    return key
  }

  /// Makes a response with all its metadata.
  ///
  /// - Parameters:
  ///   - detail: the reason in `Cache-Status`, if it differs from the reason of the response.
  ///   - forwarded: the request to the origin; `nil` if there was none.
  private func answer(
    _ head: HTTPResponse, _ body: MessageBody, from source: CachedResponse.Source,
    _ reason: CacheEngine.Reason,
    _ key: CacheKey?, remainingSeconds: Int64?, _ forwarded: Forwarded?, intent: CacheEngine.Reason? = nil,
    detail: CacheEngine.Reason? = nil
  ) -> CachedResponse {
    CachedResponse(
      head: head, body: body, source: source, reason: reason, intent: intent,
      cacheStatus: cacheStatus(
        of: detail ?? reason, key, isHit: source != .generated, remainingSeconds: remainingSeconds,
        forwarded))
  }

  // MARK: - From the store

  /// Serves the stored response that a plan selected.
  func serve(
    _ service: CacheEngine.Service, to request: HTTPRequest, _ lookup: Lookup,
    collapsing: Collapsing = .notTried, since begun: EventHub.Moment
  ) -> CachedResponse {
    serve(
      service, content(of: service, lookup, for: request), to: request, lookup, collapsing: collapsing,
      since: begun)
  }

  /// Serves the stored response that a plan selected, with its content.
  func serve(
    _ service: CacheEngine.Service, _ body: MessageBody, to request: HTTPRequest, _ lookup: Lookup,
    collapsing: Collapsing, since begun: EventHub.Moment
  ) -> CachedResponse {
    var response = serve(
      service, lookup.responses[service.candidate], body, to: request, lookup,
      collapsing: collapsing, since: begun)
    if request.method == .head { response.lengthOfEntry = completeLength(service.candidate, lookup) }
    responses.noteUse(of: lookup.entries[service.candidate], under: lookup.key, lookup.variants)
    return response
  }

  /// Returns the length of a complete stored response.
  private func completeLength(_ candidate: Int, _ lookup: Lookup) -> Int? {
    lookup.responses[candidate].parts == nil
      ? lookup.entries[candidate].body.count : nil
  }

  /// Serves a response that is stored, or still being stored, with its content.
  func serve(
    _ service: CacheEngine.Service, _ stored: StoredResponse, _ body: MessageBody, to request: HTTPRequest,
    _ lookup: Lookup,
    collapsing: Collapsing, since begun: EventHub.Moment
  ) -> CachedResponse {
    let source: CachedResponse.Source = service.isStale ? .stale : .hit
    hub.answers.count(source)
    hub.note(
      .served, request, service.reason, source: source, byteCount: body.length, partition: lookup.partition,
      since: begun)
    var forwarded: Forwarded?
    if case .collapsed(let forward, let status, let isStored) = collapsing {
      forwarded = (forward, status, isStored, isCollapsed: true)
    }
    return answer(
      stored.response(service.content, ageInSeconds: service.ageInSeconds, boundary: boundary), body,
      from: source,
      service.reason, lookup.key, remainingSeconds: service.remainingSeconds, forwarded)
  }

  /// Returns the content of the stored response that a plan selected.
  func content(of service: CacheEngine.Service, _ lookup: Lookup, for request: HTTPRequest) -> MessageBody {
    content(
      service.content, of: lookup.responses[service.candidate],
      lookup.entries[service.candidate], for: request)
  }

  /// Returns the content of a stored response that answers a request after an exchange with the origin.
  func content(of answer: CacheEngine.Outcome.StoredAnswer, _ sent: SentRequest) -> MessageBody {
    content(
      answer.content, of: answer.response, sent.lookup.entries[answer.candidate],
      for: sent.request)
  }

  /// Returns the part of a stored response's content that answers the request.
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

  // MARK: - After the request to the origin

  /// Returns a stored response as the answer to a request after an exchange with the origin.
  ///
  /// - Parameter isUpdated: whether the exchange updated a stored response.
  func respond(
    with answer: CacheEngine.Outcome.StoredAnswer, _ body: MessageBody, _ outcome: CacheEngine.Outcome,
    _ sent: SentRequest,
    forwardStatus: Int?, isUpdated: Bool
  ) -> CachedResponse {
    let source: CachedResponse.Source =
      outcome.reason.isValidation ? .validated : (answer.isStale ? .stale : .hit)
    sent.noteAnswer(outcome.reason, source, byteCount: body.length)
    responses.noteUse(
      of: sent.lookup.entries[answer.candidate], under: sent.lookup.key,
      sent.lookup.variants)
    var response = self.answer(
      answer.response.response(answer.content, ageInSeconds: answer.ageInSeconds, boundary: boundary), body,
      from: source,
      outcome.reason, sent.lookup.key, remainingSeconds: answer.remainingSeconds,
      forwarded(sent, forwardStatus, isStored: isUpdated))
    if sent.request.method == .head {
      response.lengthOfEntry = completeLength(answer.candidate, sent.lookup)
    }
    return response
  }

  /// Returns the origin's response without its content, with the head of a stored one if it completes that.
  ///
  /// - Parameter settlement: says later whether the response was stored; `nil` if it is not being stored.
  func respond(
    with response: TransportResponse, _ outcome: CacheEngine.Outcome, _ sent: SentRequest,
    settlement: Settlement?
  ) -> CachedResponse {
    var head = response.head
    if case .completed(let answer) = outcome.answer {
      head = answer.response.response(ageInSeconds: answer.ageInSeconds)
    }
    if settlement != nil {
      head = sent.engine.headWhileStoring(head)
    }
    for name in outcome.hiddenFields { head.headerFields[fields: name] = [] }
    // If the origin sent no `Date`, the caller gets the time of arrival, as the store does (RFC 9110 §6.6.1).
    if !head.headerFields.contains(.date) {
      head.headerFields.append(HTTPField(name: .date, value: HTTPDate(responses.clock.wallTime).fieldValue))
    }
    sent.noteAnswer(outcome.reason, .network)
    // As long as it is unknown whether it will be stored, `Cache-Status` does not say it, nor why (RFC 9211 §2.5).
    let isStored = settlement?.isStored ?? false
    let isOpen = settlement != nil && !isStored
    var answer = answer(
      head, .empty, from: .network, outcome.reason, sent.lookup.key,
      remainingSeconds: remainingSeconds(outcome),
      forwarded(sent, response.head.status.code, isStored: isStored),
      intent: outcome.storage.reason, detail: isOpen ? nil : outcome.storage.reason)
    answer.settlement = settlement
    return answer
  }

  private func forwarded(_ sent: SentRequest, _ status: Int?, isStored: Bool) -> Forwarded {
    let forwarding = sent.forwarding
    return (
      (forwarding.firstReason ?? forwarding.reason).forward, status, isStored, sent.collapsing.isCollapsed
    )
  }

  /// Returns the remaining lifetime of a response that is being stored, in whole seconds.
  private func remainingSeconds(_ outcome: CacheEngine.Outcome) -> Int64? {
    guard case .store(let stored, _) = outcome.storage else { return nil }
    return stored.facts.remainingSeconds(at: responses.clock.now)
  }

  // MARK: - Neither store nor origin

  /// Answers a request that must not go to the origin.
  ///
  /// - Throws: ``HTTPCacheError/notCached(_:)`` if the policy forbids it.
  func refuse(
    _ request: HTTPRequest, _ refusal: CacheEngine.Refusal, by ruled: RuledRequest?, _ partition: String,
    since begun: EventHub.Moment
  ) throws -> CachedResponse {
    hub.note(
      .refused, request, refusal.reason, source: refusal.reason == .onlyIfCached ? .generated : nil,
      partition: partition, since: begun)
    // The client sends only-if-cached in the request and gets a response to it (RFC 9111 §5.2.1.7). The caller sets the
    // policy and gets an error.
    guard refusal.reason == .onlyIfCached else { throw HTTPCacheError.notCached(refusal.reason) }
    hub.answers.count(.generated)
    return generate(refusal, for: request, by: ruled, nil, nil)
  }

  /// Answers a request whose transport failed: with a stored response, or a generated error. Returns `nil` if the
  /// caller gets the transport's error.
  func respond(toFailure outcome: CacheEngine.Outcome, _ sent: SentRequest) async -> CachedResponse? {
    switch outcome.answer {
    case .stored(let answer):
      let body = content(of: answer, sent)
      if await body.canBegin() {
        return respond(with: answer, body, outcome, sent, forwardStatus: nil, isUpdated: false)
      }
      sent.noteFailure(.originUnreachable)
      return nil
    case .generated(let refusal):
      return generate(refusal, sent, status: nil)
    case .network, .completed, .forwardAgain, .failure:
      sent.noteFailure(outcome.reason)
      return nil
    }
  }

  /// Generates the response to a request that the origin has not answered, or not with a response to it.
  func generate(
    _ refusal: CacheEngine.Refusal, _ sent: SentRequest, status: Int?
  ) -> CachedResponse {
    sent.noteFailure(refusal.reason)
    if !sent.isInBackground { hub.answers.count(.generated) }
    return generate(
      refusal, for: sent.request, by: sent.call.ruled, sent.lookup.key,
      forwarded(sent, status, isStored: false))
  }

  private func generate(
    _ refusal: CacheEngine.Refusal, for request: HTTPRequest, by ruled: RuledRequest?, _ key: CacheKey?,
    _ forwarded: Forwarded?
  ) -> CachedResponse {
    let body: MessageBody = request.method == .head ? .empty : MessageBody(refusal.content[...])
    return answer(
      ruled?.generated(refusal.response) ?? refusal.response, body, from: .generated, refusal.reason, key,
      remainingSeconds: nil, forwarded)
  }
}
