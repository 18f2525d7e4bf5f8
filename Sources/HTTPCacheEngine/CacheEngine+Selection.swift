// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

extension CacheEngine {
  /// Returns the part of a response's content that answers the conditions and the range of its request (RFC 9110
  /// §13.2.2), in the place of an origin that evaluates neither.
  ///
  /// - Parameters:
  ///   - head: a complete response, not from the store.
  ///   - length: the length of its content; `nil` if it is unknown, so that no range can be cut.
  /// - Returns: the selection and the response in the form that it is made from; `nil` if all of the content answers.
  package func selection(
    of head: HTTPResponse, length: Int64?, for request: HTTPRequest, now: Timestamp
  ) -> (response: StoredResponse, selection: ContentSelection)? {
    guard head.status == .ok, request.method == .get || request.method == .head else { return nil }
    var fields = RequestFields.of(request, now: now)
    // An origin without Last-Modified ignores the condition (§13.1.3). A cache would compare it with the time of arrival.
    if !head.headerFields.contains(.lastModified) { fields.ifModifiedSince = nil }
    // The handler must evaluate the preconditions that come first (§13.2.2).
    guard !fields.hasOriginPrecondition,
      fields.ifNoneMatch != nil || fields.ifModifiedSince != nil || fields.range != nil
    else { return nil }
    let parsed = ResponseFields.of(head.headerFields, now: now, lifetime: nil, configuration)
    // The client gets the response itself, with the fields that are not stored.
    var response = Freshening.make(
      status: head.status, KeptFields(head.headerFields), parsed,
      selecting: .init(fields: [], isUnmatchable: false),
      times: ExchangeTimes(request: now, response: now, arrival: now), configuration: configuration)
    response.contentLength = length
    guard let selection = ContentSelection.of(response, for: fields), selection != .whole else { return nil }
    return (response, selection)
  }
}
