// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Finds requests and responses in the output of `curl -v`, `curl -i` or `wget -S`, in text from the developer tools of
/// browsers, or in plain heads.
struct HeadParser {
  private let input: HeadLines
  private var lines: [HeadLine] { input.lines }
  private var position = 0
  private var exchanges: [RecordedExchange] = []
  private var request: RecordedRequest?

  private init(_ bytes: [UInt8]) {
    input = HeadLines(bytes)
  }

  /// Returns all pairs of the input, in order; at least one.
  ///
  /// Interim responses (1xx) and a proxy's response to CONNECT are skipped: no cache sees them.
  static func exchanges(in bytes: [UInt8]) throws(InputError) -> [RecordedExchange] {
    var parser = HeadParser(bytes)
    try parser.parse()
    return parser.exchanges
  }

  private mutating func parse() throws(InputError) {
    skipBlankLines()
    guard let first = current else {
      throw InputError(
        line: nil, problem: "The input is empty.",
        advice: "Pipe a response into the command: curl -si URL | httpcache explain --url URL")
    }
    if input.isMarked { try parseMarked() } else { try parsePlain(first) }
    guard exchanges.isEmpty else { return }
    throw InputError(
      line: nil, problem: "The input has no final response.",
      advice: "Include the head of the response, from its status line (\"HTTP/1.1 200 OK\").")
  }

  private var current: HeadLine? { position < lines.count ? lines[position] : nil }

  private mutating func skipBlankLines() {
    while let line = current, line.isBlank { position += 1 }
  }

  // MARK: - Transcripts

  private mutating func parseMarked() throws(InputError) {
    while let line = current {
      if line.sender == .client, StartLine.isRequest(line.text) {
        try parseRequest(line)
      } else if line.sender == .server, line.isStatusLine {
        try parseResponse(line)
      } else {
        position += 1  // A line of content that happens to begin like a mark.
      }
    }
  }

  // MARK: - Plain heads

  private mutating func parsePlain(_ first: HeadLine) throws(InputError) {
    if StartLine.isRequest(first.text) {
      try parseRequest(first)
      // A request's content, if any, lies between the heads.
      while let line = current, !line.isStatusLine { position += 1 }
    } else if !first.isStatusLine {
      throw InputError(
        line: first.number,
        problem: "Expected a request line or a status line, found \(first.text.excerpt).",
        advice: "Begin with \"GET /path HTTP/1.1\" or \"HTTP/1.1 200 OK\", as curl -i and curl -v print them."
      )
    }
    // The heads of redirects and interim responses follow each other; other text is content.
    while let line = current, line.isStatusLine { try parseResponse(line) }
  }

  // MARK: - Heads

  private mutating func parseRequest(_ line: HeadLine) throws(InputError) {
    guard let (method, target) = StartLine.request(line.text) else { return }
    position += 1
    var fields = try parseFields(sender: line.sender)
    let hostName = HTTPField.Name("Host")
    let host = hostName.flatMap { fields[$0] }
    if let hostName { fields[hostName] = nil }
    request = RecordedRequest(
      method: method, target: target, fields: fields, host: host, isEncrypted: input.isEncrypted)
  }

  private mutating func parseResponse(_ line: HeadLine) throws(InputError) {
    position += 1
    let status = try StartLine.status(line)
    let fields = try parseFields(sender: line.sender)
    if status.kind == .informational, status.code != 101 { return }
    let isTunnel =
      request?.method == .connect
      || (request == nil && fields.isEmpty && status.reasonPhrase.lowercased().contains("established"))
    defer { if input.isMarked { request = nil } }
    if isTunnel, status.kind == .successful { return }
    exchanges.append(
      RecordedExchange(
        request: request, response: HTTPResponse(status: status, headerFields: fields), line: line.number,
        isStatusAssumed: input.isStatusAssumed))
  }

  /// Parses the field lines up to the blank line, or to the end of this sender's lines.
  private mutating func parseFields(sender: HeadLine.Sender) throws(InputError) -> HTTPFields {
    var fields = HTTPFields()
    while let line = current, line.sender == sender {
      if line.isBlank {
        position += 1
        break
      }
      if line.isStatusLine { break }
      try add(line, to: &fields)
      position += 1
    }
    return fields
  }

  private func add(_ line: HeadLine, to fields: inout HTTPFields) throws(InputError) {
    let text = line.text
    if text.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" || $0.value == 0x7F }) {
      throw InputError(
        line: line.number,
        problem: "This line has control characters, which are invalid in a field: \(text.excerpt).",
        advice: "Paste the heads as text, with a blank line between a head and its content.")
    }
    if text.first == " " || text.first == "\t", let last = fields.last {
      // A folded line continues the value before it (RFC 9112 §5.2).
      fields[fields.endIndex - 1].value =
        last.value + " " + String(text.drop { $0 == " " || $0 == "\t" })
      return
    }
    guard let colon = text.firstIndex(of: ":"), let name = HTTPField.Name(String(text[..<colon])) else {
      throw InputError(
        line: line.number, problem: "Expected a field line, found \(text.excerpt).",
        advice:
          "Write \"Name: value\", without a space before the colon. A blank line ends the head.")
    }
    let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
    fields.append(HTTPField(name: name, lenientValue: String(value).utf8))
  }
}

/// The first line of a request or response head (RFC 9112 §3, §4).
enum StartLine {
  /// Whether a line has the form `METHOD target HTTP/version`.
  static func isRequest(_ text: String) -> Bool { request(text) != nil }

  static func request(_ text: String) -> (method: HTTPRequest.Method, target: String)? {
    let parts = text.split(separator: " ", omittingEmptySubsequences: true)
    guard parts.count == 3, parts[2].hasPrefix("HTTP/"), let method = HTTPRequest.Method(String(parts[0]))
    else {
      return nil
    }
    return (method, String(parts[1]))
  }

  /// `HTTP/1.1 200 OK`, or `HTTP/2 200` without a phrase.
  static func status(_ line: HeadLine) throws(InputError) -> HTTPResponse.Status {
    let parts = line.text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
    guard parts.count >= 2, parts[1].utf8.count == 3, let code = Int(parts[1]), (100...999).contains(code)
    else {
      throw InputError(
        line: line.number,
        problem: "Expected a status line with a status code of three digits, found \(line.text.excerpt).",
        advice: "Paste the line as the server sent it, such as \"HTTP/1.1 200 OK\".")
    }
    return HTTPResponse.Status(code: code, reasonPhrase: parts.count > 2 ? String(parts[2]) : "")
  }
}

/// A request and its final response, as found in the input.
struct RecordedExchange: Hashable {
  /// `nil` if the input shows only responses.
  var request: RecordedRequest?
  var response: HTTPResponse
  /// The line of the response's status line.
  var line: Int
  /// Whether the input shows no status code, so that 200 is assumed.
  var isStatusAssumed = false
}

/// A request head, with its target as written.
struct RecordedRequest: Hashable {
  var method: HTTPRequest.Method
  /// `/path?query`, or a whole URI.
  var target: String
  /// Without `Host`.
  var fields: HTTPFields
  var host: String?
  /// Whether the connection was encrypted; `nil` if the input does not say.
  var isEncrypted: Bool?
}
