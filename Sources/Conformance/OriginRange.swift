// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The response of an origin that supports ranges to a range request (RFC 9110 §14).
///
/// It does not use the engine's own parser of ranges, because it tests that.
struct OriginRange {
  var status: Int
  var range: Range<Int>
  var contentRange: String

  /// Makes the range of the response; `nil` if the complete content is the response. That is so if there is no range or
  /// several, or if If-Range names another representation.
  ///
  /// - Parameter validators: the validators to compare with If-Range; `nil` if the origin ignores If-Range.
  init?(_ request: HTTPFields, of length: Int, validators: HTTPFields?) {
    guard let field = request[.range], field.hasPrefix("bytes="), !field.contains(",") else { return nil }
    if let validators, let condition = request[.ifRange], condition != validators[.eTag],
      condition != validators[.lastModified]
    {
      return nil
    }
    let ends = field.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    switch (Int(ends[0]), Int(ends[1])) {
    case (let first?, let last?) where first <= last:
      range = Swift.min(first, length)..<Swift.min(last + 1, length)
    case (let first?, nil) where ends[1].isEmpty: range = Swift.min(first, length)..<length
    case (nil, let count?) where ends[0].isEmpty: range = Swift.max(0, length - count)..<length
    default: return nil
    }
    status = range.isEmpty ? 416 : 206
    contentRange =
      range.isEmpty ? "bytes */\(length)" : "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
  }
}
