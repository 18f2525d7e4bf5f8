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
    /// The origin reset the connection, as one does that has been closed: it has hardly read the request.
    case reset
    case unknown
  }

  var kind: Kind
  var description: String
  var reach = Reach.unknown

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  /// Whether the request may be sent again, on a new connection (RFC 9110 §9.2.2).
  ///
  /// What was not sent was not applied, whatever the method. Otherwise the request must be idempotent, and its content must
  /// be there still. An origin that ends a connection that was busy a moment ago has read the request and does not want to
  /// answer: it is not asked twice.
  ///
  /// - Parameter wasIdle: whether the connection had been idle for so long that the origin may have closed it for that.
  func allowsRetry(_ method: HTTPRequest.Method, hasContent: Bool, wasIdle: Bool) -> Bool {
    guard kind == .connectionTerminated else { return false }
    return switch reach {
    case .unsent: true
    case .reset: method.isIdempotent && hasContent
    case .unknown: method.isIdempotent && hasContent && wasIdle
    }
  }

  /// RFC 9110 §15.6.3, §15.6.5.
  var status: Int { kind == .responseTimeout || kind == .connectionTimeout ? 504 : 502 }
}
