// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import NIOCore
import TestSupport

/// An origin that answers each case with its octets.
///
/// It confirms a stored response (304) if it knows the tag, and answers all targets other than that of the case with the
/// request's method and target: the targets of redirects.
final class WireOrigin: Sendable {
  private let origin: RawOrigin

  static func start(_ cases: [WireCase]) async throws -> WireOrigin {
    let origin = try await RawOrigin.start { head, connection in
      try await answer(head, cases, &connection)
      return false
    }
    return WireOrigin(origin)
  }

  private init(_ origin: RawOrigin) { self.origin = origin }

  private static func answer(_ head: String, _ cases: [WireCase], _ connection: inout Conversation)
    async throws
  {
    let words = head.split(separator: " ")
    let target = words.count > 1 ? String(words[1]) : ""
    if let length = length(head) { await connection.readContent(length) }
    guard let number = target.split(separator: "/").first.flatMap({ Int($0) }),
      cases.indices.contains(number),
      target.hasPrefix("/\(number)\(cases[number].path)")
    else {
      let text = "\(words[0]) \(target)"
      let response =
        "HTTP/1.1 200 OK\r\nConnection: close\r\nCache-Control: no-store\r\nContent-Length: \(text.utf8.count)"
      return try await connection.send(response + "\r\n\r\n" + (words[0] == "HEAD" ? "" : text))
    }
    if head.contains("f-None-Match: \"1\"") {
      return try await connection.send(
        "HTTP/1.1 304 Not Modified\r\nConnection: close\r\nETag: \"1\"\r\n\r\n")
    }
    if cases[number].isReset { try await connection.resetsWhenClosed() }
    let port = connection.channel.localAddress?.port ?? 0
    try await connection.send(
      bytes: cases[number].answer.replacing(Array("PORT".utf8), with: Array("\(port)".utf8)))
  }

  private static func length(_ head: String) -> Int? {
    head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
      .flatMap { Int($0.drop { $0 != ":" }.filter(\.isNumber)) }
  }

  var port: Int { origin.port }

  /// The number of requests so far.
  var requestCount: Int { origin.requests.count }

  /// The heads of the requests from a number on, each as lines with lowercase names, sorted.
  func heads(from number: Int) -> [[String]] {
    origin.requests.dropFirst(number).map { head in
      head.split(separator: "\r\n").map { line in
        guard let colon = line.firstIndex(of: ":") else { return String(line) }
        return line[..<colon].lowercased() + line[colon...]
      }.sorted()
    }
  }

  func stop() async { await origin.stop() }
}

extension Conversation {
  /// Reads the content that follows the last head.
  fileprivate mutating func readContent(_ length: Int) async {
    while let end = received.range(of: "\r\n\r\n", options: .backwards)?.upperBound,
      received[end...].utf8.count < length, await readMore()
    {}
  }
}
