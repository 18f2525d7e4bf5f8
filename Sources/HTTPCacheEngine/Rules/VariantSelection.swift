// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Which stored responses a request may be answered with (RFC 9111 §4.1).
enum VariantSelection {
  /// The positions of all candidates whose nominated fields match the request's, the most recent first (§4).
  ///
  /// If the configuration negotiates languages and none match, those in the language that the request prefers do.
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

  /// The one that answers, of those that match: the most recent (§4).
  ///
  /// Some resources leave `Vary` out of the response to a request without preferences; while there is a fresh one that
  /// was chosen for requests like this, it is preferred (§4.1).
  static func chosen(_ matching: [Int], of candidates: [StoredResponse], at now: Timestamp) -> Int? {
    guard matching.count > 1, candidates[matching[0]].selecting.count == 0 else { return matching.first }
    return matching.first {
      let candidate = candidates[$0]
      return candidate.selecting.count > 0 && !candidate.facts.forbidsFreshUse
        && candidate.facts.staleness(at: now) == nil
    } ?? matching.first
  }

  /// Positions of candidates, those with the latest `Date` first.
  static func mostRecentFirst(_ positions: [Int], of candidates: [StoredResponse]) -> [Int] {
    guard positions.count > 1 else { return positions }
    return positions.sorted {
      let (left, right) = (candidates[$0].facts, candidates[$1].facts)
      return (left.date, left.responseTime) > (right.date, right.responseTime)
    }
  }
}
