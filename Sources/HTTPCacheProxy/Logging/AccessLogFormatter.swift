// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import NIOCore

/// Writes the lines of an access log.
///
/// Everything from a client is escaped: otherwise a line break could forge a log line.
struct AccessLogFormatter {
  let format: ProxyConfiguration.AccessLogOptions.Format
  private var second = Int64.min
  /// The time of the present second, without its fraction.
  private var date: [UInt8] = []

  init(_ format: ProxyConfiguration.AccessLogOptions.Format) {
    self.format = format
  }

  /// Appends a line.
  mutating func write(
    _ entry: AccessLogEntry, _ request: HTTPRequest?, at now: Timestamp, to lines: inout [UInt8]
  ) {
    if now.milliseconds / 1000 != second {
      second = now.milliseconds / 1000
      date = format == .json ? Self.isoDate(now) : Self.commonDate(now)
    }
    LineWriter.append(to: &lines) { line in
      switch format {
      case .common, .combined: writeText(entry, request, to: &line)
      case .json: writeJSON(entry, request, milliseconds: now.milliseconds - second * 1000, to: &line)
      }
    }
  }

  // MARK: - Common and combined

  private func writeText(_ entry: AccessLogEntry, _ request: HTTPRequest?, to line: inout LineWriter) {
    line.append(token: entry.client)
    line.append(" - - [")
    line.append(date)
    line.append("] \"")
    if let request {
      line.append(request.method.rawValue, escape: .hexadecimal)
      line.append(" ")
      line.append(text: request.path)
      line.append(" HTTP/")
      line.append(entry.version.number)
    } else {
      line.append(firstLineOf: entry.unreadable, escape: .hexadecimal)
    }
    line.append("\" ")
    line.append(decimal: entry.status)
    line.append(" ")
    line.append(decimal: entry.contentBytes)
    if format == .combined {
      let (referer, agent) = Self.senders(request)
      line.append(" \"")
      line.append(text: referer)
      line.append("\" \"")
      line.append(text: agent)
      line.append("\"")
    }
    line.append(" cache=")
    line.append(token: entry.provenance?.outcome.rawValue ?? "-")
    line.append(" reason=")
    line.append(token: entry.provenance?.code ?? "-")
    line.append(" forward=")
    line.append(token: entry.provenance?.forward?.rawValue ?? "-")
    line.append(" head=")
    if let time = entry.microsecondsToHead { line.append(seconds: time) } else { line.append("-") }
    line.append(" total=")
    line.append(seconds: entry.microseconds)
    line.append(" authority=\"")
    line.append(text: request?.authority)
    line.append(entry.isAborted ? "\" aborted=yes" : "\" aborted=no")
    if !entry.site.isEmpty {
      line.append(" site=")
      line.append(token: entry.site)
    }
    line.append("\n")
  }

  /// Returns `Referer` and `User-Agent`, in one pass over the fields.
  private static func senders(_ request: HTTPRequest?) -> (referer: HTTPField?, agent: HTTPField?) {
    var (referer, agent): (HTTPField?, HTTPField?)
    guard let request else { return (nil, nil) }
    for field in request.headerFields {
      // Lengths first: most names differ in their length.
      switch field.name.canonicalName.utf8.count {
      case 7 where field.name.canonicalName == "referer": referer = referer ?? field
      case 10 where field.name.canonicalName == "user-agent": agent = agent ?? field
      default: break
      }
    }
    return (referer, agent)
  }

  // MARK: - JSON

  private func writeJSON(
    _ entry: AccessLogEntry, _ request: HTTPRequest?, milliseconds: Int64, to line: inout LineWriter
  ) {
    line.append("{\"time\":\"")
    line.append(date)
    line.append(decimal: Int(milliseconds), width: 3)
    line.append("Z\",\"client\":\"")
    line.append(token: entry.client)
    if let request {
      line.append("\",\"method\":\"")
      line.append(request.method.rawValue, escape: .json)
      line.append("\",\"target\":\"")
      line.append(request.path ?? "", escape: .json)
      line.append("\",\"protocol\":\"HTTP/")
      line.append(entry.version.number)
      line.append("\"")
    } else {
      line.append("\",\"unreadable\":\"")
      line.append(firstLineOf: entry.unreadable, escape: .json)
      line.append("\"")
    }
    if let version = entry.tlsVersion {
      line.append(",\"tls\":\"")
      line.append(token: version)
      line.append("\"")
    }
    line.append(",\"authority\":")
    line.append(json: request?.authority)
    if !entry.site.isEmpty {
      line.append(",\"site\":\"")
      line.append(token: entry.site)
      line.append("\"")
    }
    line.append(",\"status\":")
    line.append(decimal: entry.status)
    line.append(",\"bytes\":")
    line.append(decimal: entry.contentBytes)
    line.append(",\"cache\":")
    line.append(json: entry.provenance?.outcome.rawValue)
    line.append(",\"reason\":")
    line.append(json: entry.provenance?.code)
    line.append(",\"forward\":")
    line.append(json: entry.provenance?.forward?.rawValue)
    if let failure = entry.provenance?.failure {
      line.append(",\"error\":\"")
      line.append(failure, escape: .jsonText)
      line.append("\"")
    }
    line.append(",\"head_seconds\":")
    if let time = entry.microsecondsToHead { line.append(seconds: time) } else { line.append("null") }
    line.append(",\"total_seconds\":")
    line.append(seconds: entry.microseconds)
    line.append(entry.isAborted ? ",\"aborted\":true" : ",\"aborted\":false")
    let (referer, agent) = Self.senders(request)
    line.append(",\"referer\":")
    line.append(json: referer)
    line.append(",\"user_agent\":")
    line.append(json: agent)
    line.append("}\n")
  }

  // MARK: - Dates

  /// `22/Nov/2025:09:08:02 +0000`
  private static func commonDate(_ time: Timestamp) -> [UInt8] {
    let date = DateParts(time)
    return Array("\(date.day)/\(date.month)/\(date.year):\(date.time) +0000".utf8)
  }

  /// `2025-11-22T09:08:02.`
  private static func isoDate(_ time: Timestamp) -> [UInt8] {
    let date = DateParts(time)
    let month = (months.firstIndex(of: date.month) ?? 0) + 1
    return Array("\(date.year)-\(month < 10 ? "0" : "")\(month)-\(date.day)T\(date.time).".utf8)
  }

  /// A date in UTC, from `Sun, 06 Nov 1994 08:49:37 GMT`.
  private struct DateParts {
    let (day, month, year, time): (String, String, String, String)

    init(_ time: Timestamp) {
      let words = HTTPDate(time).fieldValue.split(separator: " ").map(String.init)
      (day, month, year, self.time) = (words[1], words[2], words[3], words[4])
    }
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}

extension LineWriter {
  /// Writes a text, or `-` if it is missing.
  fileprivate mutating func append(text: String?) {
    if let text, !text.isEmpty { append(text, escape: .hexadecimal) } else { append("-") }
  }

  fileprivate mutating func append(text field: HTTPField?) {
    if let field, field.withUnsafeBytesOfValue({ !$0.isEmpty }) {
      append(valueOf: field, escape: .hexadecimal)
    } else {
      append("-")
    }
  }

  /// Writes a text in quotation marks, or `null` if it is missing.
  fileprivate mutating func append(json text: String?) {
    guard let text else { return append("null") }
    append("\"")
    append(text, escape: .json)
    append("\"")
  }

  fileprivate mutating func append(json field: HTTPField?) {
    guard let field else { return append("null") }
    append("\"")
    append(valueOf: field, escape: .json)
    append("\"")
  }

  /// Writes the first line of bytes that could not be read as a request.
  fileprivate mutating func append(firstLineOf bytes: ByteBuffer?, escape: Escape) {
    guard let bytes else { return append("-") }
    let length = bytes.readableBytesView.firstIndex { $0 == 0x0D || $0 == 0x0A }
    let line = bytes.getSlice(
      at: bytes.readerIndex, length: (length ?? bytes.writerIndex) - bytes.readerIndex)
    line?.withUnsafeReadableBytes { append($0, escape: escape) }
  }
}

/// The data of one request for the access log, in addition to the request itself.
struct AccessLogEntry {
  /// The client's address, without its port.
  var client: String
  var version = HTTPVersion.http11
  /// The version of TLS with the client; `nil` without it.
  var tlsVersion: String?
  /// The bytes that could not be read as a request: the log has their first line.
  var unreadable: ByteBuffer?
  /// The name of the site; empty without one.
  var site = ""
  var status: Int
  /// Bytes of content that were sent, without heads and framing.
  var contentBytes: Int
  var provenance: Provenance?
  /// Time from the request's head to the head of its response; `nil` if none was sent.
  var microsecondsToHead: Int64?
  /// Time from the request's head to the end of its response.
  var microseconds: Int64
  /// Whether the connection ended before the response did.
  var isAborted: Bool

  /// The status of a request whose connection ended before there was a response, as nginx logs it.
  static let statusWithoutResponse = 499
}
