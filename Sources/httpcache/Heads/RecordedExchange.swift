// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// A request and its final response, as they were found in the input.
struct RecordedExchange: Hashable {
  /// `nil` where the input shows responses only.
  var request: RecordedRequest?
  var response: HTTPResponse
  /// The line of the response's status line.
  var line: Int
  /// Whether the input shows no status code, and 200 stands for it.
  var isStatusAssumed = false
}

/// A request head, with its target as it was written.
struct RecordedRequest: Hashable {
  var method: HTTPRequest.Method
  /// `/path?query`, or a whole URI.
  var target: String
  /// Without `Host`.
  var fields: HTTPFields
  var host: String?
  /// Whether the connection was seen to be encrypted; `nil` where the input does not say.
  var isEncrypted: Bool?
}
