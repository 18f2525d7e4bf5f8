// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Makes the cache's own conditional requests (RFC 9111 §4.3.1).
enum Validation {
  /// Returns the client's request with preconditions that name a stored response; `nil` if that has no validator.
  static func request(
    from original: HTTPRequest, client: RequestFields, of stored: StoredResponse
  ) -> HTTPRequest? {
    var tags = stored.entityTag.map { [$0] } ?? []
    let lastModified = stored.modification?.text
    if tags.isEmpty, lastModified == nil { return nil }
    // §4.3.2: the union of the client's tags and the cache's, so that the client's representation can be confirmed too.
    // If the stored response only has a date, an origin with entity tags uses the client's (RFC 9110 §13.1.3), and any
    // other the date.
    if case .tags(let clientTags) = client.ifNoneMatch {
      tags += clientTags.filter { !tags.contains($0) }
    }
    var request = original
    let list = Array(tags.map(\.fieldBytes).joined(separator: [UInt8(ascii: ","), 0x20]))
    request.headerFields[fields: .ifNoneMatch] =
      tags.isEmpty ? [] : [HTTPField(name: .ifNoneMatch, value: list)]
    // The cache evaluates the client's own date itself, once it knows the current response.
    request.headerFields[.ifModifiedSince] = lastModified
    return request
  }
}
