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

  var kind: Kind
  var description: String
  /// Whether the origin has surely not read the request.
  var isReset = false

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  /// RFC 9110 §15.6.3, §15.6.5.
  var status: Int { kind == .responseTimeout || kind == .connectionTimeout ? 504 : 502 }
}
