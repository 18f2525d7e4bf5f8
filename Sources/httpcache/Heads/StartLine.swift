// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

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
