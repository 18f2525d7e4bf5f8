// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Selects the stored responses that may answer a request (RFC 9111 §4.1).
enum VariantSelection {
  /// Returns the positions of all candidates whose nominated fields match the request's, the most recent first (§4).
  ///
  /// If none match and the configuration negotiates languages, returns those in the language that the request prefers.
  static func matching(
    _ candidates: [StoredResponse], request: HTTPFields, _ configuration: CacheEngine.Configuration
  ) -> [Int] {
    func filtered(_ matches: (StoredResponse) -> Bool) -> [Int] {
      mostRecentFirst(
        candidates.indices.filter {
          matches(candidates[$0]) && !SharedCookies.exclude(candidates[$0], configuration)
        }, of: candidates)
    }
    let matching = filtered { $0.selecting.match(request) }
    guard matching.isEmpty, configuration.negotiatesLanguage else { return matching }
    return filtered { LanguageNegotiation.prefers($0, request: request) }
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
