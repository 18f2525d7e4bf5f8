// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The facts for the decision to reuse a stored response, computed once when it is stored.
///
/// All are integers and flags: freshness is then a subtraction and a comparison, without access to the fields.
package struct ReuseFacts: Hashable, Sendable {
  package struct Flags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// `no-cache` without field names: revalidated before every use (RFC 9111 §5.2.2.4).
    package static let noCache = Flags(rawValue: 1 << 0)
    /// Never used stale without a revalidation: `must-revalidate`, and for a shared cache `proxy-revalidate` and
    /// `s-maxage` (§5.2.2.2, §5.2.2.8, §5.2.2.10).
    package static let mustRevalidate = Flags(rawValue: 1 << 1)
    /// `immutable`, on a response that is certainly complete: not revalidated while fresh, even on a reload (RFC 8246
    /// §2, §3).
    package static let immutable = Flags(rawValue: 1 << 2)
    /// The stored fields contain an entity tag or a modification date to validate with.
    package static let hasValidator = Flags(rawValue: 1 << 3)
    /// Marked invalid (RFC 9111 §4.4, §4.3.5): revalidated before the next use.
    package static let invalidated = Flags(rawValue: 1 << 4)
    /// The status code is 2xx: preconditions of a client can be evaluated (RFC 9110 §13.2.1).
    package static let isSuccessful = Flags(rawValue: 1 << 5)
    /// The response had a lifetime when it was stored or last validated, however short that was made afterwards: see
    /// ``FreshnessLifetime/counts(after:)``. In a shared cache, only the origin may permit a stale use without it
    /// (``StaleUse``).
    package static let hadLifetime = Flags(rawValue: 1 << 6)
    /// The message contained the length of its content, by Content-Length or a transfer coding: a broken connection
    /// cannot be mistaken for its end.
    package static let isDelimited = Flags(rawValue: 1 << 8)
    /// The response is in groups (RFC 9875 §2).
    package static let hasGroups = Flags(rawValue: 1 << 9)
    /// The response set cookies when it arrived (RFC 9111 §7.3). The cookies may be stored with it, unless the cache
    /// was configured to omit them.
    package static let setsCookie = Flags(rawValue: 1 << 10)
  }

  package var flags: Flags
  package var lifetime: FreshnessLifetime
  /// `corrected_initial_age`, in milliseconds (RFC 9111 §4.2.3).
  package var initialAge: Int64
  /// When the response arrived, by the clock that is never set.
  package var responseTime: Timestamp
  /// The `Date` field, or the time of arrival: the most recent of several responses is used (§4).
  package var date: Timestamp
  /// `stale-while-revalidate` (RFC 5861 §3).
  package var staleWhileRevalidate: DeltaSeconds
  /// `stale-if-error` (RFC 5861 §4).
  package var staleIfError: DeltaSeconds

  /// - Parameters:
  ///   - hasValidator: whether the stored part of these fields has a validator.
  ///   - isDelimited: whether earlier fields delimited the stored content, if these fields are an update.
  static func of(
    status: Int, response: ResponseFields, hasValidator: Bool, isDelimited: Bool, times: ExchangeTimes,
    configuration: CacheEngine.Configuration
  ) -> ReuseFacts {
    // Not an initializer, because that would copy the fields and the configuration: 500 instructions.
    let directives = response.cacheControl.flags
    let isShared = configuration.kind == .shared
    var flags: Flags = []
    if directives.contains(.noCache) { flags.insert(.noCache) }
    if !directives.isDisjoint(with: [.mustRevalidate, .misplacedRevalidate])
      || (isShared
        && (directives.contains(.proxyRevalidate) || response.cacheControl.sharedMaxAge != nil))
    {
      flags.insert(.mustRevalidate)
    }
    if isDelimited || response.isDelimited {
      flags.insert(.isDelimited)
      if directives.contains(.immutable) { flags.insert(.immutable) }
    }
    if hasValidator { flags.insert(.hasValidator) }
    if !response.groups.isEmpty { flags.insert(.hasGroups) }
    if response.setsCookie, !configuration.stripsCookies { flags.insert(.setsCookie) }
    if (200...299).contains(status) { flags.insert(.isSuccessful) }
    let lifetime = FreshnessLifetime.of(
      status: status, response: response, times: times, configuration: configuration)
    let initialAge = InitialAge.milliseconds(response: response, times: times)
    if lifetime.counts(after: initialAge) { flags.insert(.hadLifetime) }
    return ReuseFacts(
      flags: flags, lifetime: lifetime, initialAge: initialAge,
      responseTime: times.response, date: response.date.date?.timestamp ?? times.arrival,
      staleWhileRevalidate: response.cacheControl.staleWhileRevalidate ?? 0,
      staleIfError: response.cacheControl.staleIfError ?? 0)
  }

  init(
    flags: Flags, lifetime: FreshnessLifetime, initialAge: Int64, responseTime: Timestamp, date: Timestamp,
    staleWhileRevalidate: DeltaSeconds, staleIfError: DeltaSeconds
  ) {
    self.flags = flags
    self.lifetime = lifetime
    self.initialAge = initialAge
    self.responseTime = responseTime
    self.date = date
    self.staleWhileRevalidate = staleWhileRevalidate
    self.staleIfError = staleIfError
  }

  /// Returns `current_age` (RFC 9111 §4.2.3) in milliseconds; never negative, even if the clock went back.
  package func currentAge(at now: Timestamp) -> Int64 {
    initialAge.saturatingAdded(Swift.max(0, now.millisecondsSince(responseTime)))
  }

  /// Returns the remaining freshness lifetime, in milliseconds; 0 or less if the response is stale.
  package func remainingLifetime(at now: Timestamp) -> Int64 {
    lifetime.milliseconds.saturatingSubtracted(currentAge(at: now))
  }

  /// Returns `current_age` in whole seconds, as in `Age`.
  package func ageInSeconds(at now: Timestamp) -> Int64 { currentAge(at: now) / 1000 }

  /// Returns the remaining freshness lifetime, in whole seconds, as the `ttl` of `Cache-Status` (RFC 9211 §2.4). It is
  /// the lifetime minus the age, both rounded down, so that the sum of `Age` and `ttl` is constant.
  package func remainingSeconds(at now: Timestamp) -> Int64 {
    lifetime.milliseconds / 1000 - ageInSeconds(at: now)
  }

  /// Whether the clock shows a time before that of storing, so that the time since then is unknown.
  ///
  /// Such a response counts as stale. It may have been stale before the clock went back, and a clock change must not
  /// make it fresh again.
  package func isFromTheFuture(at now: Timestamp) -> Bool { now < responseTime }

  /// Leaves the time from the request to the response (`response_delay`, §4.2.3) out of the age, for requests that have
  /// waited for this very response. They would not get a more recent one in less time.
  ///
  /// - Parameter times: of the exchange that brought or validated the response.
  package mutating func leaveOutDelay(of times: ExchangeTimes) {
    let apparentAge = times.arrival.seconds.saturatingSubtracted(date.seconds).saturatingMultiplied(by: 1000)
    let delay = Swift.max(0, times.response.millisecondsSince(times.request))
    initialAge = Swift.max(0, apparentAge, initialAge.saturatingSubtracted(delay))
  }

  /// Ends the freshness lifetime at a time, unless it ended before: the response is stale from then on, and its
  /// staleness counts from there.
  package mutating func expire(at now: Timestamp) {
    lifetime.milliseconds = Swift.min(lifetime.milliseconds, currentAge(at: now))
  }

  /// Returns why the response is not fresh, or `nil` if it is (§4.2).
  func staleness(at now: Timestamp) -> CacheEngine.Reason? {
    if isFromTheFuture(at: now) { return .storedInTheFuture }
    if remainingLifetime(at: now) > 0 { return nil }
    if flags.contains(.mustRevalidate) { return .staleMustRevalidate }
    return flags.contains(.hadLifetime) || staleWhileRevalidate > 0 ? .stale : .noLifetime
  }

  /// Whether a directive forbids every use without a revalidation once the response is stale (§4.2.4).
  var forbidsStale: Bool {
    !flags.isDisjoint(with: [.noCache, .mustRevalidate, .invalidated])
  }

  /// The same, where a rule may overrule `must-revalidate` and its like.
  func forbidsStale(_ decision: CacheEngine.ResponseRule.Decision?) -> Bool {
    decision?.overrulesMustRevalidate == true
      ? !flags.isDisjoint(with: [.noCache, .invalidated]) : forbidsStale
  }
}
