// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Evaluates the client's own preconditions against a stored response (RFC 9111 §4.3.2).
enum Preconditions {
  /// Whether the client already has this representation.
  ///
  /// If-None-Match takes precedence over If-Modified-Since (RFC 9110 §13.2.2). Both apply only if the response would
  /// otherwise be successful (§13.2.1).
  static func isNotModified(_ stored: StoredResponse, for request: RequestFields) -> Bool {
    guard stored.facts.flags.contains(.isSuccessful) else { return false }
    if let condition = request.ifNoneMatch { return condition.matches(stored.entityTag) }
    guard let since = request.ifModifiedSince else { return false }
    let modified =
      stored.lastModified?.date
      ?? HTTPDate(stored.facts.date)  // §4.3.2: Date, or the time of arrival, if nothing better is known.
    return modified <= since
  }

  /// Whether the client's partial content belongs to the stored representation, so that a range completes it (RFC 9110
  /// §13.1.5): by strong comparison only.
  static func holds(ifRange condition: Octets, for stored: StoredResponse) -> Bool {
    if let date = HTTPDate(parsing: condition.description, now: stored.facts.responseTime) {
      guard let modified = stored.lastModified?.date, modified == date else { return false }
      // A date is a strong validator if the response was made at least a second later (§8.8.2.2).
      return stored.facts.date.seconds > modified.secondsSince1970
    }
    guard let tag = EntityTag(parsing: condition), let own = stored.entityTag else { return false }
    return own.matchesStrongly(tag)
  }
}
