// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import NIOCore

/// Writes the head of a request to the origin (RFC 9112 §3).
enum RequestWriter {
  static func write(_ request: OriginRequest, to buffer: inout ByteBuffer) {
    buffer.reserveCapacity(minimumWritableBytes: 1024 + (request.isWhole ? request.body.length ?? 0 : 0))
    buffer.writeText { write(request, to: &$0) }
  }

  private static func write(_ origin: OriginRequest, to text: inout ByteWriter) {
    let (request, body) = (origin.request, origin.body)
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
      case .plain, .via, .maxForwards, .forwarding, .methodOverride: break
      }
      text.appendLine(field)
    }
    if let length = body.length {
      if !hasLength, origin.announcesLength { text.appendLine("Content-Length", String(length)) }
    } else {
      text.append(literal: "Transfer-Encoding: chunked\r\n")
    }
    if origin.expects { text.append(literal: "Expect: 100-continue\r\n") }
    text.appendLine("Via", origin.via)
    if let upgrade = origin.upgrade {
      connection.append("Upgrade")
      text.appendLine("Upgrade", upgrade)
    }
    if !connection.isEmpty { text.appendLine("Connection", connection.joined(separator: ", ")) }
    text.append(literal: "\r\n")
  }
}
