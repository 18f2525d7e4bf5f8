// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import HTTPCacheStore
import NIOCore
import TestSupport
import Testing

/// Clients and origins that leave at any moment. The tests of this folder run in a process of their own, one after the other, so
/// that all objects that are counted are theirs.
@Suite("Nothing outlives its connection", .serialized, .timeLimit(.minutes(10)))
struct LeavingTests {
  typealias Frames = HTTP2AttackTests.Frames

  /// What a client sends in one write, before it leaves.
  struct Leaving: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var isHTTP2 = true
    var paths: [String]
    /// Whether a frame follows that ends the connection.
    var hasError = true
    /// Whether the client first reads what the proxy sends at the beginning.
    var readsSettings = true
    /// Whether it leaves with RST.
    var resets = false
  }

  private static let stored = Array(repeating: "/stored", count: 20)
  private static let missing = (0..<20).map { "/\($0)" }

  @Test(
    "All objects are gone after clients have left",
    arguments: [
      Leaving(testDescription: "Hits and an error", paths: stored),
      Leaving(testDescription: "Hits and an error, at once", paths: stored, readsSettings: false),
      Leaving(testDescription: "Hits and an error, reset", paths: stored, resets: true),
      Leaving(testDescription: "Hits", paths: stored, hasError: false),
      Leaving(
        testDescription: "Hits, at once, reset", paths: stored, hasError: false, readsSettings: false,
        resets: true),
      Leaving(testDescription: "Misses and an error", paths: missing),
      Leaving(testDescription: "Misses, reset", paths: missing, hasError: false, resets: true),
      Leaving(testDescription: "An error alone", paths: []),
      Leaving(
        testDescription: "Nothing, reset", paths: [], hasError: false, readsSettings: false, resets: true),
      Leaving(
        testDescription: "Hits over HTTP/1.1", isHTTP2: false, paths: stored, hasError: false,
        readsSettings: false),
      Leaving(
        testDescription: "Hits and half a request over HTTP/1.1", isHTTP2: false, paths: stored,
        readsSettings: false, resets: true),
      Leaving(
        testDescription: "Misses over HTTP/1.1", isHTTP2: false, paths: missing, hasError: false,
        readsSettings: false),
    ], [false, true])
  func leave(_ leaving: Leaving, originIsHTTP2: Bool) async throws {
    try await ProxyFixture.run({
      $0.http2 = .always
      // It speaks HTTP/1.1 only: each attempt of HTTP/2 fails.
      if originIsHTTP2 { $0.origin.http2 = .always }
    }) { _, connection in
      try await connection.send(ok("hello", "Cache-Control: max-age=3600\r\n"))
      return true
    } _: { proxy in
      for _ in 0..<20 {
        try await RawClient.connect(to: proxy.port).talk { conversation in
          if leaving.resets { try await conversation.resetsWhenClosed() }
          try? await Self.send(leaving, &conversation)
        }
      }
      try await eventually { proxy.proxy.statistics.openConnections == 0 }
      try await eventually { proxy.proxy.statistics.openStreams == 0 }
      for kind in [LiveCount.Kind.clientConnection, .clientStream] {
        try await eventually { kind.count == 0 }
      }
    }
    for kind in LiveCount.Kind.allCases { try await eventually { kind.count == 0 } }
  }

  private static func send(_ leaving: Leaving, _ conversation: inout Conversation) async throws {
    guard leaving.isHTTP2 else {
      let requests = leaving.paths.map { "GET \($0) HTTP/1.1\r\nHost: a.example\r\n\r\n" }.joined()
      return try await conversation.send(requests + (leaving.hasError ? "GET /half" : ""))
    }
    var frames = Frames()
    frames.addSettings()
    if leaving.readsSettings {
      try await conversation.send(bytes: frames.bytes)
      _ = try await conversation.input.next()
      frames.bytes = []
    }
    for (number, path) in leaving.paths.enumerated() { frames.addGet(path, stream: UInt32(2 * number + 1)) }
    if leaving.hasError { frames.add(0, stream: 0, [1]) }
    try await conversation.send(bytes: frames.bytes)
  }
}
