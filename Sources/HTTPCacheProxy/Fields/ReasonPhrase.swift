// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

extension HTTPResponse.Status {
  /// Makes a status with the reason phrase of its code, which HTTP/2 does not have; an unknown code has an empty one.
  init(standard code: Int) { self.init(code: code, reasonPhrase: Self.phrases[code] ?? "") }

  /// RFC 9110 §15; RFC 8297, RFC 6585, RFC 8470, RFC 7725, RFC 4918, RFC 5842.
  private static let phrases = [
    100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints", 200: "OK",
    201: "Created",
    202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content", 205: "Reset Content",
    206: "Partial Content", 207: "Multi-Status", 300: "Multiple Choices", 301: "Moved Permanently",
    302: "Found",
    303: "See Other", 304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect",
    400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required",
    408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed",
    413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
    416: "Range Not Satisfiable",
    417: "Expectation Failed", 421: "Misdirected Request", 422: "Unprocessable Content", 423: "Locked",
    424: "Failed Dependency", 425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required",
    429: "Too Many Requests", 431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
    500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
    504: "Gateway Timeout", 505: "HTTP Version Not Supported", 507: "Insufficient Storage",
    508: "Loop Detected",
    511: "Network Authentication Required",
  ]
}

/// A version of HTTP that clients use with the proxy.
enum HTTPVersion: Hashable, Sendable, CaseIterable {
  case http10
  case http11
  case http2

  /// The version in elements that require a minor version (RFC 9110 §2.5), such as `Via`: `1.1`.
  var number: StaticString {
    switch self {
    case .http10: "1.0"
    case .http11: "1.1"
    case .http2: "2.0"
    }
  }
}
