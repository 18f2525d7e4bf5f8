// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

extension CacheEngine {
  /// Decides what happens to the origin's response and to the stored responses: the engine's second entry point.
  ///
  /// - Complexity: O(*n*) in the number of fields and of candidates.
  public func outcome(of exchange: Exchange) -> Outcome {
    if let ruling = configuration.ruling, !ruling.rules.isEmpty { return outcome(of: exchange, by: ruling) }
    var outcome = Outcome(answer: .failure, reason: .originUnreachable)
    switch exchange.result {
    case .response(let head):
      judge(head, exchange, &outcome)
      if !exchange.storesUndeclared { refuseUndeclared(exchange, &outcome) }
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

  /// Whether a directive of the stored response requires an error response if the origin is unreachable: 504 (Gateway
  /// Timeout), as §5.2.2.2 says.
  ///
  /// A private cache is part of the client, which gets the transport's own error instead.
  private func mustBeRevalidated(_ exchange: Exchange) -> Bool {
    guard configuration.kind == .shared, exchange.forwarding.policy == .useProtocolCachePolicy,
      let selected = exchange.forwarding.selected
    else { return false }
    return exchange.candidates[selected].facts.staleness(at: exchange.responseTime) == .staleMustRevalidate
  }

  // The result is written into an existing outcome: each function that returned one would copy it, six times in all.

  private func judge(_ head: HTTPResponse, _ exchange: Exchange, _ outcome: inout Outcome) {
    // Declared here, because a returned value would be copied.
    var response = ResponseFields()
    response.read(
      head.headerFields, now: exchange.arrival, targets: configuration.targetNames,
      withheld: configuration.withheldNames, tags: configuration.tagNames)
    response.overrule(lifetime: exchange.lifetime, configuration.ruling)
    // HTTPTypes keeps the method as a field: read it once, and not in every rule.
    let method = exchange.forwarding.original.method
    let isSafe = Invalidation.isSafe(method)
    // Only these invalidate a whole scope.
    if !response.clearsSiteData, isSafe {
      judge(head, response, method, isSafe: true, exchange, &outcome)
      if !response.tags.isEmpty { judge(response.tags, exchange, &outcome) }
      return
    }
    let scopes = ScopeInvalidation.scopes(
      after: exchange, response: head, response, configuration: configuration)
    let isCleared = scopes.contains { $0.reason == .clearedByOrigin }
    judge(head, response, method, isSafe: isSafe, exchange, mayServeStale: !isCleared, &outcome)
    if !response.tags.isEmpty { judge(response.tags, exchange, &outcome) }
    if !scopes.isEmpty { outcome.invalidatedScopes = scopes }
    if isCleared {
      // A response that clears the cache does not start the next collection, and updates nothing.
      if case .store = outcome.storage { outcome.storage = .refuse(.clearedByOrigin) }
      outcome.updates = []
    }
  }

  /// Decides what the client gets to see of the response's tags, and refuses to store what has too many: it could not be
  /// purged by all of them. It displaces the stored responses that match, as it would if it were stored.
  private func judge(_ tags: ResponseTags, _ exchange: Exchange, _ outcome: inout Outcome) {
    if !configuration.showsTags {
      outcome.hiddenFields = tags.lists.compactMap { HTTPField.Name($0.field) }
    }
    if case .store(let stored, _) = outcome.storage, stored.tags.exceedsLimit {
      outcome.storage = .refuse(.tooManyTags)
      outcome.removals = matching(exchange)
    }
    let excessive = outcome.updates.filter { $0.response.tags.exceedsLimit }.map(\.candidate)
    if !excessive.isEmpty {
      outcome.updates.removeAll { excessive.contains($0.candidate) }
      outcome.removals += excessive
    }
  }

  /// Decides what happens to the response and to the stored responses under its key.
  private func judge(
    _ head: HTTPResponse, _ response: ResponseFields, _ method: HTTPRequest.Method, isSafe: Bool,
    _ exchange: Exchange, mayServeStale: Bool = true, _ outcome: inout Outcome
  ) {
    // As with the method.
    let status = head.status
    var fields = RequestFields()
    fields.read(exchange.forwarding.original, now: exchange.arrival)
    let completion = exchange.forwarding.completion
    if !isSafe {
      outcome = Outcome(
        .network, reason: .unsafeMethod, storage: storageOfPost(exchange, fields, head, response),
        invalidations: Invalidation.targets(of: exchange.forwarding.original, response: head))
      return
    }
    if status == .notModified, method.isRetrieval || method == .head {
      if exchange.forwarding.isValidation {
        return afterValidation(exchange, fields, head.headerFields, response, &outcome)
      }
      if let completion, let completed = afterCompletion(completion, exchange, fields, head, response) {
        outcome = completed
        return
      }
      // Also by one that this cache cannot read, such as a date in an odd format.
      let asked = exchange.forwarding.request.headerFields
      if asked.contains(.ifNoneMatch) || asked.contains(.ifModifiedSince) {
        outcome = afterOthers304(exchange, fields, head, response)
        return
      }
      outcome =
        (mayServeStale ? afterFailure(exchange, fields, isDisconnected: false) : nil) ?? afterUnsolicited304()
      return
    }
    if mayServeStale, StaleUse.isError(status.code, configuration),
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

  /// Returns the positions of the stored responses that could have answered the request.
  private func matching(_ exchange: Exchange) -> [Int] {
    VariantSelection.matching(
      exchange.candidates, request: exchange.forwarding.original.headerFields, configuration)
  }

  func parsed(_ fields: HTTPFields, _ exchange: Exchange) -> ResponseFields {
    ResponseFields.of(fields, now: exchange.arrival, lifetime: exchange.lifetime, configuration)
  }

  // MARK: - 304

  private func afterValidation(
    _ exchange: Exchange, _ client: RequestFields, _ fields: HTTPFields, _ response: ResponseFields,
    _ outcome: inout Outcome
  ) {
    // §4.3.4: the initial set are the responses that could have answered the request.
    let matching = matching(exchange)
    let identified = Freshening.identified(
      by: response, among: matching, nominated: exchange.forwarding.nominated,
      candidates: exchange.candidates,
      client: client)
    if identified.isEmpty, configuration.acceptsStrongTagForWeak,
      let candidate = Freshening.weaklyIdentified(
        by: response, nominated: exchange.forwarding.nominated, candidates: exchange.candidates,
        client: client
      ),
      matching.contains(candidate),
      // Without `Vary`, the tag may be that of a client that decodes nothing.
      areCodingsAccepted(of: candidate, exchange)
    {
      let fields = Freshening.withoutRepresentation(fields, updating: exchange.candidates[candidate])
      update([candidate], by: fields, response, exchange, client, &outcome)
      if outcome.reason == .validated { outcome.reason = .validatedByStrongTag }
    } else {
      update(identified, by: fields, response, exchange, client, &outcome)
    }
  }

  private func areCodingsAccepted(of candidate: Int, _ exchange: Exchange) -> Bool {
    ContentCoding.areAccepted(
      exchange.candidates[candidate].values(of: .contentEncoding),
      by: exchange.forwarding.original.headerFields)
  }

  /// Updates the stored responses that a 304 identifies, and answers with one of them.
  ///
  /// - Parameter fields: those of the 304 that update them.
  private func update(
    _ identified: [Int], by fields: HTTPFields, _ response: ResponseFields,
    _ exchange: Exchange, _ client: RequestFields, _ outcome: inout Outcome
  ) {
    var (updates, removals, isAnswered) = ([Outcome.Update](), [Int](), false)
    for candidate in identified {
      // The answer and the change to the store read the head once.
      let revision = revision(of: candidate, by: fields, response, exchange, client)
      // A partly stored response may be named without being able to answer.
      if !isAnswered,
        let answer = storedAnswer(
          candidate, answer(with: revision, by: fields, response, exchange),
          age: response.age.map(\.seconds), client: client, now: exchange.responseTime)
      {
        outcome.answer = .stored(answer)
        isAnswered = true
      }
      apply(revision, by: response, exchange, reason: .freshened, &updates, &removals)
    }
    guard isAnswered else {
      outcome = afterUnusable304(exchange, client, response)
      return
    }
    outcome.reason = .validated
    outcome.change(updates, removals)
  }

  /// Handles a 304 to conditions that are all the client's: the client gets it, and it updates the response that it
  /// identifies (§4.3.4).
  private func afterOthers304(
    _ exchange: Exchange, _ client: RequestFields, _ head: HTTPResponse, _ response: ResponseFields
  ) -> Outcome {
    let identified = Freshening.identified(
      by: response, among: matching(exchange), nominated: nil, candidates: exchange.candidates, client: client
    )
    var (updates, removals) = ([Outcome.Update](), [Int]())
    for candidate in identified {
      apply(
        revision(of: candidate, by: head.headerFields, response, exchange, client), by: response, exchange,
        reason: .freshened, &updates, &removals)
    }
    var outcome = Outcome(.network, reason: .fromOrigin, storage: .refuse(.statusNotUnderstood))
    outcome.change(updates, removals)
    return outcome
  }

  /// Handles a 304 to a request without a condition, which the RFC does not allow (RFC 9110 §15.4.5). To a client of a shared
  /// cache, it would be a response without content. A private cache is no gateway that could answer 502 (§15.6.3): its
  /// application gets what the origin sent.
  private func afterUnsolicited304() -> Outcome {
    let storage = Outcome.Storage.refuse(.statusNotUnderstood)
    guard configuration.kind == .shared else {
      return Outcome(.network, reason: .fromOrigin, storage: storage)
    }
    let reason = Reason.unsolicitedNotModified
    return Outcome(.generated(Refusal(reason: reason)), reason: reason, storage: storage)
  }

  /// Returns a stored response with the fields of an update.
  ///
  /// - Parameter update: the parsed form of `fields`.
  func revision(
    of candidate: Int, by fields: HTTPFields, _ update: ResponseFields, _ exchange: Exchange,
    _ client: RequestFields
  ) -> Freshening.Revision {
    Freshening.revision(of: candidate, by: fields, update, exchange, client, configuration)
  }

  /// Returns the head of an updated response for the client. It has the fields of the update that must not be stored, for
  /// example because of `no-cache` or `private`: they are for the client whose request brought them (§5.2.2.4).
  func answer(
    with revision: Freshening.Revision, by fields: HTTPFields, _ update: ResponseFields, _ exchange: Exchange
  ) -> StoredResponse {
    var updated = revision.response
    if !revision.isStoredAsIs {
      let kept = updated.fields
      let update = Freshening.update(fields, update, arrival: exchange.arrival, configuration)
      for field in update where !kept.contains(field.name) {
        let kind = FieldKind(field.name)
        if !kind.staysInUpdate, !configuration.stripsCookies || kind != .setCookie,
          configuration.showsTags || !configuration.tagNames.contains(field.name.canonicalName)
        {
          updated.fields.append(field)
        }
      }
    }
    takeBackCookies(&updated, fields, exchange)
    return updated
  }

  /// Removes the stored cookies, which another client received, from an answer if the update withdraws the permission
  /// to share them (§7.3).
  private func takeBackCookies(_ updated: inout StoredResponse, _ update: HTTPFields, _ exchange: Exchange) {
    guard updated.facts.flags.contains(.setsCookie) else { return }
    let obstacle = SharedCookies.obstacle(
      status: updated.status.code, parsed(updated.fields, exchange), arrival: exchange.arrival,
      configuration)
    if obstacle == nil { return }
    for name in SharedCookies.names {
      updated.fields[fields: name] = configuration.stripsCookies ? [] : update[fields: name]
    }
  }

  /// Whether an update sets cookies in a shared cache and does not itself declare them shareable (§7.3). Such cookies
  /// are for the client whose request brought them, however long the stored response is fresh. So the response updates
  /// nothing.
  func bringsUndeclaredCookies(_ update: ResponseFields, _ exchange: Exchange) -> Bool {
    !configuration.stripsCookies
      && SharedCookies.obstacle(status: 200, update, arrival: exchange.arrival, configuration) != nil
  }

  /// Adds the change to a stored response that the origin has updated.
  ///
  /// A response that must not be stored when it arrives complete must not be stored by an update either. A 304 response
  /// with `no-store`, or with `private` in a shared cache, removes the stored response (§3).
  func apply(
    _ revision: Freshening.Revision, by update: ResponseFields, _ exchange: Exchange, reason: Reason,
    _ updates: inout [Outcome.Update], _ removals: inout [Int]
  ) {
    switch revision.obstacle {
    case nil where bringsUndeclaredCookies(update, exchange): break
    case nil:
      updates.append(.init(candidate: revision.candidate, response: revision.response, reason: reason))
    // The stored response stays as it was for the others.
    case let obstacle? where obstacle.concernsOneRequest(exchange.candidates[revision.candidate]): break
    default: removals.append(revision.candidate)
    }
  }

  /// Handles a 304 that identifies no stored response: the client's own condition may hold (§4.3.2).
  private func afterUnusable304(
    _ exchange: Exchange, _ client: RequestFields, _ response: ResponseFields
  ) -> Outcome {
    if let condition = client.ifNoneMatch, let tag = response.entityTag, condition.matches(tag) {
      return Outcome(.network, reason: .fromOrigin, storage: .refuse(.statusNotUnderstood))
    }
    return repeatedInFull(exchange, because: .validationUnusable)
  }

  /// Returns `nil` if only parts of the content are stored, and they do not answer the request.
  private func storedAnswer(
    _ candidate: Int, _ stored: StoredResponse, age: Int64?, client: RequestFields, now: Timestamp
  ) -> Outcome.StoredAnswer? {
    guard let content = ContentSelection.of(stored, for: client) else { return nil }
    return Outcome.StoredAnswer(
      candidate: candidate, response: stored, ageInSeconds: age,
      remainingSeconds: stored.facts.remainingSeconds(at: now), isStale: false, content: content)
  }

  // MARK: - Failure

  /// Answers with a stored response after a failure or a server error, if that is allowed (§4.2.4).
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

  /// Stores a response to POST as one to GET if it declares itself a representation of the target. It does so by a
  /// Content-Location with the target URI, and an explicit lifetime (RFC 9110 §9.3.3).
  private func storageOfPost(
    _ exchange: Exchange, _ client: RequestFields, _ head: HTTPResponse, _ response: ResponseFields
  ) -> Outcome.Storage {
    let request = exchange.forwarding.original
    guard request.method == .post, head.status == .ok, let target = TargetURI(request),
      let location = head.headerFields[.contentLocation], target.resolving(location) == target
    else { return .refuse(.methodNotStored) }
    if let obstacle = Storability.obstacle(
      method: .get, request: client, status: head.status.code, response: response,
      arrival: exchange.arrival,
      configuration: configuration)
    {
      return .refuse(obstacle)
    }
    let stored = stored(from: head, response, exchange)
    switch stored.facts.lifetime.source {
    case .sharedMaxAge, .maxAge, .expires: return .store(stored, .storedWithLifetime)
    case .application: return .store(stored, .storedByApplication)
    // The origin must give the lifetime.
    case .none, .heuristic, .rule: return .refuse(.methodNotStored)
    }
  }

  func stored(
    from head: HTTPResponse, status: HTTPResponse.Status? = nil, _ response: ResponseFields,
    _ exchange: Exchange
  ) -> StoredResponse {
    let request = exchange.forwarding.original.headerFields
    return Freshening.make(
      status: status ?? head.status,
      Freshening.kept(of: head.headerFields, response, arrival: exchange.arrival, configuration), response,
      selecting: .nominated(
        by: VariantSelection.names(of: response, for: request, configuration),
        in: request, configuration),
      times: exchange.times, configuration: configuration)
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
      arrival: exchange.arrival,
      configuration: configuration)
    {
      refuse(obstacle, head, response, exchange, client, &outcome)
      return
    }
    let stored = stored(from: head, status: status, response, exchange)
    let reason: Reason =
      switch stored.facts.lifetime.source {
      case .none: .storedWithoutLifetime
      case .heuristic: .storedWithHeuristic
      case .sharedMaxAge, .maxAge, .expires: .storedWithLifetime
      case .application: .storedByApplication
      case .rule: .storedByRule
      }
    assembleIfBroken(stored, response, exchange, &outcome)
    if !exchange.candidates.isEmpty { supersede(by: stored, head, response, exchange, &outcome) }
    outcome.storage = .store(stored, stored.selecting.isUnmatchable ? .storedNeverReused : reason)
  }

  /// Returns the stored responses that the origin's answer takes the place of: all that could have answered the request. None
  /// of them is suitable any more (§4.3.3), also if the answer is not stored, or is stored for other selecting fields.
  private func superseded(
    by head: HTTPResponse, _ response: ResponseFields, _ exchange: Exchange
  ) -> [Int] {
    if exchange.candidates.isEmpty { return [] }
    switch head.status {
    case .partialContent, .rangeNotSatisfiable:
      return matching(exchange).filter {
        PartialContent.shows(head, response, anotherThan: exchange.candidates[$0])
      }
    case .notFound, .gone: return matching(exchange)
    // Others refuse this request: a client that may not read a page does not remove it for the clients that may.
    case let status where status.kind == .successful || status.kind == .redirection: return matching(exchange)
    default: return []
    }
  }

  /// Refuses to store a response that has no field about caching. It displaces the stored responses that match, as it
  /// would if it were stored.
  private func refuseUndeclared(_ exchange: Exchange, _ outcome: inout Outcome) {
    guard case .store(let stored, _) = outcome.storage, stored.facts.lifetime.source != .rule else { return }
    let names = [.cacheControl, .expires] + configuration.targets.compactMap { HTTPField.Name($0) }
    guard names.allSatisfy({ stored.values(of: $0).isEmpty }) else { return }
    outcome.storage = .refuse(.notDeclaredCacheable)
    outcome.removals = matching(exchange)
  }

  /// Refuses to store a response, which displaces stored ones as it would if it were stored.
  func refuse(
    _ obstacle: Reason, _ head: HTTPResponse, _ response: ResponseFields, _ exchange: Exchange,
    _ client: RequestFields, _ outcome: inout Outcome
  ) {
    outcome.storage = .refuse(obstacle)
    // Such an answer is for this request, and says nothing about those to others.
    let isForOne =
      client.cacheControl.contains(.noStore) || client.hasAuthorization && configuration.kind == .shared
      || obstacle == .bypassedByRule || obstacle == .methodNotStored
    let superseded = isForOne ? [] : superseded(by: head, response, exchange)
    if !superseded.isEmpty { outcome.removals = superseded }
  }

  /// Removes the responses that a new one replaces. Those with its own selecting fields are left out: the store replaces them
  /// when it inserts the new one.
  @inline(never)  // Most requests that get a full response have nothing stored.
  func supersede(
    by stored: StoredResponse, _ head: HTTPResponse, _ response: ResponseFields, _ exchange: Exchange,
    _ outcome: inout Outcome
  ) {
    let key = stored.selecting.variantKey
    let superseded = superseded(by: head, response, exchange).filter {
      exchange.candidates[$0].selecting.variantKey != key
    }
    if !superseded.isEmpty { outcome.removals = superseded }
  }

  /// Handles a HEAD response: it updates stored GET responses, or shows that they are out of date (§4.3.5).
  private func afterHead(
    _ exchange: Exchange, _ client: RequestFields, _ head: HTTPResponse, _ response: ResponseFields
  ) -> Outcome {
    if configuration.ruling?.isBypassed == true {
      return Outcome(.network, reason: .fromOrigin, storage: .refuse(.bypassedByRule))
    }
    var (updates, removals) = ([Outcome.Update](), [Int]())
    if head.status == .ok {
      for candidate in matching(exchange) where exchange.candidates[candidate].status == .ok {
        let stored = exchange.candidates[candidate]
        switch Freshening.headMatches(response, stored) {
        case true?:
          apply(
            revision(of: candidate, by: head.headerFields, response, exchange, client), by: response,
            exchange,
            reason: .freshenedByHead, &updates, &removals)
        case false?:
          var outdated = stored
          outdated.facts.flags.insert(.invalidated)
          updates.append(.init(candidate: candidate, response: outdated, reason: .outdatedByHead))
        case nil: break
        }
      }
    }
    var outcome = Outcome(.network, reason: .fromOrigin, storage: .refuse(.methodNotStored))
    outcome.change(updates, removals)
    return outcome
  }
}

extension RequestFields {
  fileprivate static func of(_ exchange: CacheEngine.Exchange) -> RequestFields {
    of(exchange.forwarding.original, now: exchange.arrival)
  }
}

extension CacheEngine.Reason {
  /// Whether this obstacle to storing an update concerns only the request that brought it. The stored response then
  /// stays as it is for the others.
  func concernsOneRequest(_ stored: StoredResponse) -> Bool {
    switch self {
    case .requestNoStore, .authorizedInSharedCache, .bypassedByRule: true
    // The cookies came with the update. If they had been stored before, the update would have withdrawn their sharing.
    case .cookiesNotShared, .cookiesBypassed: !stored.setsCookie
    default: false
    }
  }
}
