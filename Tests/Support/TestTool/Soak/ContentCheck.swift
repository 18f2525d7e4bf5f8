// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// Compares the content of a response with what it must be, at the pace of its client.
struct ContentCheck {
  private let exchange: Exchange
  private let expected: Exchange.Expected
  private let status: Int
  private var position: Int
  private var pauses = 0

  init(_ exchange: Exchange, _ expected: Exchange.Expected, status: Int) {
    (self.exchange, self.expected, self.status) = (exchange, expected, status)
    position = expected.range.lowerBound
  }

  /// Takes the next piece; throws if the client leaves now.
  mutating func take(_ piece: ByteBuffer) async throws {
    if let content = expected.content {
      guard content.matches(piece, at: position) else {
        throw exchange.failure("status \(status): unexpected content at \(position)")
      }
      position += piece.readableBytes
    }
    if exchange.client == .leaves, position - expected.range.lowerBound > expected.range.count / 2 {
      throw ProxyClient.Left()
    }
    if exchange.client == .readsSlowly, pauses < 50 {
      pauses += 1
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  func end() throws {
    if expected.content != nil, position != expected.range.upperBound {
      throw exchange.failure(
        "status \(status): content ends at \(position), expected \(expected.range.upperBound)")
    }
  }
}
