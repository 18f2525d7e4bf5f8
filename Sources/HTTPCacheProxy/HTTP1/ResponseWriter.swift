// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore

/// Writes the heads of responses (RFC 9112 §4).
struct ResponseWriter {
  /// What is added to `Via`: that the origin's response is of HTTP/1.1 (RFC 9110 §7.6.3).
  let via: String
  let dates: DateCache

  init(name: String, dates: DateCache) {
    via = "1.1 \(name)"
    self.dates = dates
  }

  func write(_ head: ResponseHead, closes: Bool, to buffer: inout ByteBuffer) {
    switch head.heading {
    case .made(let response, let status):
      buffer.writeText { write(head, response, status, closes: closes, to: &$0) }
    case .stored(let stored):
      var isWritten = false
      buffer.writeText { isWritten = write(stored, framing: head.framing, closes: closes, to: &$0) }
      if !isWritten { buffer.writeText { write(head, stored.response, nil, closes: closes, to: &$0) } }
    }
  }

  /// Writes a head from its fields.
  private func write(
    _ head: ResponseHead, _ response: HTTPResponse, _ status: CacheStatus?, closes: Bool,
    to text: inout ByteWriter
  ) {
    text.appendStatus(response.status)
    var fields = FramedFields(framing: head.framing, statusCode: head.statusCode)
    func write(_ field: HTTPField, to text: inout ByteWriter) {
      switch fields.replacement(of: FieldKind(field.name)) {
      case .none: text.appendLine(field)
      case .nothing: break
      case .length(let count): text.appendLength(count)
      }
    }
    if head.isStored {
      for field in response.headerFields { write(field, to: &text) }
    } else {
      // RFC 9110 §15.5.22: 426 names the protocol to switch to.
      response.headerFields.forEachEndToEnd(keepsUpgrade: head.statusCode == 426) { write($0, to: &text) }
    }
    if let status { text.appendLine(status) }
    end(fields, closes: closes, to: &text)
  }

  /// Writes a head from its stored form; returns `false`, and writes nothing, if it must be written from its fields.
  private func write(
    _ stored: StoredHeading, framing: ResponseFraming, closes: Bool, to text: inout ByteWriter
  ) -> Bool {
    var fields = FramedFields(framing: framing, statusCode: stored.statusCode)
    var hasAge = false
    func writeAge(to text: inout ByteWriter) {
      if hasAge { return }
      hasAge = true
      text.append(literal: "Age: ")
      text.append(decimal: stored.ageInSeconds)
      text.append(literal: "\r\n")
    }
    var out = text
    let isRead = stored.read { code, phrase in
      out.appendStatus(code)
      out.append(phrase)
      out.append(literal: "\r\n")
    } line: { kind, name, value in
      // The current age takes the place of the stored one (RFC 9111 §5.1).
      if kind == .age { return writeAge(to: &out) }
      switch fields.replacement(of: kind) {
      case .none:
        out.append(name)
        out.append(literal: ": ")
        out.append(value)
        out.append(literal: "\r\n")
      case .nothing: break
      case .length(let count): out.appendLength(count)
      }
    }
    guard isRead else { return false }
    text = out
    writeAge(to: &text)
    text.appendLine(stored.cacheStatus)
    end(fields, closes: closes, to: &text)
    return true
  }

  /// Writes what follows the lines of the response.
  private func end(_ fields: FramedFields, closes: Bool, to text: inout ByteWriter) {
    if let length = fields.missingLength { text.appendLength(length) }
    if fields.framing == .chunked { text.append(literal: "Transfer-Encoding: chunked\r\n") }
    if !fields.hasDate { text.append(dates.line) }
    text.append(literal: "Via: ")
    text.append(via)
    text.append(literal: "\r\n")
    if closes || fields.framing == .untilClose { text.append(literal: "Connection: close\r\n") }
    text.append(literal: "\r\n")
  }

  /// An interim response has no framing, and nothing is added to it (RFC 9110 §15.2).
  ///
  /// - Parameter keepsUpgrade: whether the response switches protocols.
  func writeInterim(_ response: HTTPResponse, keepsUpgrade: Bool = false, to buffer: inout ByteBuffer) {
    buffer.writeText { text in
      text.appendStatus(response.status)
      response.headerFields.forEachEndToEnd(keepsUpgrade: keepsUpgrade) { field in
        if FieldKind(field.name) != .contentLength { text.appendLine(field) }
      }
      text.append(literal: "\r\n")
    }
  }
}

extension ByteWriter {
  fileprivate mutating func appendStatus(_ status: HTTPResponse.Status) {
    appendStatus(status.code)
    append(status.reasonPhrase)
    append(literal: "\r\n")
  }

  /// Writes the status line up to the reason phrase.
  fileprivate mutating func appendStatus(_ code: Int) {
    append(literal: "HTTP/1.1 ")
    append(decimal: Int64(code))
    append(literal: " ")
  }

  fileprivate mutating func appendLine(_ status: CacheStatus) {
    append(literal: "Cache-Status: ")
    status.write(to: &self)
    append(literal: "\r\n")
  }

  fileprivate mutating func appendLength(_ count: Int) {
    append(literal: "Content-Length: ")
    append(decimal: Int64(count))
    append(literal: "\r\n")
  }
}
