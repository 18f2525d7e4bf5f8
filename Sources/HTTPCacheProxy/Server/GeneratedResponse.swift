// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import HTTPTypes

/// Responses that the proxy generates itself.
enum GeneratedResponse {
  /// Returns a status with a readable reason.
  static func text(_ status: Int, _ text: String, proxyStatus: String? = nil) -> (
    HTTPResponse, ArraySlice<UInt8>
  ) {
    var response = HTTPResponse(status: .init(standard: status))
    response.headerFields[.contentType] = "text/plain; charset=utf-8"
    // An error may be gone a moment later.
    if status >= 400 { response.headerFields[.cacheControl] = "no-store" }
    if let proxyStatus, let name = HTTPField.Name("Proxy-Status") {
      response.headerFields.append(HTTPField(name: name, value: proxyStatus))
    }
    return (response, Array((text + "\n").utf8)[...])
  }

  /// Returns the response to a request that could not be answered (RFC 9110 §15.6.3, §15.6.5; RFC 9209 §2.3).
  static func failure(_ error: any Error, name: String) -> (HTTPResponse, ArraySlice<UInt8>) {
    let internalError = "\(name); error=\(OriginError.Kind.proxyInternalError.rawValue)"
    return switch error {
    // Details of the origin, and of its failure, go only to the proxy's log.
    case let error as OriginError: failure(error, name: name)
    case let fault as MessageFault:
      text(
        fault.status, "\(fault.status): \(fault.reason).",
        proxyStatus: fault.status == 503
          ? internalError : fault.status == 508 ? "\(name); error=proxy_loop_detected" : nil)
    default: text(502, "502: the proxy failed.", proxyStatus: internalError)
    }
  }

  private static func failure(_ error: OriginError, name: String) -> (HTTPResponse, ArraySlice<UInt8>) {
    var (response, content) = text(
      error.status, "\(error.status): \(sentence(error.kind)).",
      proxyStatus: "\(name); error=\(error.kind.rawValue)")
    if let seconds = error.retryAfter { response.headerFields[.retryAfter] = "\(seconds)" }
    return (response, content)
  }

  private static func sentence(_ kind: OriginError.Kind) -> String {
    switch kind {
    case .dnsError, .unroutable, .connectionRefused, .connectionTimeout, .tlsProtocolError,
      .tlsCertificateError, .tlsAlertReceived, .destinationUnavailable:
      "the server cannot be reached"
    case .connectionLimitReached: "the server is overloaded"
    case .connectionTerminated: "the server closed the connection without a response"
    case .responseTimeout: "the server did not respond in time"
    case .responseIncomplete, .protocolError, .failureStatus: "the server sent an invalid response"
    case .proxyInternalError: "the proxy is overloaded"
    }
  }

  /// Returns the request as received, without secret fields (RFC 9110 §9.3.8).
  static func trace(_ client: ClientRequest) -> (HTTPResponse, ArraySlice<UInt8>) {
    let request = client.request
    var text =
      "TRACE \(request.path ?? "*") HTTP/\(client.version.number)\r\nHost: \(request.authority ?? "")\r\n"
    for field in request.headerFields {
      switch field.name.canonicalName {
      case "authorization", "cookie", "proxy-authorization": continue
      default: text += "\(field.name.rawName): \(field.value)\r\n"
      }
    }
    var response = HTTPResponse(status: .ok)
    response.headerFields[.contentType] = "message/http"
    return (response, Array((text + "\r\n").utf8)[...])
  }

  /// Returns the response to a request without TLS to a port with it.
  static func tlsRequired() -> (HTTPResponse, ArraySlice<UInt8>) {
    text(400, "400: this port requires TLS; use https.")
  }

  /// Returns the response that sends a client to the same target with https, with its method and content (RFC 9110 §15.4.9).
  static func redirect(_ request: HTTPRequest, toPort port: Int) -> (HTTPResponse, ArraySlice<UInt8>) {
    guard let authority = request.authority, !authority.isEmpty else {
      return text(400, "400: the request has no Host.")
    }
    // An IPv6 address has brackets, and colons inside of them.
    let isLiteral = authority.utf8.first == UInt8(ascii: "[")
    let host = isLiteral ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
    let target =
      "https://\(host)\(port == 443 ? "" : ":\(port)")\(request.path.flatMap { $0 == "*" ? nil : $0 } ?? "/")"
    var (response, content) = text(308, "308: see \(target)")
    response.headerFields[.location] = target
    return (response, content)
  }

  static func options() -> (HTTPResponse, ArraySlice<UInt8>) {
    var response = HTTPResponse(status: .noContent)
    if let name = HTTPField.Name("Allow") {
      response.headerFields.append(
        HTTPField(name: name, value: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE"))
    }
    return (response, [])
  }
}
