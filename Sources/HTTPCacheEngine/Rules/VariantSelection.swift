import HTTPTypes

/// Which stored responses a request may be answered with (RFC 9111 §4.1).
enum VariantSelection {
  /// The positions of all candidates whose nominated fields match the request's, the most recent first (§4).
  static func matching(_ candidates: [StoredResponse], request: HTTPFields) -> [Int] {
    mostRecentFirst(candidates.indices.filter { candidates[$0].selecting.match(request) }, of: candidates)
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
