// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Whether a stale response may be used without a revalidation (RFC 9111 §4.2.4).
///
/// In a shared cache, a response without a lifetime may be the page of one visitor. Only the origin itself permits its stale
/// use, by `stale-while-revalidate` and `stale-if-error`, within their windows. A request, a rule, the policy of a caller and
/// an unreachable origin do not (``mayOthersPermit(_:_:)``).
enum StaleUse {
  /// Whether others than the origin may permit the stale use of a response: a private cache has one user, and what had a
  /// lifetime was made for all.
  static func mayOthersPermit(_ facts: ReuseFacts, _ kind: CacheEngine.Configuration.Kind) -> Bool {
    kind == .private || facts.flags.contains(.hadLifetime)
  }

  /// Whether the response is older than the request's max-age accepts (§5.2.1.1), however fresh it may be.
  static func isTooOld(_ facts: ReuseFacts, for request: CacheControl, now: Timestamp) -> Bool {
    guard let maxAge = request.maxAge else { return false }
    // With max-age=0 a client requires a revalidation, even within the first millisecond.
    return maxAge == 0 || facts.currentAge(at: now) > maxAge.milliseconds
  }

  /// Returns the permission to serve a stale response without a request to the origin.
  ///
  /// - Parameters:
  ///   - kind: of the cache.
  ///   - decision: what rules decide about the response.
  static func permission(
    for facts: ReuseFacts, request: CacheControl, now: Timestamp, _ kind: CacheEngine.Configuration.Kind,
    _ decision: CacheEngine.ResponseRule.Decision? = nil
  ) -> (reason: CacheEngine.Reason, revalidatesBehind: Bool)? {
    if facts.forbidsStale(decision) || facts.isFromTheFuture(at: now) { return nil }
    // A client that requires a response to stay fresh accepts no stale one, even if it also sends max-stale.
    if request.minFresh != nil { return nil }
    // max-stale extends the lifetime from the origin (§5.2.1.2), and not the request's max-age.
    if isTooOld(facts, for: request, now: now) { return nil }
    let excess = -facts.remainingLifetime(at: now)
    let isOpen = mayOthersPermit(facts, kind)
    // What a rule overrules, a client does not.
    if !facts.forbidsStale, isOpen {
      if let maxStale = request.maxStale {
        if excess <= maxStale.milliseconds { return (.staleAllowedByRequest, false) }
      } else if request.contains(.anyStaleness) {
        return (.staleAllowedByRequest, false)
      }
    }
    // §5.2.1.1: a client that sends max-age accepts no stale response, unless it sends max-stale.
    if request.maxAge != nil { return nil }
    if excess < facts.staleWhileRevalidate.milliseconds, !facts.forbidsStale {
      return (.staleWhileRevalidate, true)
    }
    // A rule speaks where the origin said nothing.
    if let grace = decision?.grace, isOpen, facts.staleWhileRevalidate == 0, excess < grace.milliseconds {
      return (.staleByRule, true)
    }
    return nil
  }

  /// Whether a status code counts as an error that a stored response may replace (RFC 5861 §4).
  static func isError(_ status: Int, _ configuration: CacheEngine.Configuration) -> Bool {
    if let errors = configuration.ruling?.storedDecision.errors {
      return errors.statuses.contains { $0.contains(status) }
    }
    return status == 500 || status == 502 || status == 503 || status == 504
  }

  /// Returns the permission to serve a stale response because the origin failed.
  ///
  /// - Parameter isDisconnected: whether the origin was unreachable, as opposed to a 5xx response or an invalid one.
  static func permissionAfterFailure(
    for facts: ReuseFacts, request: CacheControl, isDisconnected: Bool, now: Timestamp,
    configuration: CacheEngine.Configuration
  ) -> CacheEngine.Reason? {
    if request.contains(.noCache), configuration.reloadUse != .ignore { return nil }
    let decision = configuration.ruling?.storedDecision
    let isForbidden = facts.forbidsStale || facts.isFromTheFuture(at: now)
    let isOpen = mayOthersPermit(facts, configuration.kind)
    if !facts.forbidsStale(decision), !facts.isFromTheFuture(at: now) {
      let remaining = facts.remainingLifetime(at: now)
      if remaining > 0 { return .fresh }
      // RFC 5861 §4 allows the directive in the request too.
      let window = Swift.max(facts.staleIfError, isOpen ? request.staleIfError ?? 0 : 0)
      if -remaining < window.milliseconds, !isForbidden { return .staleIfError }
      if isOpen, let ruled = decision?.staleIfError, -remaining < ruled.milliseconds,
        !isDisconnected || decision?.errors?.includesFailures ?? true
      {
        return .staleIfErrorByRule
      }
    }
    guard isDisconnected, isOpen else { return nil }
    return switch configuration.whenDisconnected {
    case .nothing: nil
    case .unlessForbidden: isForbidden ? nil : .staleWhileDisconnected
    case .anyStored: isForbidden ? .forbiddenWhileDisconnected : .staleWhileDisconnected
    }
  }
}

extension StoredResponse {
  /// Whether the response can answer an ordinary request without a revalidation, as the origin permits it.
  ///
  /// If it cannot, it is useless to coalesced requests: each of them needs its own request to the origin.
  public func isReusable(at now: Timestamp) -> Bool { isReusable(facts, at: now) }

  /// Whether the response can answer a request that has waited for it, when it arrives.
  ///
  /// - Parameter times: of the exchange that brought it.
  package func isReusable(after times: ExchangeTimes) -> Bool {
    var facts = facts
    facts.leaveOutDelay(of: times)
    return isReusable(facts, at: times.response)
  }

  private func isReusable(_ facts: ReuseFacts, at now: Timestamp) -> Bool {
    guard parts == nil, !selecting.isUnmatchable, !facts.forbidsFreshUse else { return false }
    return facts.staleness(at: now) == nil
      || StaleUse.permission(for: facts, request: CacheControl(), now: now, .shared) != nil
  }
}
