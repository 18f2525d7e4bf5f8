// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Makes the cache's own conditional requests (RFC 9111 §4.3.1).
package enum Validation {
  /// Maximum number of stored entity tags in one request. Each is that of another variant, which the origin compares with
  /// what it would send.
  package static let mostTags = 16
  /// Maximum bytes of these tags: servers refuse requests with fields of some KB.
  static let mostBytesOfTags = 2048

  /// Returns the client's request with preconditions that name stored responses.
  ///
  /// - Parameters:
  ///   - selected: the response that needs a revalidation to answer; `nil` if none matches the request.
  ///   - others: further responses of the resource, whose entity tags the origin may choose from: the most recent, up
  ///     to the maximum.
  /// - Returns: the request, and the positions of the responses that its preconditions name. Without any validator, the
  ///   unchanged request and no positions.
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
        // Includes the separator from the next tag. The tag of the selected response is sent however long it is.
        let size = tag.fieldBytes.count + 2
        guard size <= room && tags.count < mostTags || index == selected else { continue }
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
    // §4.3.2: the union of the client's tags and the cache's, so that the client's representation can be confirmed too.
    // If the stored response only has a date, an origin with entity tags uses the client's (RFC 9110 §13.1.3), and any
    // other the date.
    if case .tags(let clientTags) = client.ifNoneMatch {
      tags += clientTags.filter { !tags.contains($0) }
    }
    let list = Array(tags.map(\.fieldBytes).joined(separator: [UInt8(ascii: ","), 0x20]))
    request.headerFields[fields: .ifNoneMatch] =
      tags.isEmpty ? [] : [HTTPField(name: .ifNoneMatch, value: list)]
    // The cache evaluates the client's own date itself, once it knows the current response.
    request.headerFields[.ifModifiedSince] = lastModified
    return (request, nominated)
  }
}
