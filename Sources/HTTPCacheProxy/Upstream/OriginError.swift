// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Why the origin gave no response, in the terms of `Proxy-Status` (RFC 9209 §2.3).
struct OriginError: Error, CustomStringConvertible {
  enum Kind: String, Sendable {
    case connectionRefused = "connection_refused"
    case connectionTimeout = "connection_timeout"
    case connectionTerminated = "connection_terminated"
    case responseTimeout = "http_response_timeout"
    case responseIncomplete = "http_response_incomplete"
    case protocolError = "http_protocol_error"
    case destinationUnavailable = "destination_unavailable"
  }

  /// What is known of how far a request came.
  enum Reach: Sendable, CaseIterable {
    /// No byte was written.
    case unsent
    /// It was written, and the connection ended before the first byte of a response.
    case unanswered
    /// A response had begun.
    case answered
  }

  var kind: Kind
  var description: String
  var reach = Reach.answered

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  /// Whether a request that was sent on a connection that had served others may be sent again, on a new connection.
  ///
  /// An origin may close an idle connection at any time, also while a request is on its way (RFC 9112 §9.5). What was not
  /// sent was not applied, whatever the method. Otherwise the request must be idempotent, its content must be there still,
  /// and nothing of a response may have come (RFC 9110 §9.2.2). The proxy cannot know whether such an origin has read the
  /// request: it may get an idempotent one twice.
  func allowsRetry(_ method: HTTPRequest.Method, hasContent: Bool) -> Bool {
    guard kind == .connectionTerminated else { return false }
    return switch reach {
    case .unsent: true
    case .unanswered: method.isIdempotent && hasContent
    case .answered: false
    }
  }

  /// RFC 9110 §15.6.3, §15.6.5.
  var status: Int { kind == .responseTimeout || kind == .connectionTimeout ? 504 : 502 }
}
