import HTTPTypes

/// Which stored responses a request may be answered with (RFC 9111 §4.1).
enum VariantSelection {
  /// The positions of all candidates whose nominated fields match the request's, the most recent first (§4).
  static func matching(_ candidates: [StoredResponse], request: HTTPFields) -> [Int] {
    var matching = candidates.indices.filter { candidates[$0].selecting.match(request) }
    if matching.count > 1 {
      matching.sort {
        let (left, right) = (candidates[$0].facts, candidates[$1].facts)
        return (left.date, left.responseTime) > (right.date, right.responseTime)
      }
    }
    return matching
  }
}
