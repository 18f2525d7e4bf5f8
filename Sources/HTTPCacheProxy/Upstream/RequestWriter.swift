// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore

/// Writes the head of a request to the origin (RFC 9112 §3).
enum RequestWriter {
  /// - Parameters:
  ///   - expects: whether the origin must confirm before it gets the content (RFC 9110 §10.1.1).
  ///   - upgrade: the protocols that the origin may switch to (RFC 9110 §7.8).
  ///   - via: the text that is added to `Via` (RFC 9110 §7.6.3).
  static func write(
    _ request: HTTPRequest, _ body: MessageBody, expects: Bool, via: String, upgrade: String? = nil,
    to buffer: inout ByteBuffer
  ) {
    buffer.reserveCapacity(minimumWritableBytes: 1024 + (body.isInMemory ? body.length ?? 0 : 0))
    buffer.writeString(request.method.rawValue)
    buffer.writeString(" ")
    buffer.writeString(request.path ?? "/")
    buffer.writeString(" HTTP/1.1\r\nHost: ")
    buffer.writeString(request.authority ?? "")
    buffer.writeString("\r\n")
    var hasLength = false
    var connection: [String] = []
    for field in request.headerFields {
      switch FieldRole(field.name.canonicalName) {
      case .host, .connection, .transferEncoding, .hop, .upgrade, .expect, .proxyCredentials, .lookalike:
        continue
      case .contentLength:
        // The content's own length, in the position where the client has the field.
        guard let length = body.length, !hasLength else { continue }
        hasLength = true
        buffer.write(name: field.name.rawName, value: String(length))
        continue
      case .te: connection.append("TE")
      case .plain, .maxForwards, .forwarding: break
      }
      buffer.write(field)
    }
    if let length = body.length {
      // RFC 9110 §8.6: a request that normally has content states its absence.
      let anticipates = request.method == .post || request.method == .put || request.method == .patch
      if !hasLength, length > 0 || anticipates { buffer.write(name: "Content-Length", value: String(length)) }
    } else {
      buffer.writeString("Transfer-Encoding: chunked\r\n")
    }
    if expects { buffer.writeString("Expect: 100-continue\r\n") }
    buffer.write(name: "Via", value: via)
    if let upgrade {
      connection.append("Upgrade")
      buffer.write(name: "Upgrade", value: upgrade)
    }
    if !connection.isEmpty { buffer.write(name: "Connection", value: connection.joined(separator: ", ")) }
    buffer.writeString("\r\n")
  }
}

extension ByteBuffer {
  mutating func write(_ field: HTTPField) {
    writeString(field.name.rawName)
    writeStaticString(": ")
    field.withUnsafeBytesOfValue { _ = writeBytes($0) }
    writeStaticString("\r\n")
  }

  mutating func write(name: String, value: String) {
    writeString(name)
    writeStaticString(": ")
    writeString(value)
    writeStaticString("\r\n")
  }
}
