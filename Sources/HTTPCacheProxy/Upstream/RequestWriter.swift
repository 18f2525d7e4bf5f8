// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
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
    buffer.writeText { write(request, body, expects: expects, via: via, upgrade: upgrade, to: &$0) }
  }

  private static func write(
    _ request: HTTPRequest, _ body: MessageBody, expects: Bool, via: String, upgrade: String?,
    to text: inout ByteWriter
  ) {
    text.append(request.method.rawValue)
    text.append(literal: " ")
    text.append(request.path ?? "/")
    text.append(literal: " HTTP/1.1\r\n")
    text.appendLine("Host", request.authority ?? "")
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
        text.appendLine(field.name.rawName, String(length))
        continue
      case .te: connection.append("TE")
      case .plain, .maxForwards, .forwarding: break
      }
      text.appendLine(field)
    }
    if let length = body.length {
      // RFC 9110 §8.6: a request that normally has content states its absence.
      let anticipates = request.method == .post || request.method == .put || request.method == .patch
      if !hasLength, length > 0 || anticipates { text.appendLine("Content-Length", String(length)) }
    } else {
      text.append(literal: "Transfer-Encoding: chunked\r\n")
    }
    if expects { text.append(literal: "Expect: 100-continue\r\n") }
    text.appendLine("Via", via)
    if let upgrade {
      connection.append("Upgrade")
      text.appendLine("Upgrade", upgrade)
    }
    if !connection.isEmpty { text.appendLine("Connection", connection.joined(separator: ", ")) }
    text.append(literal: "\r\n")
  }
}
