import HTTPTypes

/// Preconditions that the client itself sent, evaluated against a stored response (RFC 9111 §4.3.2).
enum Preconditions {
  /// Whether the client has this representation already.
  ///
  /// If-None-Match comes before If-Modified-Since (RFC 9110 §13.2.2), and both apply only where the answer would
  /// otherwise be successful (§13.2.1).
  static func isNotModified(_ stored: StoredResponse, for request: RequestFields) -> Bool {
    guard stored.facts.flags.contains(.isSuccessful) else { return false }
    if let condition = request.ifNoneMatch { return condition.matches(stored.entityTag) }
    guard let since = request.ifModifiedSince else { return false }
    let modified =
      stored.lastModified?.date
      ?? HTTPDate(stored.facts.date)  // §4.3.2: Date, or the time of arrival, where nothing better is known.
    return modified <= since
  }
}
