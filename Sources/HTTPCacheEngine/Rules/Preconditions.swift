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
    return isNotModified(
      stored.entityTag,
      // §4.3.2: Date, or the time of arrival, if nothing better is known.
      stored.lastModified?.date ?? HTTPDate(stored.facts.date), for: request)
  }

  /// The same for a representation with these validators.
  @inline(__always)
  static func isNotModified(
    _ tag: @autoclosure () -> EntityTag?, _ lastModified: @autoclosure () -> HTTPDate?,
    for request: RequestFields
  ) -> Bool {
    if let condition = request.ifNoneMatch { return condition.matches(tag()) }
    guard let since = request.ifModifiedSince, let modified = lastModified() else { return false }
    return modified <= since
  }

  /// Whether the client's partial content belongs to the stored representation, so that a range completes it (RFC 9110
  /// §13.1.5): by strong comparison only.
  static func holds(ifRange condition: Octets, for stored: StoredResponse) -> Bool {
    if let date = HTTPDate(parsing: condition.description, now: stored.facts.responseTime) {
      // A weak tag may be that of several versions of the bytes. A 304 that confirms it brings the date of the latest.
      guard stored.entityTag?.isWeak != true, let modified = stored.lastModified?.date, modified == date
      else { return false }
      // A date is a strong validator if the response was made at least a second later (§8.8.2.2).
      return stored.facts.date.seconds > modified.secondsSince1970
    }
    guard let tag = EntityTag(parsing: condition), let own = stored.entityTag else { return false }
    return own.matchesStrongly(tag)
  }
}

extension CacheEngine {
  /// What the conditions of a request say about a representation.
  package enum ConditionResult: Hashable, Sendable {
    /// The request is to be carried out.
    case met
    /// The client has the representation: 304 (Not Modified).
    case notModified
    /// The client means another one: 412 (Precondition Failed).
    case failed
  }

  /// Evaluates all conditions of a request in the place of an origin, which knows the validators of the representation before
  /// it makes the content (RFC 9110 §13.2.2).
  ///
  /// - Parameters:
  ///   - tag: the entity tag of the representation; `nil` if it has none.
  ///   - lastModified: its modification date; `nil` if it has none.
  ///   - now: needed for two-digit years only.
  package static func evaluateConditions(
    of request: HTTPRequest, entityTag tag: EntityTag?, lastModified: HTTPDate?, now: Timestamp
  ) -> ConditionResult {
    let fields = RequestFields.of(request, now: now)
    if fields.hasOriginPrecondition {
      let lines = request.headerFields[fields: .ifMatch].map { Octets(valueOf: $0) }
      if !lines.isEmpty {
        guard EntityTagCondition(parsing: lines).matchesStrongly(tag) else { return .failed }
      } else if let lastModified,
        let date = HTTPDate(parsing: request.headerFields[.ifUnmodifiedSince] ?? "", now: now),
        lastModified > date
      {
        return .failed
      }
    }
    let isRetrieval = request.method.isRetrieval || request.method == .head
    if fields.ifNoneMatch != nil || isRetrieval,
      Preconditions.isNotModified(tag, lastModified, for: fields)
    {
      return isRetrieval ? .notModified : .failed
    }
    return .met
  }
}
