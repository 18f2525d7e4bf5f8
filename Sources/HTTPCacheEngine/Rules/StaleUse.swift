// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Whether a stale response may be used without validation (RFC 9111 §4.2.4).
enum StaleUse {
  /// Whether the response is older than the request's max-age accepts (§5.2.1.1), however fresh it may be.
  static func isTooOld(_ facts: ReuseFacts, for request: CacheControl, now: Timestamp) -> Bool {
    guard let maxAge = request.maxAge else { return false }
    // A client that says max-age=0 wants the origin asked, even within the first millisecond.
    return maxAge == 0 || facts.currentAge(at: now) > maxAge.milliseconds
  }

  /// Permission to serve a response that is stale before the origin is asked.
  static func permission(
    for facts: ReuseFacts, request: CacheControl, now: Timestamp
  ) -> (reason: CacheEngine.Reason, revalidatesBehind: Bool)? {
    if facts.forbidsStale || facts.isFromTheFuture(at: now) { return nil }
    // A client that asks for a response to stay fresh takes no stale one, though it may say max-stale too.
    if request.minFresh != nil { return nil }
    // max-stale is about the lifetime that the origin gave (§5.2.1.2), and makes up for no age beyond max-age.
    if isTooOld(facts, for: request, now: now) { return nil }
    let excess = -facts.remainingLifetime(at: now)
    if let maxStale = request.maxStale {
      if excess <= maxStale.milliseconds { return (.staleAllowedByRequest, false) }
    } else if request.contains(.anyStaleness) {
      return (.staleAllowedByRequest, false)
    }
    // §5.2.1.1: a client that sends max-age wishes nothing stale, unless it says max-stale.
    if request.maxAge == nil, excess < facts.staleWhileRevalidate.milliseconds {
      return (.staleWhileRevalidate, true)
    }
    return nil
  }

  /// Whether a response counts as an error that a stored response may stand in for (RFC 5861 §4).
  static func isError(_ status: Int) -> Bool {
    status == 500 || status == 502 || status == 503 || status == 504
  }

  /// Permission to serve a stale response because the origin failed.
  ///
  /// - Parameter isDisconnected: the origin could not be reached, as against a 5xx response or one that is none.
  static func permissionAfterFailure(
    for facts: ReuseFacts, request: CacheControl, isDisconnected: Bool, now: Timestamp,
    configuration: CacheEngine.Configuration
  ) -> CacheEngine.Reason? {
    if request.contains(.noCache) { return nil }
    let isForbidden = facts.forbidsStale || facts.isFromTheFuture(at: now)
    if !isForbidden {
      let remaining = facts.remainingLifetime(at: now)
      if remaining > 0 { return .fresh }
      // RFC 5861 §4 lets the request carry the directive too.
      let window = Swift.max(facts.staleIfError, request.staleIfError ?? 0)
      if -remaining < window.milliseconds { return .staleIfError }
    }
    guard isDisconnected else { return nil }
    return switch configuration.whenDisconnected {
    case .nothing: nil
    case .unlessForbidden: isForbidden ? nil : .staleWhileDisconnected
    case .anyStored: isForbidden ? .forbiddenWhileDisconnected : .staleWhileDisconnected
    }
  }
}

extension StoredResponse {
  /// Whether it can answer a request that asks for nothing special, without a validation before.
  ///
  /// What cannot is of no use to requests that wait for the response to another: each has to ask the origin itself.
  public func isReusable(at now: Timestamp) -> Bool {
    guard parts == nil, !selecting.isUnmatchable, !facts.forbidsFreshUse else { return false }
    return facts.staleness(at: now) == nil
      || StaleUse.permission(for: facts, request: CacheControl(), now: now) != nil
  }
}
