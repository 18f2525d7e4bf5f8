import HTTPTypes

extension CacheEngine {
  /// The second door: what becomes of the origin's answer, and of what is stored.
  ///
  /// - Complexity: O(*n*) in the number of fields and of candidates.
  public func outcome(of exchange: Exchange) -> Outcome {
    let request = exchange.forwarding.original
    let fields = RequestFields(request, now: exchange.responseTime)
    switch exchange.result {
    case .failure:
      return afterFailure(exchange, fields, isDisconnected: true)
        ?? Outcome(.failure, reason: .originUnreachable)
    case .response(let head):
      if !Invalidation.isSafe(request.method) {
        return Outcome(
          .network, reason: .unsafeMethod, storage: storageOfPost(exchange, fields, head),
          invalidations: Invalidation.targets(of: request, response: head))
      }
      let response = ResponseFields(head.headerFields, now: exchange.responseTime)
      if head.status == .notModified, request.method == .get || request.method == .head {
        return exchange.forwarding.isValidation
          ? afterValidation(exchange, fields, head, response)
          : afterOthers304(exchange, fields, head, response)
      }
      if StaleUse.isError(head.status.code),
        let stale = afterFailure(exchange, fields, isDisconnected: false)
      {
        return stale
      }
      if request.method == .head { return afterHead(exchange, fields, head, response) }
      return afterFullResponse(exchange, fields, head, response)
    }
  }

  // MARK: - 304

  private func afterValidation(
    _ exchange: Exchange, _ client: RequestFields, _ head: HTTPResponse, _ response: ResponseFields
  ) -> Outcome {
    let forwarding = exchange.forwarding
    let now = exchange.responseTime
    // §4.3.4: the initial set are the responses that the request could have been answered with.
    let matching = VariantSelection.matching(
      exchange.candidates, request: forwarding.original.headerFields)
    func identify(among initial: [Int]) -> [Int] {
      Freshening.identified(
        by: response, among: initial, nominated: forwarding.nominated, candidates: exchange.candidates,
        client: client)
    }
    let identified = identify(among: matching)
    // A 304 may also choose a response that our Vary bookkeeping would not (§4.1): it answers, but is not updated.
    let nominated = VariantSelection.mostRecentFirst(forwarding.nominated, of: exchange.candidates)
    guard let chosen = identified.first ?? identify(among: nominated).first else {
      return afterUnusable304(exchange, client, response)
    }

    let (updates, removals) = changes(to: identified, by: head, exchange, client, reason: .freshened)
    let stored = updated(chosen, by: head, exchange)
    var answering = stored
    // What no-cache or private keeps out of the store is for the client whose request brought it (§5.2.2.4).
    for field in Freshening.update(from: head) where stored.fields[field.name] == nil {
      answering.fields.append(field)
    }
    let answer = storedAnswer(
      chosen, answering, age: response.age.map(\.seconds), client: client, now: now)
    return Outcome(.stored(answer), reason: .validated, updates: updates, removals: removals)
  }

  /// A 304 to conditions that are all the client's: it is the client's, and updates what it identifies (§4.3.4).
  private func afterOthers304(
    _ exchange: Exchange, _ client: RequestFields, _ head: HTTPResponse, _ response: ResponseFields
  ) -> Outcome {
    let matching = VariantSelection.matching(
      exchange.candidates, request: exchange.forwarding.original.headerFields)
    let identified = Freshening.identified(
      by: response, among: matching, nominated: [], candidates: exchange.candidates, client: client)
    let changes = changes(to: identified, by: head, exchange, client, reason: .freshened)
    return Outcome(
      .network, reason: .fromOrigin, storage: .refuse(.statusNotUnderstood), updates: changes.updates,
      removals: changes.removals)
  }

  private func updated(_ candidate: Int, by head: HTTPResponse, _ exchange: Exchange) -> StoredResponse {
    Freshening.updated(
      exchange.candidates[candidate], with: head, request: exchange.forwarding.original.headerFields,
      requestTime: exchange.requestTime, responseTime: exchange.responseTime, configuration: configuration)
  }

  /// What becomes of stored responses that the origin has brought up to date.
  ///
  /// What may not be stored when it arrives whole may not be stored by way of an update either: a 304 response with
  /// `no-store`, or with `private` in a shared cache, ends the storing (§3).
  private func changes(
    to identified: [Int], by head: HTTPResponse, _ exchange: Exchange, _ client: RequestFields,
    reason: Reason
  ) -> (updates: [Outcome.Update], removals: [Int]) {
    var (updates, removals) = ([Outcome.Update](), [Int]())
    for candidate in identified {
      let response = updated(candidate, by: head, exchange)
      let obstacle = Storability.obstacle(
        method: .get, request: client, status: response.status.code,
        response: ResponseFields(response.fields, now: exchange.responseTime), kind: configuration.kind)
      switch obstacle {
      case nil: updates.append(.init(candidate: candidate, response: response, reason: reason))
      // The one request's matter: what is stored stays as it was for the others.
      case .requestNoStore, .authorizedInSharedCache: break
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
    // Our conditions go, the client's come back; what the policy had added stays.
    var again = exchange.forwarding
    for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince] {
      again.request.headerFields[fields: name] = again.original.headerFields[fields: name]
    }
    again.nominated = []
    again.selected = nil
    again.reason = .validationUnusable
    return Outcome(.forwardAgain(again), reason: .validationUnusable)
  }

  private func storedAnswer(
    _ candidate: Int, _ stored: StoredResponse, age: Int64?, client: RequestFields, now: Timestamp
  ) -> Outcome.StoredAnswer {
    let remaining = stored.facts.remainingLifetime(at: now) / 1000
    return Outcome.StoredAnswer(
      candidate: candidate, response: stored, age: age, remainingLifetime: remaining, isStale: false,
      content: ContentSelection(stored, for: client))
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
        configuration: configuration)
    else { return nil }
    var answer = storedAnswer(
      selected, stored, age: stored.facts.currentAge(at: now) / 1000, client: client, now: now)
    answer.isStale = stored.facts.staleness(at: now) != nil
    return Outcome(.stored(answer), reason: reason)
  }

  // MARK: - Full responses

  /// A response to POST is stored as one to GET if it says that it is a representation of the target, by a
  /// Content-Location that names it, and for how long (RFC 9110 §9.3.3).
  private func storageOfPost(
    _ exchange: Exchange, _ client: RequestFields, _ head: HTTPResponse
  ) -> Outcome.Storage {
    let request = exchange.forwarding.original
    guard request.method == .post, head.status == .ok, let target = TargetURI(request),
      let location = head.headerFields[.contentLocation], target.resolving(location) == target
    else { return .refuse(.methodNotStored) }
    let response = ResponseFields(head.headerFields, now: exchange.responseTime)
    if let obstacle = Storability.obstacle(
      method: .get, request: client, status: head.status.code, response: response, kind: configuration.kind)
    {
      return .refuse(obstacle)
    }
    let stored = stored(from: head, response, exchange)
    switch stored.facts.lifetime.source {
    case .sharedMaxAge, .maxAge, .expires: return .store(stored, .storedWithLifetime)
    case .none, .heuristic: return .refuse(.methodNotStored)
    }
  }

  private func stored(
    from head: HTTPResponse, _ response: ResponseFields, _ exchange: Exchange
  ) -> StoredResponse {
    Freshening.make(
      status: head.status, fields: head.headerFields,
      selecting: SelectingFields(response.vary, of: exchange.forwarding.original.headerFields),
      requestTime: exchange.requestTime, responseTime: exchange.responseTime, configuration: configuration)
  }

  private func afterFullResponse(
    _ exchange: Exchange, _ client: RequestFields, _ head: HTTPResponse, _ response: ResponseFields
  ) -> Outcome {
    let forwarding = exchange.forwarding
    let reason: Reason = forwarding.isValidation ? .replacedByOrigin : .fromOrigin
    if CacheKey(forwarding.original) == nil {
      return Outcome(.network, reason: reason, storage: .refuse(.targetNotCacheable))
    }
    if let obstacle = Storability.obstacle(
      method: forwarding.original.method, request: client, status: head.status.code, response: response,
      kind: configuration.kind)
    {
      return Outcome(
        .network, reason: reason, storage: .refuse(obstacle),
        removals: superseded(by: obstacle, status: head.status, exchange))
    }
    let stored = stored(from: head, response, exchange)
    let storedReason: Reason =
      switch stored.facts.lifetime.source {
      case .none: .storedWithoutLifetime
      case .heuristic: .storedWithHeuristic
      case .sharedMaxAge, .maxAge, .expires: .storedWithLifetime
      }
    return Outcome(.network, reason: reason, storage: .store(stored, storedReason))
  }

  /// The stored responses that are known to be out of date, though what replaces them may not be stored.
  ///
  /// Nothing asks for their removal, but a policy that takes any stored response must not bring them back.
  private func superseded(
    by obstacle: Reason, status: HTTPResponse.Status, _ exchange: Exchange
  ) -> [Int] {
    switch obstacle {
    case .responseNoStore, .privateInSharedCache, .notDeclaredCacheable:
      // A 401 or 429 says that this request was refused, not that the resource has changed.
      guard
        status.kind == .successful || status.kind == .redirection || status == .notFound || status == .gone
      else { return [] }
      return VariantSelection.matching(
        exchange.candidates, request: exchange.forwarding.original.headerFields)
    default: return []
    }
  }

  /// A HEAD response updates stored GET responses, or shows that they are out of date (§4.3.5).
  private func afterHead(
    _ exchange: Exchange, _ client: RequestFields, _ head: HTTPResponse, _ response: ResponseFields
  ) -> Outcome {
    var (updates, removals) = ([Outcome.Update](), [Int]())
    if head.status == .ok {
      let matching = VariantSelection.matching(
        exchange.candidates, request: exchange.forwarding.original.headerFields)
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
