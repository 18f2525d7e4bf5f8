// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The outcome of partial and of incomplete responses (RFC 9111 §3.3, §3.4).
extension CacheEngine {
  // MARK: - Completing

  /// Handles the response to a request for the rest of a stored response; returns `nil` if it is an ordinary response.
  func afterCompletion(
    _ completion: Completion, _ exchange: Exchange, _ client: RequestFields, _ head: HTTPResponse,
    _ response: ResponseFields
  ) -> Outcome? {
    switch head.status {
    case .partialContent:
      var part = head
      part.headerFields = PartialContent.withoutDigests(head.headerFields)
      return completed(completion, exchange, client, part, response)
        ?? repeatedInFull(exchange, because: .completionUnusable)
    case .rangeNotSatisfiable: return repeatedInFull(exchange, because: .completionUnusable)
    case .notModified where client.ifNoneMatch == nil && client.ifModifiedSince == nil:
      // The request had no condition that it could answer.
      return repeatedInFull(exchange, because: .completionUnusable)
    default: return nil
    }
  }

  private func completed(
    _ completion: Completion, _ exchange: Exchange, _ client: RequestFields, _ head: HTTPResponse,
    _ response: ResponseFields
  ) -> Outcome? {
    let candidate = completion.candidate
    let existing = exchange.candidates[candidate]
    // §3.4: the stored fields are updated from the new response, and not replaced by its fields.
    let revision = revision(of: candidate, by: head.headerFields, response, exchange, client)
    guard let parts = existing.parts,
      let part = PartialContent.part(of: head, length: exchange.contentLength),
      let length = PartialContent.completes(completion, parts, part),
      let new = stored(from: head, part, exchange),
      PartialContent.relation(of: new, to: existing) == .same,
      let whole = revision.response
        .with([0..<length], completeLength: length, isCombinable: true),
      let served = answer(with: revision, by: head.headerFields, response, exchange)
        .with([0..<length], completeLength: length, isCombinable: true)
    else { return nil }
    let answer = Outcome.StoredAnswer(
      candidate: candidate, response: served, ageInSeconds: response.age.map(\.seconds),
      remainingSeconds: whole.facts.remainingSeconds(at: exchange.responseTime), isStale: false,
      content: .whole)
    let (storage, removals) = storage(of: whole, candidate, response, exchange, client)
    return Outcome(
      .completed(answer), reason: .completedByOrigin, storage: storage,
      assembly: ContentAssembly(
        received: part.range, candidate: candidate, completeLength: length, parts: parts, isCombinable: true),
      removals: removals)
  }

  /// Whether the combined response may be stored. If a new directive forbids it, the stored one is removed, as after a
  /// 304.
  private func storage(
    of combined: StoredResponse, _ candidate: Int, _ update: ResponseFields, _ exchange: Exchange,
    _ client: RequestFields
  ) -> (Outcome.Storage, removals: [Int]) {
    let obstacle = Storability.obstacle(
      method: .get, request: client, status: combined.status.code,
      response: parsed(combined.fields, exchange), arrival: exchange.arrival,
      configuration: configuration)
    switch obstacle {
    case nil:
      if bringsUndeclaredCookies(update, exchange) {
        return (.refuse(.cookiesNotShared), [])
      }
      return (.store(combined, .storedCombined), [])
    case let obstacle? where obstacle.concernsOneRequest(exchange.candidates[candidate]):
      return (.refuse(obstacle), [])
    case let obstacle?: return (.refuse(obstacle), [candidate])
    }
  }

  /// Repeats the client's request: without the cache's conditions and range, with the client's. Fields that the policy
  /// had added stay.
  func repeatedInFull(_ exchange: Exchange, because reason: Reason) -> Outcome {
    var again = exchange.forwarding
    for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .range, .ifRange] {
      again.request.headerFields[fields: name] = again.original.headerFields[fields: name]
    }
    // The selected response stays: it may answer if this request fails.
    again.isValidation = false
    again.completion = nil
    again.firstReason = exchange.forwarding.firstReason ?? exchange.forwarding.reason
    again.reason = reason
    return Outcome(.forwardAgain(again), reason: reason)
  }

  // MARK: - A range that the client requested

  /// Handles a 206 response to the client's own Range.
  func afterPart(
    _ exchange: Exchange, _ client: RequestFields, _ head: HTTPResponse, _ response: ResponseFields
  ) -> Outcome {
    let reason: Reason = exchange.forwarding.isValidation ? .replacedByOrigin : .fromOrigin
    let received = head
    func refuse(_ obstacle: Reason) -> Outcome {
      var outcome = Outcome(.network, reason: reason)
      self.refuse(obstacle, received, response, exchange, client, &outcome)
      return outcome
    }
    if !exchange.forwarding.isTargetCacheable { return refuse(.targetNotCacheable) }
    var head = head
    head.headerFields = PartialContent.withoutDigests(head.headerFields)
    guard client.range != nil, let part = PartialContent.part(of: head, length: exchange.contentLength) else {
      return refuse(.partNotPlaced)
    }
    if let obstacle = Storability.obstacle(
      method: .get, request: client, status: head.status.code, response: response,
      arrival: exchange.arrival,
      configuration: configuration)
    {
      return refuse(obstacle)
    }
    guard let new = stored(from: head, part, exchange) else { return refuse(.partNotPlaced) }
    var alone = Outcome(
      .network, reason: reason, storage: .store(new, .storedAsPart),
      assembly: ContentAssembly(
        received: part.range, candidate: nil, completeLength: part.completeLength, parts: nil,
        isCombinable: new.hasStrongValidator))
    supersede(by: new, received, response, exchange, &alone)
    // The store has one response for each set of selecting fields: this one would replace it.
    guard let candidate = rival(of: new, exchange) else { return alone }
    let existing = exchange.candidates[candidate]
    // A complete stored response is not replaced by the beginning of a part.
    alone.assembly?.keepsBeginning = existing.parts != nil
    switch PartialContent.relation(of: new, to: existing) {
    case .different: return alone
    case .unknown: return existing.parts == nil ? refuse(.partNotCombined) : alone
    case .same: break
    }
    let revision = revision(of: candidate, by: head.headerFields, response, exchange, client)
    guard let parts = existing.parts, parts.storedRange(of: part.range) == nil else {
      var (updates, removals) = ([Outcome.Update](), [Int]())
      apply(revision, by: response, exchange, reason: .freshenedByPart, &updates, &removals)
      var outcome = refuse(.partAlreadyStored)
      outcome.change(updates, removals + outcome.removals)
      return outcome
    }
    let length = part.completeLength ?? parts.completeLength
    guard PartialContent.isWorthCopying(parts.count, for: Int64(part.range.count)),
      let combined = revision.response
        .with(StoredParts.union(parts.ranges, part.range), completeLength: length, isCombinable: true)
    else {
      // Only one of them can stay.
      return part.range.count > parts.count ? alone : refuse(.partNotCombined)
    }
    let (storage, removals) = storage(of: combined, candidate, response, exchange, client)
    return Outcome(
      .network, reason: reason, storage: storage,
      assembly: ContentAssembly(
        received: part.range, candidate: candidate, completeLength: length, parts: parts, isCombinable: true),
      removals: removals)
  }

  /// Returns the position of the stored response that a new one would replace.
  private func rival(of new: StoredResponse, _ exchange: Exchange) -> Int? {
    if exchange.candidates.isEmpty { return nil }
    let key = new.selecting.variantKey
    return exchange.candidates.firstIndex { $0.selecting.variantKey == key }
  }

  /// Makes a stored response from a 206 response, as the 200 that it is a part of (§3.3).
  private func stored(
    from head: HTTPResponse, _ part: PartialContent.Part, _ exchange: Exchange
  ) -> StoredResponse? {
    var whole = head
    whole.status = .ok
    whole.headerFields[.contentRange] = nil
    let stored = stored(from: whole, parsed(whole.headerFields, exchange), exchange)
    return stored.with(
      [part.range], completeLength: part.completeLength, isCombinable: stored.hasStrongValidator)
  }

  // MARK: - Transfers that may end early

  /// Sets the position of a full response's content in the representation, if its bytes must be kept in case the
  /// transfer ends early.
  ///
  /// They are kept if they can be completed later: those of a 200 with a strong validator and a known length. Content
  /// with a coding is not kept. A complete stored response is not replaced by a beginning.
  func assembleIfBroken(
    _ stored: StoredResponse, _ response: ResponseFields, _ exchange: Exchange, _ outcome: inout Outcome
  ) {
    // The received fields decide most cases; the stored ones may lack some of them.
    guard stored.status == .ok, let length = response.onlyLength,
      length > 0, length < .max,
      !response.hasContentCoding || !PartialContent.hasContentCoding(stored.values(of: .contentEncoding)),
      response.isStoredAsIs
        ? response.hasStrongValidator(date: stored.facts.date) : stored.hasStrongValidator,
      response.isStoredAsIs || stored.values(of: .contentLength).count == 1
    else { return }
    guard let candidate = rival(of: stored, exchange) else { return outcome.assemble(wholeOf: length) }
    guard let parts = exchange.candidates[candidate].parts else { return }
    guard PartialContent.relation(of: stored, to: exchange.candidates[candidate]) == .same,
      parts.completeLength ?? length == length
    else { return outcome.assemble(wholeOf: length) }
    outcome.assembly = ContentAssembly(
      received: 0..<length, candidate: candidate, completeLength: length, parts: parts, isCombinable: true)
  }
}
