// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The freshness lifetime of a response, and its source (RFC 9111 §4.2.1).
package struct FreshnessLifetime: Hashable, Sendable {
  /// The source of a lifetime.
  package enum Source: UInt8, Hashable, Sendable {
    /// None: the lifetime is 0.
    case none
    case sharedMaxAge
    case maxAge
    case expires
    /// A share of the time since Last-Modified (§4.2.2).
    case heuristic
    /// The application set it.
    case application
    /// A rule set it.
    case rule
  }

  package var milliseconds: Int64
  package var source: Source

  /// The lifetime in whole seconds, rounded down.
  package var seconds: Int64 { milliseconds / 1000 }

  /// - Parameters:
  ///   - status: decides whether the heuristic is allowed.
  ///   - times: the arrival replaces a missing `Date`.
  static func of(
    status: Int, response: ResponseFields, times: ExchangeTimes, configuration: CacheEngine.Configuration
  ) -> FreshnessLifetime {
    if let own = response.ownLifetime {
      // It begins when the response arrives, however old that is.
      let initialAge = InitialAge.milliseconds(response: response, times: times)
      return .init(milliseconds: own.milliseconds.saturatingAdded(initialAge), source: own.source)
    } else if response.cacheControl.contains(.misplacedTime) {
      // §4.2.1: stale. It is still an explicit time, so the heuristic does not apply.
      return .init(milliseconds: 0, source: .maxAge)
    } else if configuration.kind == .shared, let sharedMaxAge = response.cacheControl.sharedMaxAge {
      return .init(milliseconds: sharedMaxAge.milliseconds, source: .sharedMaxAge)
    } else if let maxAge = response.cacheControl.maxAge {
      return .init(milliseconds: maxAge.milliseconds, source: .maxAge)
    } else if response.expires != .absent {
      // §5.3: an invalid date is in the past. Both dates are the origin's, so its clock may be wrong.
      let date = response.date.date?.timestamp ?? times.arrival
      let lifetime = response.expires.date.map { $0.timestamp.millisecondsSince(date) } ?? 0
      return .init(milliseconds: Swift.max(0, lifetime), source: .expires)
    } else if let heuristic = heuristic(
      status: status, response: response, arrival: times.arrival, configuration: configuration)
    {
      return .init(milliseconds: heuristic, source: .heuristic)
    } else {
      return .init(milliseconds: 0, source: .none)
    }
  }

  init(milliseconds: Int64, source: Source) {
    self.milliseconds = milliseconds
    self.source = source
  }

  /// Whether the response may be used by others than those whom the origin made it for: the origin, the application or a rule
  /// gave it a lifetime greater than 0, or the heuristic one of at least a second.
  ///
  /// An origin that says `max-age=0`, or nothing, may answer each visitor with a page of their own. A heuristic below a second
  /// is that of a page made when it was requested.
  ///
  /// - Parameter initialAge: the age of the response when it arrived, in milliseconds.
  func counts(after initialAge: Int64) -> Bool {
    switch source {
    case .none: false
    case .heuristic: milliseconds >= 1000
    // They begin when the response arrives.
    case .application, .rule: milliseconds > initialAge
    case .sharedMaxAge, .maxAge, .expires: milliseconds > 0
    }
  }

  /// Returns the heuristic lifetime (§4.2.2): none if the origin sent an explicit time, and only if the status code or
  /// `public` allows it. In a shared cache, none with cookies: see ``SharedCookies``.
  private static func heuristic(
    status: Int, response: ResponseFields, arrival: Timestamp, configuration: CacheEngine.Configuration
  ) -> Int64? {
    guard configuration.usesHeuristics, configuration.kind == .private || !response.setsCookie,
      let lastModified = response.lastModified.date,
      Storability.isHeuristicallyCacheable(status) || response.cacheControl.contains(.isPublic)
    else { return nil }
    let date = response.date.date?.timestamp ?? arrival
    let sinceModified = date.millisecondsSince(lastModified.timestamp)
    guard sinceModified > 0 else { return nil }
    let share = sinceModified.saturatingMultiplied(by: Int64(configuration.heuristicPercent)) / 100
    return Swift.min(share, configuration.heuristicMaximum.wholeMilliseconds)
  }
}

/// The age of a response when it arrived (RFC 9111 §4.2.3), in milliseconds.
enum InitialAge {
  /// Returns `corrected_initial_age`, in its conservative form; never negative, whatever the fields contain.
  static func milliseconds(response: ResponseFields, times: ExchangeTimes) -> Int64 {
    // Date has whole seconds, so the difference is computed in whole seconds too.
    let apparentAge = response.date.date.map {
      times.arrival.seconds.saturatingSubtracted($0.secondsSince1970).saturatingMultiplied(by: 1000)
    }
    let delay = Swift.max(0, times.response.millisecondsSince(times.request))
    let correctedAge = (response.age?.milliseconds ?? 0).saturatingAdded(delay)
    return Swift.max(apparentAge ?? 0, correctedAge)
  }
}

extension FreshnessLifetime.Source {
  /// The section that defines a lifetime from this source.
  package var section: String {
    switch self {
    case .none: "RFC 9111 §4.2.1"
    case .sharedMaxAge: "RFC 9111 §5.2.2.10"
    case .maxAge: "RFC 9111 §5.2.2.1"
    case .expires: "RFC 9111 §5.3"
    case .heuristic: "RFC 9111 §4.2.2"
    case .application: "Application"
    case .rule: "Rule"
    }
  }

  /// How the lifetime was determined, in one sentence.
  package var sentence: String {
    switch self {
    case .none: "The response has neither an explicit nor a heuristic lifetime."
    case .sharedMaxAge: "The lifetime is s-maxage, which is for shared caches."
    case .maxAge: "The lifetime is max-age."
    case .expires: "The lifetime is Expires minus Date; an invalid date counts as expired."
    case .heuristic:
      "The lifetime is heuristic: a share of the time from Last-Modified to Date, up to a limit."
    case .application: "The lifetime is set by the application."
    case .rule: "The lifetime is set by a rule."
    }
  }
}
