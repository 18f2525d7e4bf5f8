// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// Heads copied from the developer tools of a browser: names and values in one line or in two, pseudo fields of HTTP/2,
/// and titles such as "Response Headers" between them.
struct PastedHeads {
  /// The part of the panel that a line belongs to.
  private enum Part {
    case request
    case response
  }

  private let lines: [HeadLine]
  private var request: [HeadLine] = []
  private var response: [HeadLine] = []
  private var requestLine: HeadLine?
  private var status: HeadLine?
  /// The panel's facts on the request, and pseudo fields: `:method`, `:path`, `request url` and so on.
  private var facts: [String: String] = [:]

  /// Returns `nil` if the lines are not from such a panel.
  init?(_ lines: [HeadLine]) {
    self.lines = lines.map {
      HeadLine(number: $0.number, sender: .unknown, text: $0.text.trimmedOfBlanks)
    }
    guard let first = self.lines.first(where: { !$0.isBlank }),
      Self.title(first.text) != nil || Self.pair(first.text) != nil
    else { return nil }
    read()
    let isKnown = response.contains { line in
      Self.pair(line.text).map { Self.responseFields.contains($0.name.lowercased()) } ?? false
    }
    guard status != nil || isKnown else { return nil }
  }

  /// The lines of both heads, each with its sender.
  var heads: [HeadLine] {
    var heads: [HeadLine] = []
    let first = lines.first?.number ?? 1
    if let line = requestLine?.text ?? composedRequestLine {
      heads.append(HeadLine(number: requestLine?.number ?? first, sender: .client, text: line))
      heads += request + [HeadLine(number: first, sender: .client, text: "")]
    }
    heads.append(
      HeadLine(number: status?.number ?? first, sender: .server, text: "HTTP/1.1 " + (status?.text ?? "200")))
    return heads + response
  }

  /// Whether no status code was among the lines.
  var isStatusAssumed: Bool { status == nil }

  // MARK: - Reading

  private mutating func read() {
    var part = Part.response
    var position = 0
    while position < lines.count {
      let line = lines[position]
      position += 1
      if let title = Self.title(line.text) {
        part = title
      } else if line.isStatusLine {
        part = .response
        takeStatus(line, line.text.drop { $0 != " " })
      } else if StartLine.isRequest(line.text) {
        part = .request
        requestLine = line
      } else if let pair = Self.pair(line.text) {
        var value = pair.value
        if value.isEmpty, position < lines.count, !lines[position].isBlank,
          Self.pair(lines[position].text)?.value.isEmpty != true
        {
          value = lines[position].text
          position += 1
        }
        take(pair.name, value, line, &part)
      }
    }
  }

  private mutating func take(_ name: String, _ value: String, _ line: HeadLine, _ part: inout Part) {
    switch name.lowercased() {
    case ":status", "status code":
      if name.hasPrefix(":") { part = .response }
      takeStatus(line, value[...])
    case let fact where fact.hasPrefix(":"):
      part = .request
      facts[fact] = value
    case let fact where fact.contains(" "): facts[fact] = value
    default:
      let field = HeadLine(
        number: line.number, sender: part == .request ? .client : .server, text: "\(name): \(value)")
      if part == .request { request.append(field) } else { response.append(field) }
    }
  }

  /// Reads `200 OK`, or with a browser's addition: `200 OK (from disk cache)`.
  private mutating func takeStatus(_ line: HeadLine, _ text: Substring) {
    guard status == nil else { return }
    let code = text.drop { !$0.isNumber }
    let end = code.ranges(of: " (").first?.lowerBound ?? code.endIndex
    status = HeadLine(number: line.number, sender: .server, text: String(code[..<end]))
  }

  private var composedRequestLine: String? {
    let method = facts["request method"] ?? facts[":method"] ?? "GET"
    if let url = facts["request url"] { return "\(method) \(url) HTTP/1.1" }
    if let authority = facts[":authority"] {
      return "\(method) \(facts[":scheme"] ?? "https")://\(authority)\(facts[":path"] ?? "/") HTTP/1.1"
    }
    return request.isEmpty ? nil : "\(method) \(facts[":path"] ?? "/") HTTP/1.1"
  }

  // MARK: - Lines

  private static func title(_ text: String) -> Part? {
    let name = text.lowercased()
    if name == "request" || name.hasPrefix("request headers") { return .request }
    // Fields under a heading for both usually belong to the response.
    return ["general", "summary", "response"].contains(name) || name.hasPrefix("response headers")
      ? .response : nil
  }

  /// Reads `name: value`; the name must be that of a field, of a pseudo field, or one that only a panel has.
  private static func pair(_ text: String) -> (name: String, value: String)? {
    guard let start = text.first, let colon = text.dropFirst().firstIndex(of: ":") else { return nil }
    let name = String(text[..<colon])
    let isName =
      start == ":"
      ? HTTPField.Name(String(name.dropFirst())) != nil
      : HTTPField.Name(name) != nil || panelNames.contains(name.lowercased())
    return isName ? (name, text[text.index(after: colon)...].trimmedOfBlanks) : nil
  }

  private static let panelNames: Set = [
    "request url", "request method", "status code", "remote address", "referrer policy",
  ]

  /// Fields that rarely occur in a text by accident.
  private static let responseFields: Set = [
    "age", "cache-control", "cdn-cache-control", "content-encoding", "content-length", "content-type", "date",
    "etag",
    "expires", "last-modified", "location", "pragma", "server", "set-cookie", "vary", "cf-cache-status",
    "x-cache",
  ]
}
