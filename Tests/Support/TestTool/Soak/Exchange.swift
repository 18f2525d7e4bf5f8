// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// A request and what may come of it.
struct Exchange: Sendable {
  enum Client: Int, CaseIterable, Sendable { case reads, readsSlowly, leaves, range, head, post }

  /// A failure of the cache: the request, what was expected, what came.
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  let cell: Cell
  let client: Client
  /// The value of `X-Variant`.
  let variant: Int
  /// Decides what is not worth a dimension, such as the form of a range.
  let detail: UInt64

  var method: String { client == .head ? "HEAD" : client == .post ? "POST" : "GET" }

  // MARK: - Request

  /// The content of a POST.
  var requestContent: Content? {
    guard client == .post else { return nil }
    return Content(of: cell.path, number: 1000, size: [10, 3 << 10, 100 << 10][Int(detail % 3)])
  }

  private var asksForRange: Bool { client == .range || cell.status == 206 && client != .post }
  private var hasPrecondition: Bool { cell.status == 304 && client != .post }
  /// A third of the ranges come with the right entity tag, a third with another.
  private var ifRange: String? {
    guard asksForRange, cell.validator == .strong, let tag = cell.entityTag(variant: variant) else {
      return nil
    }
    return [nil, tag, "\"other\""][Int(detail / 3 % 3)]
  }

  /// The range that is asked for; `nil` if no byte of the content is in it.
  private var range: Range<Int>? {
    let size = cell.contentLength
    if size == 0 { return nil }
    return switch detail % 3 {
    case 0: size / 4..<size / 2 + 1
    case 1: size - Swift.max(1, size / 3)..<size
    default: size / 2..<size
    }
  }

  /// The request's fields, without those that frame its content.
  var fields: [(String, String)] {
    var fields = [("X-Variant", "\(variant)")]
    if asksForRange {
      let size = cell.contentLength
      fields.append(
        (
          "Range",
          ["bytes=\(size / 4)-\(size / 2)", "bytes=-\(Swift.max(1, size / 3))", "bytes=\(size / 2)-"][
            Int(detail % 3)]
        ))
    }
    if let ifRange { fields.append(("If-Range", ifRange)) }
    if hasPrecondition {
      if cell.validator == .date {
        fields.append(("If-Modified-Since", Cell.lastModified))
      } else {
        fields.append(("If-None-Match", cell.entityTag(variant: variant) ?? "\"other\""))
      }
    }
    return fields
  }

  // MARK: - Response

  /// What the content of a response with this head must be: a part of what content.
  struct Expected {
    /// `nil` for a generated error, whose content may be anything.
    var content: Content?
    var range: Range<Int> = 0..<0
  }

  /// Judges the head of a response.
  ///
  /// - Parameter field: looks up a field of the response.
  func expected(status: Int, followsRedirects: Bool = false, _ field: (String) -> String?) throws -> Expected
  {
    var (cell, exchange) = (cell, self)
    if followsRedirects, cell.status == 301 {
      cell = cell.redirectTarget
      exchange = Exchange(
        cell: cell, client: client == .post ? .reads : client, variant: variant, detail: detail)
    }
    let content = cell.content(variant: variant, isPost: exchange.client == .post)
    if status == cell.plainStatus {
      if status == 301, field("location") != cell.redirectTarget.path { throw failure("another Location") }
      if exchange.client == .head, let length = field("content-length"), length != "\(content.size)" {
        throw failure("Content-Length \(length) instead of \(content.size)")
      }
      return Expected(content: content, range: 0..<(exchange.client == .head ? 0 : content.size))
    }
    if cell.plainStatus == 200 {
      if status == 304, hasPrecondition, cell.validator != .none { return Expected(content: content) }
      if status == 206, asksForRange, ifRange != "\"other\"", client != .head, let range {
        let expected = "bytes \(range.lowerBound)-\(range.upperBound - 1)/"
        let got = field("content-range") ?? "none"
        guard got == expected + "\(content.size)" || got == expected + "*" else {
          throw failure("Content-Range \(got) instead of \(expected)\(content.size)")
        }
        return Expected(content: content, range: range)
      }
      if status == 416, asksForRange, client != .head, range == nil { return Expected() }
    }
    if cell.mayFail, status == 502 || status == 504 { return Expected() }
    // A proxy without memory for the content of a request of HTTP/2.
    if client == .post, status == 503, field("proxy-status") == "httpcache; error=proxy_internal_error" {
      return Expected()
    }
    throw failure(
      "status \(status) instead of \(cell.plainStatus), Proxy-Status: \(field("proxy-status") ?? "none")")
  }

  func failure(_ text: String) -> Failure {
    Failure(description: "\(client) variant \(variant) detail \(detail) \(cell.path): \(text)")
  }
}
