// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Loopback
import NIOHTTP1

/// Sends one request on its own connection.
enum Client {
  struct Answer: Sendable {
    var status: Int
    var fields: HTTPHeaders
    var body: String

    /// Whether the proxy served it without the origin.
    var isUnvalidated: Bool {
      let cache = fields["cache-status"].joined(separator: ", ")
      return cache.contains("; hit") && !cache.contains("fwd=")
    }
  }

  static func send(
    _ method: String, _ target: String, host: String = "fleet.test", accept: String = "*/*", port: Int
  ) async throws -> Answer {
    let request = HTTPRequestHead(
      version: .http1_1, method: HTTPMethod(rawValue: method), uri: target,
      headers: ["Host": host, "Accept": accept, "Content-Length": "0", "Connection": "close"])
    let answer = try await HTTP1Client.send(
      request, body: [], to: .address(host: "127.0.0.1", port: port), encryption: nil, within: 20)
    // A node that is killed may have sent a part.
    guard let head = answer.head, answer.isWhole else {
      throw DriverFailure("no complete answer, \(answer.body.count) bytes of content")
    }
    return Answer(
      status: Int(head.status.code), fields: head.headers, body: String(decoding: answer.body, as: UTF8.self))
  }
}
