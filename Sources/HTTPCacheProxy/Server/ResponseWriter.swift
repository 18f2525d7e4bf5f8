// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore

/// How the content of a response is framed on the client's connection (RFC 9112 §6).
enum ResponseFraming: Hashable, Sendable {
  /// No content, whatever Content-Length says: HEAD, 1xx, 204, 304.
  case none
  case length(Int)
  case chunked
  case untilClose
}

/// A final response to a client, before its content.
struct ResponseHead: Sendable {
  var response: HTTPResponse
  var framing: ResponseFraming
  /// Where the response comes from, for the log and the counters.
  var provenance: Provenance
  /// Whether the response comes from the store, which keeps no fields that concern a connection, or from the proxy.
  let isStored: Bool

  /// - Parameters:
  ///   - length: the length of the content, if known.
  init(
    _ response: HTTPResponse, to method: HTTPRequest.Method, minorVersion: Int, isStored: Bool, length: Int?,
    _ provenance: Provenance = Provenance(.generated)
  ) {
    self.response = response
    self.provenance = provenance
    self.isStored = isStored
    let code = response.status.code
    if method == .head || code < 200 || code == 204 || code == 304 {
      framing = .none
    } else if let length {
      framing = .length(length)
    } else if let said = response.headerFields[.contentLength].flatMap({ Int($0) }) {
      framing = .length(said)
    } else {
      framing = minorVersion == 0 ? .untilClose : .chunked
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
    writeStatus(head.response.status, to: &buffer)
    var (hasLength, hasDate) = (false, false)
    let code = head.response.status.code
    func write(_ field: HTTPField, to buffer: inout ByteBuffer) {
      // Lengths first: most names differ in their length.
      switch field.name.canonicalName.utf8.count {
      case 4 where field.name.canonicalName == "date": hasDate = true
      case 14 where field.name.canonicalName == "content-length":
        // RFC 9110 §8.6, RFC 9112 §6.1.
        if case .length(let count) = head.framing {
          if hasLength { return }
          hasLength = true
          buffer.writeStaticString("Content-Length: ")
          buffer.writeDecimal(count)
          buffer.writeStaticString("\r\n")
          return
        }
        if head.framing != .none || code == 204 { return }
      default: break
      }
      buffer.write(field)
    }
    if head.isStored {
      for field in head.response.headerFields { write(field, to: &buffer) }
    } else {
      // RFC 9110 §15.5.22: 426 names the protocol to switch to.
      head.response.headerFields.forEachEndToEnd(keepsUpgrade: code == 426) { write($0, to: &buffer) }
    }
    switch head.framing {
    case .none, .untilClose: break
    case .length(let count):
      if !hasLength {
        buffer.writeStaticString("Content-Length: ")
        buffer.writeDecimal(count)
        buffer.writeStaticString("\r\n")
      }
    case .chunked: buffer.writeStaticString("Transfer-Encoding: chunked\r\n")
    }
    if !hasDate { dates.write(to: &buffer) }
    buffer.writeString(via)
    if closes || head.framing == .untilClose { buffer.writeStaticString("Connection: close\r\n") }
    buffer.writeStaticString("\r\n")
  }

  /// An interim response has no framing, and nothing is added to it (RFC 9110 §15.2).
  func writeInterim(_ response: HTTPResponse, to buffer: inout ByteBuffer) {
    writeStatus(response.status, to: &buffer)
    response.headerFields.forEachEndToEnd { field in
      if field.name.canonicalName != "content-length" { buffer.write(field) }
    }
    buffer.writeStaticString("\r\n")
  }

  private func writeStatus(_ status: HTTPResponse.Status, to buffer: inout ByteBuffer) {
    if status.code == 200, status.reasonPhrase == "OK" {
      buffer.writeStaticString("HTTP/1.1 200 OK\r\n")
      return
    }
    buffer.writeStaticString("HTTP/1.1 ")
    buffer.writeDecimal(status.code)
    buffer.writeStaticString(" ")
    buffer.writeString(status.reasonPhrase)
    buffer.writeStaticString("\r\n")
  }
}

extension ByteBuffer {
  /// Without an intermediate string.
  mutating func writeDecimal(_ number: Int) {
    var divisor = 1
    while number / divisor >= 10 { divisor *= 10 }
    while divisor > 0 {
      writeInteger(UInt8(0x30 + number / divisor % 10))
      divisor /= 10
    }
  }
}

/// The line of `Date` for generated responses, made once a second.
final class DateCache {
  private var second = Int64.min
  private var line = ByteBuffer()
  private let clock: any CacheClock

  init(clock: any CacheClock = SystemCacheClock.shared) {
    self.clock = clock
  }

  func write(to buffer: inout ByteBuffer) {
    let now = clock.wallTime
    if now.milliseconds / 1000 != second {
      second = now.milliseconds / 1000
      line = ByteBuffer(string: "Date: \(HTTPDate(now).fieldValue)\r\n")
    }
    buffer.writeImmutableBuffer(line)
  }
}
