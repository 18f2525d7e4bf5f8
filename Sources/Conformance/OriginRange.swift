// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// What an origin that knows ranges answers to one (RFC 9110 §14).
///
/// It is written apart from the engine's own reading of ranges, which it is there to try.
struct OriginRange {
  var status: Int
  var range: Range<Int>
  var contentRange: String

  /// - Parameter validators: what If-Range is compared with; `nil` if it is not heeded.
  ///
  /// `nil` where the whole is the answer: there is no range, or several, or If-Range names something else.
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
