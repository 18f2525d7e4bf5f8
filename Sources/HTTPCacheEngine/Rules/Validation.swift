// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Conditional requests of the cache's own (RFC 9111 §4.3.1).
enum Validation {
  /// The most bytes of entity tags that name responses of ours in one request. A resource may have any number of variants,
  /// and servers refuse requests with fields of some KB.
  static let mostBytesOfTags = 2048

  /// The client's request with preconditions that name stored responses.
  ///
  /// - Parameters:
  ///   - selected: the one response that would answer if it could; `nil` if none matches the request.
  ///   - others: further responses of the resource, whose entity tags the origin may choose from: the most recent, as far
  ///     as there is room for them.
  /// - Returns: the request, and the positions of the responses that its preconditions name; the request unchanged
  ///   and no position where nothing has a validator.
  static func request(
    from original: HTTPRequest, client: RequestFields, selected: Int?, others: [Int],
    candidates: [StoredResponse]
  ) -> (request: HTTPRequest, nominated: [Int]) {
    var nominated: [Int] = []
    var tags: [EntityTag] = []
    var room = mostBytesOfTags
    for index in (selected.map { [$0] } ?? []) + VariantSelection.mostRecentFirst(others, of: candidates) {
      guard let tag = candidates[index].entityTag else { continue }
      if !tags.contains(tag) {
        // With what separates it from the next. What would answer if it could is asked about however long its tag is.
        let size = tag.fieldValue.utf8.count + 2
        guard size <= room || index == selected else { continue }
        room -= size
        tags.append(tag)
      }
      nominated.append(index)
    }
    var lastModified: String?
    if let selected, let text = candidates[selected].modification?.text, others.isEmpty || tags.isEmpty {
      lastModified = text
      if !nominated.contains(selected) { nominated = [selected] }
    }
    guard !nominated.isEmpty else { return (original, []) }

    var request = original
    // §4.3.2: the union of the client's tags and ours, so that its representation can be confirmed too. Where ours has only a
    // date, an origin that has entity tags goes by the client's (RFC 9110 §13.1.3), and any other by the date.
    if case .tags(let clientTags) = client.ifNoneMatch {
      tags += clientTags.filter { !tags.contains($0) }
    }
    request.headerFields[.ifNoneMatch] =
      tags.isEmpty ? nil : tags.map(\.fieldValue).joined(separator: ", ")
    // The client's own date is evaluated by us, once we know what is current.
    request.headerFields[.ifModifiedSince] = lastModified
    return (request, nominated)
  }
}
