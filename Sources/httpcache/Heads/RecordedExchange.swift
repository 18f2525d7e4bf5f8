// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// A request and its final response, as found in the input.
struct RecordedExchange: Hashable {
  /// `nil` if the input shows only responses.
  var request: RecordedRequest?
  var response: HTTPResponse
  /// The line of the response's status line.
  var line: Int
  /// Whether the input shows no status code, so that 200 is assumed.
  var isStatusAssumed = false
}

/// A request head, with its target as written.
struct RecordedRequest: Hashable {
  var method: HTTPRequest.Method
  /// `/path?query`, or a whole URI.
  var target: String
  /// Without `Host`.
  var fields: HTTPFields
  var host: String?
  /// Whether the connection was encrypted; `nil` if the input does not say.
  var isEncrypted: Bool?
}
