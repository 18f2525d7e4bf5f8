// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

extension CacheEngine {
  /// The second door: what becomes of the origin's answer, and of what is stored.
  ///
  /// - Complexity: O(*n*) in the number of fields and of candidates.
  public func outcome(of exchange: Exchange) -> Outcome {
    var outcome = Outcome(.failure, reason: .originUnreachable)
    switch exchange.result {
    case .response(let head): judge(head, exchange, &outcome)
    case .failure, .fault:
      let isDisconnected = exchange.result == .failure
      if let stale = afterFailure(exchange, .of(exchange), isDisconnected: isDisconnected) {
        outcome = stale
      } else if isDisconnected, mustBeRevalidated(exchange) {
        let reason = Reason.revalidationImpossible
        outcome = Outcome(.generated(Refusal(reason: reason)), reason: reason)
      }
    }
    return outcome
  }

  /// Whether a directive of the stored response requires an error response where the origin cannot be reached: 504 (Gateway
  /// Timeout), which §5.2.2.2 asks for.
  ///
  /// A private cache is part of the client, which learns more from the transport's own error.
  private func mustBeRevalidated(_ exchange: Exchange) -> Bool {
    guard configuration.kind == .shared, exchange.forwarding.policy == .useProtocolCachePolicy,
      let selected = exchange.forwarding.selected
    else { return false }
    return exchange.candidates[selected].facts.staleness(at: exchange.responseTime) == .staleMustRevalidate
  }

  // What comes of a response is written to an outcome that is there: one that is returned is copied by each function
  // that hands it on, six times in all.

  private func judge(_ head: HTTPResponse, _ exchange: Exchange, _ outcome: inout Outcome) {
    // Where they are to be, for what is returned is copied there.
    var response = ResponseFields()
    response.read(
      head.headerFields, now: exchange.responseTime, targets: configuration.targetNames,
      withheld: configuration.withheldNames)
    // HTTPTypes keeps it as a field: read once, and not by every rule.
    let method = exchange.forwarding.original.method
    let isSafe = Invalidation.isSafe(method)
    // Nothing else makes a whole scope invalid.
    if !response.clearsSiteData, isSafe {
      return judge(head, response, method, isSafe: true, exchange, &outcome)
    }
    let scopes = ScopeInvalidation.scopes(
      after: exchange, response: head, response, configuration: configuration)
    let isCleared = scopes.contains { $0.reason == .clearedByOrigin }
    judge(head, response, method, isSafe: isSafe, exchange, mayServeStale: !isCleared, &outcome)
    outcome.invalidatedScopes = scopes
    if isCleared {
      // What has everything removed is no beginning of the next collection, and brings nothing of it up to date.
      if case .store = outcome.storage { outcome.storage = .refuse(.clearedByOrigin) }
      outcome.updates = []
    }
  }

  /// What becomes of the answer and of what is stored under its key.
  private func judge(
    _ head: HTTPResponse, _ response: ResponseFields, _ method: HTTPRequest.Method, isSafe: Bool,
    _ exchange: Exchange, mayServeStale: Bool = true, _ outcome: inout Outcome
  ) {
    // As with the method.
    let status = head.status
    var fields = RequestFields()
    fields.read(exchange.forwarding.original, now: exchange.responseTime)
    let completion = exchange.forwarding.completion
    if !isSafe {
      outcome = Outcome(
        .network, reason: .unsafeMethod, storage: storageOfPost(exchange, fields, head, response),
        invalidations: Invalidation.targets(of: exchange.forwarding.original, response: head))
      return
    }
    if status == .notModified, method.isRetrieval || method == .head {
      if exchange.forwarding.isValidation {
        outcome = afterValidation(exchange, fields, head, response)
        return
      }
      if let completion, let completed = afterCompletion(completion, exchange, fields, head, response) {
        outcome = completed
        return
      }
      // A 304 that nobody asked for says nothing.
      if fields.ifNoneMatch != nil || fields.ifModifiedSince != nil {
        outcome = afterOthers304(exchange, fields, head, response)
        return
      }
    }
    if mayServeStale, StaleUse.isError(status.code),
      let stale = afterFailure(exchange, fields, isDisconnected: false)
    {
      outcome = stale
    } else if let completion, let completed = afterCompletion(completion, exchange, fields, head, response) {
      outcome = completed
    } else if status == .partialContent, method.isRetrieval {
      outcome = afterPart(exchange, fields, head, response)
    } else if method == .head {
      outcome = afterHead(exchange, fields, head, response)
    } else {
      judgeFull(head, status, response, exchange, method, fields, &outcome)
    }
  }

  /// The positions of the stored responses that the request could have been answered with.
  private func matching(_ exchange: Exchange) -> [Int] {
    VariantSelection.matching(
      exchange.candidates, request: exchange.forwarding.original.headerFields, configuration)
  }

  func parsed(_ fields: HTTPFields, _ exchange: Exchange) -> ResponseFields {
    ResponseFields.of(
      fields, now: exchange.responseTime, targets: configuration.targetNames,
      withheld: configuration.withheldNames)
  }

  // MARK: - 304

  private func afterValidation(
    _ exchange: Exchange, _ client: RequestFields, _ head: HTTPResponse, _ response: ResponseFields
  ) -> Outcome {
    let forwarding = exchange.forwarding
    let now = exchange.responseTime
    // §4.3.4: the initial set are the responses that the request could have been answered with.
    let matching = matching(exchange)
    func identify(among initial: [Int]) -> [Int] {
      Freshening.identified(
        by: response, among: initial, nominated: forwarding.nominated, candidates: exchange.candidates,
        client: client)
    }
    let identified = identify(among: matching)
    // A 304 may also choose a response that our Vary bookkeeping would not (§4.1).
    let nominated = VariantSelection.mostRecentFirst(forwarding.nominated, of: exchange.candidates)
    let chosen = identify(among: nominated).filter { candidate in
      // What only a weak validator names may be in another coding than the one that the origin chose (RFC 9110 §8.8.1).
      response.entityTag?.isWeak == false
        || ContentCoding.areAccepted(
          exchange.candidates[candidate].values(of: .contentEncoding), by: forwarding.original.headerFields)
    }
    let age = response.age.map(\.seconds)
    // One of which only parts are stored may be named, and not be able to answer.
    let answers = (identified + chosen).lazy.compactMap { chosen in
      var response = updated(chosen, by: head, exchange, keepingWithheld: true)
      // What was stored for other selecting fields, as for another user's Cookie, may have set another user's cookies.
      if configuration.kind == .shared, !matching.contains(chosen) { takeBackCookies(&response, head) }
      return storedAnswer(
        chosen, response, age: age, client: client, now: now)
    }
    guard let answer = answers.first else { return afterUnusable304(exchange, client, response) }

    let (updates, removals) = changes(to: identified, by: head, exchange, client, reason: .freshened)
    var outcome = Outcome(.stored(answer), reason: .validated, updates: updates, removals: removals)
    if !matching.contains(answer.candidate) {
      outcome.addition = addition(of: answer.candidate, by: head, exchange, client)
    }
    return outcome
  }

  /// A stored response under the selecting fields of another request, which the origin chose it for (§4.1): the next
  /// such request need not ask.
  ///
  /// What it was stored for before stays as it was. For those requests the origin may choose another by now.
  private func addition(
    of candidate: Int, by head: HTTPResponse, _ exchange: Exchange, _ client: RequestFields
  ) -> Outcome.Update? {
    let response = Freshening.updated(
      exchange.candidates[candidate], with: head,
      request: exchange.forwarding.original.headerFields, isReselected: true,
      requestTime: exchange.requestTime, responseTime: exchange.responseTime,
      configuration: configuration)
    let obstacle = Storability.obstacle(
      method: .get, request: client, status: response.status.code,
      response: parsed(response.fields, exchange), responseTime: exchange.responseTime,
      configuration: configuration)
    guard obstacle == nil, !response.selecting.isUnmatchable,
      configuration.kind == .private || !response.setsCookie, !bringsUndeclaredCookies(head, exchange)
    else { return nil }
    return Outcome.Update(candidate: candidate, response: response, reason: .variantLearned)
  }

  /// A 304 to conditions that are all the client's: it is the client's, and updates what it identifies (§4.3.4).
  private func afterOthers304(
    _ exchange: Exchange, _ client: RequestFields, _ head: HTTPResponse, _ response: ResponseFields
  ) -> Outcome {
    let identified = Freshening.identified(
      by: response, among: matching(exchange), nominated: [], candidates: exchange.candidates, client: client)
    let changes = changes(to: identified, by: head, exchange, client, reason: .freshened)
    return Outcome(
      .network, reason: .fromOrigin, storage: .refuse(.statusNotUnderstood), updates: changes.updates,
      removals: changes.removals)
  }

  /// - Parameter keepsWithheld: whether fields stay that are kept out of the store, as by `no-cache` or `private`: they are for
  ///   the client whose request brought them (§5.2.2.4).
  func updated(
    _ candidate: Int, by head: HTTPResponse, _ exchange: Exchange, keepingWithheld keepsWithheld: Bool = false
  ) -> StoredResponse {
    var updated = Freshening.updated(
      exchange.candidates[candidate], with: head,
      request: exchange.forwarding.original.headerFields, requestTime: exchange.requestTime,
      responseTime: exchange.responseTime, configuration: configuration)
    if keepsWithheld {
      let kept = updated.fields
      for field in Freshening.update(from: head, configuration)
      where kept[field.name] == nil
        && !(configuration.stripsCookies && SharedCookies.names.contains(field.name))
      {
        updated.fields.append(field)
      }
      takeBackCookies(&updated, head, exchange)
    }
    return updated
  }

  /// Leaves the stored cookies, which another client was sent, out of an answer if the update takes back that users may share
  /// them (§7.3).
  private func takeBackCookies(_ updated: inout StoredResponse, _ head: HTTPResponse, _ exchange: Exchange) {
    guard updated.facts.flags.contains(.setsCookie) else { return }
    let obstacle = SharedCookies.obstacle(
      status: updated.status.code, parsed(updated.fields, exchange), responseTime: exchange.responseTime,
      configuration)
    if obstacle != nil { takeBackCookies(&updated, head) }
  }

  /// Puts the cookies that came with the update in place of those that are stored.
  private func takeBackCookies(_ updated: inout StoredResponse, _ head: HTTPResponse) {
    for name in SharedCookies.names {
      updated.fields[fields: name] = configuration.stripsCookies ? [] : head.headerFields[fields: name]
    }
  }

  /// Whether an update sets cookies in a shared cache and does not itself declare them shareable (§7.3): they are for the
  /// client whose request brought them, however long the stored response is fresh, so it updates nothing.
  func bringsUndeclaredCookies(_ head: HTTPResponse, _ exchange: Exchange) -> Bool {
    guard configuration.kind == .shared, !configuration.stripsCookies,
      SharedCookies.names.contains(where: { head.headerFields.contains($0) })
    else { return false }
    return SharedCookies.obstacle(
      status: 200, parsed(head.headerFields, exchange), responseTime: exchange.responseTime, configuration)
      != nil
  }

  /// What becomes of stored responses that the origin has brought up to date.
  ///
  /// What may not be stored when it arrives whole may not be stored by way of an update either: a 304 response with
  /// `no-store`, or with `private` in a shared cache, ends the storing (§3).
  func changes(
    to identified: [Int], by head: HTTPResponse, _ exchange: Exchange, _ client: RequestFields,
    reason: Reason
  ) -> (updates: [Outcome.Update], removals: [Int]) {
    var (updates, removals) = ([Outcome.Update](), [Int]())
    for candidate in identified {
      let response = updated(candidate, by: head, exchange)
      let obstacle = Storability.obstacle(
        method: .get, request: client, status: response.status.code,
        response: parsed(response.fields, exchange), responseTime: exchange.responseTime,
        configuration: configuration)
      switch obstacle {
      case nil where bringsUndeclaredCookies(head, exchange): break
      case nil: updates.append(.init(candidate: candidate, response: response, reason: reason))
      // What is stored stays as it was for the others.
      case let obstacle? where obstacle.concernsOneRequest(exchange.candidates[candidate]): break
      default: removals.append(candidate)
      }
    }
    return (updates, removals)
  }

  /// A 304 that names nothing of ours: it may still be the client's own condition that holds (§4.3.2).
  private func afterUnusable304(
    _ exchange: Exchange, _ client: RequestFields, _ response: ResponseFields
  ) -> Outcome {
    if let condition = client.ifNoneMatch, let tag = response.entityTag, condition.matches(tag) {
      return Outcome(.network, reason: .fromOrigin, storage: .refuse(.statusNotUnderstood))
    }
    return repeatedInFull(exchange, because: .validationUnusable)
  }

  /// `nil` where only parts of the content are stored, and they do not answer the request.
  private func storedAnswer(
    _ candidate: Int, _ stored: StoredResponse, age: Int64?, client: RequestFields, now: Timestamp
  ) -> Outcome.StoredAnswer? {
    guard let content = ContentSelection.of(stored, for: client) else { return nil }
    return Outcome.StoredAnswer(
      candidate: candidate, response: stored, ageInSeconds: age,
      remainingSeconds: stored.facts.remainingSeconds(at: now), isStale: false, content: content)
  }

  // MARK: - Failure

  /// A stored response in place of one that did not come, or of a server error, where that is allowed (§4.2.4).
  private func afterFailure(
    _ exchange: Exchange, _ client: RequestFields, isDisconnected: Bool
  ) -> Outcome? {
    let now = exchange.responseTime
    guard let selected = exchange.forwarding.selected, exchange.forwarding.policy == .useProtocolCachePolicy
    else { return nil }
    let stored = exchange.candidates[selected]
    guard
      let reason = StaleUse.permissionAfterFailure(
        for: stored.facts, request: client.cacheControl, isDisconnected: isDisconnected, now: now,
        configuration: configuration),
      var answer = storedAnswer(
        selected, stored, age: stored.facts.ageInSeconds(at: now), client: client, now: now)
    else { return nil }
    answer.isStale = stored.facts.staleness(at: now) != nil || reason == .forbiddenWhileDisconnected
    return Outcome(.stored(answer), reason: reason)
  }

  // MARK: - Full responses

  /// A response to POST is stored as one to GET if it says that it is a representation of the target, by a
  /// Content-Location that names it, and for how long (RFC 9110 §9.3.3).
  private func storageOfPost(
    _ exchange: Exchange, _ client: RequestFields, _ head: HTTPResponse, _ response: ResponseFields
  ) -> Outcome.Storage {
    let request = exchange.forwarding.original
    guard request.method == .post, head.status == .ok, let target = TargetURI(request),
      let location = head.headerFields[.contentLocation], target.resolving(location) == target
    else { return .refuse(.methodNotStored) }
    if let obstacle = Storability.obstacle(
      method: .get, request: client, status: head.status.code, response: response,
      responseTime: exchange.responseTime,
      configuration: configuration)
    {
      return .refuse(obstacle)
    }
    let stored = stored(from: head, response, exchange)
    switch stored.facts.lifetime.source {
    case .sharedMaxAge, .maxAge, .expires: return .store(stored, .storedWithLifetime)
    case .none, .heuristic: return .refuse(.methodNotStored)
    }
  }

  func stored(
    from head: HTTPResponse, status: HTTPResponse.Status? = nil, _ response: ResponseFields,
    _ exchange: Exchange
  ) -> StoredResponse {
    Freshening.make(
      status: status ?? head.status, fields: head.headerFields, response,
      selecting: .nominated(
        by: response.vary, in: exchange.forwarding.original.headerFields,
        withholding: configuration.withheldNames),
      requestTime: exchange.requestTime, responseTime: exchange.responseTime, configuration: configuration)
  }

  private func judgeFull(
    _ head: HTTPResponse, _ status: HTTPResponse.Status, _ response: ResponseFields, _ exchange: Exchange,
    _ method: HTTPRequest.Method, _ client: RequestFields, _ outcome: inout Outcome
  ) {
    outcome.answer = .network
    outcome.reason = exchange.forwarding.isValidation ? .replacedByOrigin : .fromOrigin
    if !exchange.forwarding.isTargetCacheable {
      outcome.storage = .refuse(.targetNotCacheable)
      return
    }
    if let obstacle = Storability.obstacle(
      method: method, request: client, status: status.code, response: response,
      responseTime: exchange.responseTime,
      configuration: configuration)
    {
      outcome.storage = .refuse(obstacle)
      outcome.removals = superseded(by: obstacle, status: status, exchange)
      return
    }
    let stored = stored(from: head, status: status, response, exchange)
    let reason: Reason =
      switch stored.facts.lifetime.source {
      case .none: .storedWithoutLifetime
      case .heuristic: .storedWithHeuristic
      case .sharedMaxAge, .maxAge, .expires: .storedWithLifetime
      }
    outcome.assembly = assemblyIfBroken(stored, response, exchange)
    outcome.storage = .store(stored, stored.selecting.isUnmatchable ? .storedNeverReused : reason)
  }

  /// The stored responses that are known to be out of date, though what replaces them may not be stored.
  ///
  /// Nothing asks for their removal, but a policy that takes any stored response must not bring them back.
  private func superseded(
    by obstacle: Reason, status: HTTPResponse.Status, _ exchange: Exchange
  ) -> [Int] {
    switch obstacle {
    case .responseNoStore, .privateInSharedCache, .notDeclaredCacheable, .cookiesNotShared, .cookiesBypassed:
      // A 401 or 429 says that this request was refused, not that the resource has changed.
      guard
        status.kind == .successful || status.kind == .redirection || status == .notFound || status == .gone
      else { return [] }
      return matching(exchange)
    default: return []
    }
  }

  /// A HEAD response updates stored GET responses, or shows that they are out of date (§4.3.5).
  private func afterHead(
    _ exchange: Exchange, _ client: RequestFields, _ head: HTTPResponse, _ response: ResponseFields
  ) -> Outcome {
    var (updates, removals) = ([Outcome.Update](), [Int]())
    if head.status == .ok {
      let matching = matching(exchange)
      for candidate in matching where exchange.candidates[candidate].status == .ok {
        let stored = exchange.candidates[candidate]
        if Freshening.headMatches(response, stored) {
          let changes = changes(to: [candidate], by: head, exchange, client, reason: .freshenedByHead)
          updates += changes.updates
          removals += changes.removals
        } else {
          var outdated = stored
          outdated.facts.flags.insert(.invalidated)
          updates.append(.init(candidate: candidate, response: outdated, reason: .outdatedByHead))
        }
      }
    }
    return Outcome(
      .network, reason: .fromOrigin, storage: .refuse(.methodNotStored), updates: updates,
      removals: removals)
  }
}

extension RequestFields {
  fileprivate static func of(_ exchange: CacheEngine.Exchange) -> RequestFields {
    of(exchange.forwarding.original, now: exchange.responseTime)
  }
}

extension CacheEngine.Reason {
  /// Whether this obstacle to storing an update is the matter of the one request that brought it, and what is stored stays as
  /// it is for the others.
  func concernsOneRequest(_ stored: StoredResponse) -> Bool {
    switch self {
    case .requestNoStore, .authorizedInSharedCache: true
    // The cookies came with the update. If they had been there before, the update would have taken back their sharing.
    case .cookiesNotShared, .cookiesBypassed: !stored.setsCookie
    default: false
    }
  }
}
