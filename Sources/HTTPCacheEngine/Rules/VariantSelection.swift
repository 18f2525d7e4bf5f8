import HTTPTypes

/// Which stored responses a request may be answered with (RFC 9111 §4.1).
enum VariantSelection {
  /// The positions of all candidates whose nominated fields match the request's, the most recent first (§4).
  ///
  /// - Parameter negotiatesLanguage: whether those in the language that the request prefers match too.
  static func matching(
    _ candidates: [StoredResponse], request: HTTPFields, negotiatesLanguage: Bool
  ) -> [Int] {
    let matching = mostRecentFirst(
      candidates.indices.filter { candidates[$0].selecting.match(request) }, of: candidates)
    guard matching.isEmpty, negotiatesLanguage else { return matching }
    return mostRecentFirst(
      candidates.indices.filter { LanguageNegotiation.prefers(candidates[$0], request: request) },
      of: candidates)
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
