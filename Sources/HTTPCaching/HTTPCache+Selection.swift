// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

extension HTTPCache {
  /// Answers the conditions and the range of a request with a part of a response that a handler has just made.
  ///
  /// Without it, the first request for a response would get all of it, and the second 304 or 206.
  ///
  /// - Returns: the response with status 304, 206 or 416; `nil` if all of it answers the request.
  package func selection(of response: CachedResponse, for request: HTTPRequest) -> CachedResponse? {
    guard response.source == .network else { return nil }
    let bytes = response.body.bytes
    guard
      let (stored, selection) = engine.selection(
        of: response.head, length: bytes.map { Int64($0.count) }, for: request, now: clock.wallTime)
    else { return nil }
    var answer = response
    var head = stored.response(selection, ageInSeconds: nil, boundary: boundary)
    if let name = HTTPField.Name.cacheStatus, head.headerFields[name] == nil {
      head.headerFields[values: name] = response.head.headerFields[values: name]
    }
    answer.head = head
    let pieces = stored.pieces(of: selection, boundary: boundary).map { piece -> MessageBody.Piece in
      switch piece {
      case .text(let text): .bytes(Array(text.utf8)[...])
      case .stored(let range):
        .bytes(bytes?.dropFirst(Int(range.lowerBound)).prefix(range.count) ?? [])
      }
    }
    answer.body = request.method == .head ? .empty : MessageBody(pieces)
    return answer
  }
}
