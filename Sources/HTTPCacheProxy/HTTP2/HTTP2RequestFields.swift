// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import NIOHPACK

/// Makes the fields of requests of HTTP/2 to the origin (RFC 9113 §8.3.1).
enum HTTP2RequestFields {
  static func fields(of origin: OriginRequest, scheme: String) -> HPACKHeaders {
    let request = origin.request
    var fields = HPACKHeaders()
    fields.reserveCapacity(24)
    fields.add(name: ":method", value: request.method.rawValue)
    fields.add(name: ":scheme", value: scheme)
    if let authority = request.authority, !authority.isEmpty {
      fields.add(name: ":authority", value: authority)
    }
    fields.add(name: ":path", value: request.path ?? "/", indexing: .nonIndexable)
    var hasLength = false
    for field in request.headerFields {
      let name = field.name.canonicalName
      switch FieldRole(name) {
      case .host, .connection, .transferEncoding, .hop, .upgrade, .expect, .proxyCredentials, .lookalike:
        continue
      case .contentLength:
        guard let length = origin.body.length, !hasLength else { continue }
        hasLength = true
        fields.add(name: name, value: "\(length)", indexing: .nonIndexable)
      // §8.2.2.
      case .te: if field.value.lowercasedASCII == "trailers" { fields.add(name: name, value: "trailers") }
      case .plain, .via, .maxForwards, .forwarding, .methodOverride:
        fields.add(name: name, value: field.value, indexing: .ofRequest(name))
      }
    }
    if let length = origin.body.length, !hasLength, origin.announcesLength {
      fields.add(name: "content-length", value: "\(length)", indexing: .nonIndexable)
    }
    if origin.expects { fields.add(name: "expect", value: "100-continue") }
    fields.add(name: "via", value: origin.via)
    return fields
  }
}

extension HPACKIndexing {
  /// Whether other requests on the connection, which are those of other clients, may refer to a field.
  fileprivate static func ofRequest(_ name: String) -> HPACKIndexing {
    // Secrets are in no table whose size shows whether a guess is right (RFC 7541 §7.1).
    if name == "authorization" || name == "cookie" { return .neverIndexed }
    return frequent.contains(name) ? .indexable : .nonIndexable
  }

  private static let frequent: Set = [
    "accept", "accept-encoding", "accept-language", "cache-control", "user-agent", "x-forwarded-host",
    "x-forwarded-proto",
  ]
}

extension HTTPResponse {
  /// Reads the fields of a response of HTTP/2 (RFC 9113 §8.3.2).
  ///
  /// - Returns: the response, and the number of bytes of its fields.
  static func reading(
    _ headers: HPACKHeaders, _ limits: ProxyConfiguration.HeadLimits
  ) throws(MessageFault) -> (head: HTTPResponse, bytes: Int) {
    var code: Int?
    var fields = HTTPFields()
    fields.reserveCapacity(16)
    var size = 0
    for (name, value, _) in headers {
      let length = name.utf8.count + value.utf8.count
      size += length
      if length > limits.lineBytes {
        throw MessageFault(502, "a field has more than \(limits.lineBytes) bytes")
      }
      if size > limits.headBytes {
        throw MessageFault(502, "the head has more than \(limits.headBytes) bytes")
      }
      guard name.utf8.first != UInt8(ascii: ":") else {
        // §8.3.
        guard name == ":status", code == nil, fields.isEmpty else {
          throw MessageFault(502, "a pseudo-field is not :status, or not at its place (RFC 9113 §8.3.2)")
        }
        code = statusCode(value)
        guard code != nil else { throw MessageFault(502, ":status is not a status code (RFC 9113 §8.3.2)") }
        continue
      }
      if fields.count >= limits.fields {
        throw MessageFault(502, "the head has more than \(limits.fields) fields")
      }
      try fields.append(parsing: name, value)
    }
    guard let code else { throw MessageFault(502, ":status is missing (RFC 9113 §8.3.2)") }
    return (HTTPResponse(status: HTTPResponse.Status(standard: code), headerFields: fields), size)
  }

  private static func statusCode(_ text: String) -> Int? {
    let digits = text.utf8
    guard digits.count == 3, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    let code = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    return code >= 100 ? code : nil
  }
}

extension HTTPFields {
  /// Reads the trailers of a message of HTTP/2 (RFC 9113 §8.1).
  static func reading(
    trailers: HPACKHeaders, _ limits: ProxyConfiguration.HeadLimits
  ) throws(MessageFault) -> HTTPFields {
    try trailers.checkTrailers(limits, status: 502)
    var fields = HTTPFields()
    for (name, value, _) in trailers { try fields.append(parsing: name, value) }
    return fields
  }

  /// Adds a field of a response. White space around its value does not belong to it, as in HTTP/1.1.
  fileprivate mutating func append(parsing name: String, _ value: String) throws(MessageFault) {
    do throws(MessageFault) {
      let (field, role) = try HTTP2Field.parse(name, value.trimmingOptionalWhitespace)
      switch role {
      // §8.2.2.
      case .connection, .transferEncoding, .upgrade, .hop:
        throw MessageFault("\(name) is a field of HTTP/1.1 (RFC 9113 §8.2.2)")
      default: append(field)
      }
    } catch {
      throw MessageFault(502, error.reason)
    }
  }
}

extension HPACKHeaders {
  /// Checks the size of a trailer section.
  ///
  /// - Parameter status: the status of a response that says so.
  func checkTrailers(_ limits: ProxyConfiguration.HeadLimits, status: Int) throws(MessageFault) {
    var size = 0
    for (name, value, _) in self { size += name.utf8.count + value.utf8.count }
    guard count <= limits.fields, size <= limits.headBytes else {
      throw MessageFault(
        status, "the trailers have more than \(limits.fields) fields, or \(limits.headBytes) bytes")
    }
  }
}
