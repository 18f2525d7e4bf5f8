import HTTPTypes

/// Conditional requests of the cache's own (RFC 9111 §4.3.1).
enum Validation {
  /// The client's request with preconditions that name stored responses.
  ///
  /// - Parameters:
  ///   - selected: the one response that would answer if it could; `nil` if none matches the request.
  ///   - others: further responses of the resource, whose entity tags the origin may choose from.
  /// - Returns: the request, and the positions of the responses that its preconditions name; the request unchanged
  ///   and no position where nothing has a validator.
  static func request(
    from original: HTTPRequest, client: RequestFields, selected: Int?, others: [Int],
    candidates: [StoredResponse]
  ) -> (request: HTTPRequest, nominated: [Int]) {
    var nominated: [Int] = []
    var tags: [EntityTag] = []
    for index in (selected.map { [$0] } ?? []) + others {
      guard let tag = candidates[index].entityTag else { continue }
      nominated.append(index)
      if !tags.contains(tag) { tags.append(tag) }
    }
    var lastModified: String?
    if let selected, let text = candidates[selected].lastModified?.text, others.isEmpty || tags.isEmpty {
      lastModified = text
      if !nominated.contains(selected) { nominated = [selected] }
    }
    guard !nominated.isEmpty else { return (original, []) }

    var request = original
    // §4.3.2: the union of the client's tags and ours, so that its representation can be confirmed too.
    if !tags.isEmpty, case .tags(let clientTags) = client.ifNoneMatch {
      tags += clientTags.filter { !tags.contains($0) }
    }
    request.headerFields[.ifNoneMatch] =
      tags.isEmpty ? nil : tags.map(\.fieldValue).joined(separator: ", ")
    // The client's own date is evaluated by us, once we know what is current.
    request.headerFields[.ifModifiedSince] = lastModified
    return (request, nominated)
  }
}
