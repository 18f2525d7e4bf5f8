// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Selects the stored responses that may answer a request (RFC 9111 §4.1).
enum VariantSelection {
  /// Returns the names of the request's fields that select a response: those that its `Vary` or a rule nominates, and
  /// `Authorization` where a private cache keeps users apart (``CacheEngine/Configuration/separatesCredentials``).
  static func names(
    of response: ResponseFields, for request: HTTPFields, _ configuration: CacheEngine.Configuration
  ) -> VaryField {
    if let names = configuration.ruling?.selectingNames, !names.isEmpty {
      return names.reduce(own(response, request, configuration)) { $0.adding($1) }
    }
    return own(response, request, configuration)
  }

  @inline(__always)
  private static func own(
    _ response: ResponseFields, _ request: HTTPFields, _ configuration: CacheEngine.Configuration
  ) -> VaryField {
    guard configuration.separatesCredentials, configuration.kind == .private,
      // With these, the origin declares that the response may answer other users (§3.5). `must-revalidate` permits it
      // too, but origins mean freshness by it.
      !response.cacheControl.contains(.isPublic), response.cacheControl.sharedMaxAge == nil,
      request.contains(.authorization)
    else { return response.vary }
    return response.vary.adding("authorization")
  }

  /// The most frequent result, as a constant that needs no separate memory.
  private static let first = [0]

  /// Returns the positions of all candidates whose nominated fields match the request's, the most recent first (§4).
  ///
  /// If none match and the configuration negotiates languages, returns those in the language that the request prefers.
  static func matching(
    _ candidates: [StoredResponse], request: HTTPFields, _ configuration: CacheEngine.Configuration
  ) -> [Int] {
    if candidates.isEmpty { return [] }
    var selection = RequestSelection()
    // Loops: a closure would copy the configuration.
    var matching: [Int] = []
    for position in candidates.indices
    where candidates[position].selecting.match(request, &selection, configuration)
      && !SharedCookies.exclude(candidates[position], configuration)
    { if position == 0 { matching = first } else { matching.append(position) } }
    if let names = configuration.ruling?.selectingNames, !names.isEmpty {
      // What was stored before a rule nominated the field answers no request that the rule concerns.
      matching.removeAll { position in
        let own = candidates[position].selecting.fields.map(\.name)
        return !names.allSatisfy { own.contains($0) }
      }
    }
    if matching.isEmpty, configuration.negotiatesLanguage,
      let language = LanguageNegotiation.preferred(by: request)
    {
      for position in candidates.indices
      where LanguageNegotiation.is(candidates[position], in: language, request, &selection, configuration)
        && !SharedCookies.exclude(candidates[position], configuration)
      { matching.append(position) }
    }
    return mostRecentFirst(matching, of: candidates)
  }

  /// Returns the matching response that answers: the most recent (§4).
  ///
  /// Some resources omit `Vary` in the response to a request without preferences. While there is a fresh response that
  /// was selected for such requests, it is preferred (§4.1).
  static func chosen(_ matching: [Int], of candidates: [StoredResponse], at now: Timestamp) -> Int? {
    guard matching.count > 1, candidates[matching[0]].selecting.count == 0 else { return matching.first }
    return matching.first {
      let candidate = candidates[$0]
      return candidate.selecting.count > 0 && !candidate.facts.forbidsFreshUse
        && candidate.facts.staleness(at: now) == nil
    } ?? matching.first
  }

  /// Returns positions of candidates, those with the latest `Date` first.
  static func mostRecentFirst(_ positions: [Int], of candidates: [StoredResponse]) -> [Int] {
    guard positions.count > 1 else { return positions }
    return positions.sorted {
      let (left, right) = (candidates[$0].facts, candidates[$1].facts)
      return (left.date, left.responseTime) > (right.date, right.responseTime)
    }
  }
}

extension CacheEngine {
  /// Returns the variant keys that responses to a request have, one for each list of names that `Vary` nominates.
  ///
  /// The stored response that a request selects has one of them, so it can be looked up: no other is compared with the
  /// request (RFC 9111 §4.1).
  ///
  /// - Parameter lists: lists of names in lowercase, each sorted.
  /// - Complexity: O(bytes of the nominated fields): each is read once, however many lists nominate it.
  package func variantKeys(of request: HTTPFields, on lists: [[String]]) -> [[UInt8]] {
    var selection = RequestSelection()
    return lists.map { names in
      let fields = names.map { selection.field(named: $0, in: request, configuration) }
      return SelectingFields(fields: fields, isUnmatchable: false).variantKey
    }
  }
}

extension StoredResponse {
  /// The names of the fields that select the response, in lowercase and sorted; `nil` if it varies on `*`.
  package var selectingNames: [String]? { selecting.isUnmatchable ? nil : selecting.fields.map(\.name) }

  /// The variant keys of responses that no fields select: without `Vary`, and with `Vary: *`.
  package static let unselectedVariantKeys = [
    SelectingFields.none.variantKey, SelectingFields(fields: [], isUnmatchable: true).variantKey,
  ]
}
