// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore

/// How the content of a response is framed for the client (RFC 9112 §6, RFC 9113 §8.1).
enum ResponseFraming: Hashable, Sendable {
  /// No content, whatever Content-Length says: HEAD, 1xx, 204, 304.
  case none
  case length(Int)
  /// In HTTP/2, by its frames.
  case chunked
  case untilClose
}

/// A final response to a client, before its content.
struct ResponseHead: Sendable {
  let heading: CachedResponse.Heading
  let statusCode: Int
  let framing: ResponseFraming
  /// Where the response comes from, for the log and the counters.
  let provenance: Provenance
  /// Whether the response comes from the store, which keeps no fields that concern a connection, or from the proxy.
  let isStored: Bool

  /// - Parameter length: the length of the content, if known.
  init(
    _ response: HTTPResponse, to method: HTTPRequest.Method, in version: HTTPVersion, isStored: Bool,
    length: Int?, _ provenance: Provenance = Provenance(.generated)
  ) {
    let length = length ?? response.headerFields[.contentLength].flatMap { Int($0) }
    self.init(
      .made(response, adding: nil), response.status.code, to: method, in: version, isStored: isStored,
      length: length, provenance)
  }

  init(_ response: CachedResponse, to method: HTTPRequest.Method, in version: HTTPVersion) {
    var length = response.body.length
    let statusCode: Int
    switch response.heading {
    case .made(let response, _):
      statusCode = response.status.code
      length = length ?? response.headerFields[.contentLength].flatMap { Int($0) }
    case .stored(let heading): statusCode = heading.statusCode
    }
    self.init(
      response.heading, statusCode, to: method, in: version, isStored: response.source != .network,
      length: length, Provenance(response))
  }

  private init(
    _ heading: CachedResponse.Heading, _ code: Int, to method: HTTPRequest.Method, in version: HTTPVersion,
    isStored: Bool, length: Int?, _ provenance: Provenance
  ) {
    (self.heading, statusCode, self.provenance, self.isStored) = (heading, code, provenance, isStored)
    if method == .head || code < 200 || code == 204 || code == 304 {
      framing = .none
    } else if let length {
      framing = .length(length)
    } else {
      framing = version == .http10 ? .untilClose : .chunked
    }
  }
}

/// Writes the heads of responses (RFC 9112 §4).
struct ResponseWriter {
  /// The line of `Via` that is added to the origin's fields (RFC 9110 §7.6.3).
  let via: String
  let dates: DateCache

  init(name: String, dates: DateCache) {
    via = "Via: 1.1 \(name)\r\n"
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
    var lines = FramedLines(framing: head.framing, statusCode: head.statusCode)
    func write(_ field: HTTPField, to text: inout ByteWriter) {
      if lines.write(insteadOf: FieldKind(field.name), to: &text) { text.appendLine(field) }
    }
    if head.isStored {
      for field in response.headerFields { write(field, to: &text) }
    } else {
      // RFC 9110 §15.5.22: 426 names the protocol to switch to.
      response.headerFields.forEachEndToEnd(keepsUpgrade: head.statusCode == 426) { write($0, to: &text) }
    }
    if let status { text.appendLine(status) }
    end(lines, closes: closes, to: &text)
  }

  /// Writes a head from its stored form; returns `false`, and writes nothing, if it must be written from its fields.
  private func write(
    _ stored: StoredHeading, framing: ResponseFraming, closes: Bool, to text: inout ByteWriter
  ) -> Bool {
    var lines = FramedLines(framing: framing, statusCode: stored.statusCode)
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
      guard lines.write(insteadOf: kind, to: &out) else { return }
      out.append(name)
      out.append(literal: ": ")
      out.append(value)
      out.append(literal: "\r\n")
    }
    guard isRead else { return false }
    text = out
    writeAge(to: &text)
    text.appendLine(stored.cacheStatus)
    end(lines, closes: closes, to: &text)
    return true
  }

  /// Writes what follows the lines of the response.
  private func end(_ lines: FramedLines, closes: Bool, to text: inout ByteWriter) {
    switch lines.framing {
    case .none, .untilClose: break
    case .length(let count): if !lines.hasLength { text.appendLength(count) }
    case .chunked: text.append(literal: "Transfer-Encoding: chunked\r\n")
    }
    if !lines.hasDate { text.append(dates.line) }
    text.append(via)
    if closes || lines.framing == .untilClose { text.append(literal: "Connection: close\r\n") }
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

/// What is known of the lines of a head while they are written.
private struct FramedLines {
  let framing: ResponseFraming
  let statusCode: Int
  private(set) var (hasLength, hasDate) = (false, false)

  init(framing: ResponseFraming, statusCode: Int) {
    (self.framing, self.statusCode) = (framing, statusCode)
  }

  /// Writes the line that takes the place of another, if one does.
  ///
  /// - Returns: whether the other goes out as it is.
  mutating func write(insteadOf kind: FieldKind, to text: inout ByteWriter) -> Bool {
    switch kind {
    case .date:
      hasDate = true
      return true
    case .contentLength:
      // RFC 9110 §8.6, RFC 9112 §6.1.
      guard case .length(let count) = framing else { return framing == .none && statusCode != 204 }
      if !hasLength { text.appendLength(count) }
      hasLength = true
      return false
    default: return true
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

/// The line of `Date` for generated responses, made once a second.
final class DateCache {
  private var second = Int64.min
  private var text = ""
  private let clock: any CacheClock

  init(clock: any CacheClock = SystemCacheClock.shared) {
    self.clock = clock
  }

  /// The line for the current second, with its end.
  var line: String {
    let now = clock.wallTime
    if now.milliseconds / 1000 != second {
      second = now.milliseconds / 1000
      text = "Date: \(HTTPDate(now).fieldValue)\r\n"
    }
    return text
  }
}
