// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A request, and the octets with which the origin answers it.
struct WireCase: Sendable, CustomStringConvertible {
  var description: String
  var method = "GET"
  /// The part of the target after the number of the case.
  var path = "/x"
  var fields: [String: String] = [:]
  var content: Data?
  /// All that the origin sends; `PORT` in it becomes the origin's port.
  var answer: [UInt8]
  /// Whether the connection ends with RST instead of FIN.
  var isReset = false

  init(_ description: String, _ answer: [UInt8] = []) {
    (self.description, self.answer) = (description, answer)
  }

  /// The request for the case with a number, at an origin.
  func request(_ number: Int, port: Int) throws -> URLRequest {
    guard let url = URL(string: "http://127.0.0.1:\(port)/\(number)\(path)") else { throw URLError(.badURL) }
    var request = URLRequest(url: url)
    request.httpMethod = method
    request.httpBody = content
    for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
    return request
  }
}

/// A response as octets.
struct WireResponse {
  /// How the end of the content is marked.
  enum Framing: String, CaseIterable { case length, chunked, close }

  var status = 200
  var lines: [[UInt8]]
  var content = Array("content".utf8)
  var framing = Framing.length
  /// The status codes of the interim responses before it.
  var interim: [Int] = []

  init(_ status: Int = 200, _ lines: [String] = []) {
    self.status = status
    self.lines = lines.map { Array($0.utf8) }
  }

  /// Whether a response with the status has content (RFC 9110 §6.4.1).
  private var mayHaveContent: Bool { status >= 200 && status != 204 && status != 304 }

  /// - Parameter isHead: whether it answers a HEAD request.
  func bytes(isHead: Bool = false) -> [UInt8] {
    var lines = interim.flatMap { code in
      ["HTTP/1.1 \(code) Interim", "Link: </style.css>; rel=preload", ""].map { Array($0.utf8) }
    }
    lines += [Array("HTTP/1.1 \(status) Reason".utf8), Array("Connection: close".utf8)] + self.lines
    var sent = content
    if mayHaveContent {
      switch framing {
      case .length: lines.append(Array("Content-Length: \(content.count)".utf8))
      case .chunked:
        lines.append(Array("Transfer-Encoding: chunked".utf8))
        let half = content.count / 2
        sent = [content[..<half], content[half...], []].flatMap { part in
          Array("\(String(part.count, radix: 16))\r\n".utf8) + part + Array("\r\n".utf8)
        }
      case .close: break
      }
    }
    let head = (lines + [[]]).flatMap { $0 + Array("\r\n".utf8) }
    return isHead || !mayHaveContent ? head : head + sent
  }
}
