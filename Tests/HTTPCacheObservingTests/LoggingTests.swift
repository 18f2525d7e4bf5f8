// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCaching
import InMemoryLogging
import Logging
import Testing

@Suite("A cache's log", .timeLimit(.minutes(10)))
struct LoggingTests {
  private func logger(_ level: Logger.Level) -> (InMemoryLogHandler, Logger) {
    let handler = InMemoryLogHandler()
    var logger = Logger(label: "test") { _ in handler }
    logger.logLevel = level
    return (handler, logger)
  }

  @Test("Says why something was not stored, with the request and without who asks")
  func notStored() async throws {
    let (handler, logger) = logger(.debug)
    let (cache, _) = try makeCache()
    cache.log(to: logger)
    _ = try await cache.get("/b")
    let entries = handler.entries
    #expect(
      entries.map { "\($0.level) \($0.message)" } == [
        "debug forwarded: Nothing is stored for this URI. (RFC 9111 §4)",
        "debug not stored: The response carries no-store. (RFC 9111 §5.2.2.5)",
        "debug answered: The response comes from the origin. (RFC 9111 §4)",
      ])
    let expected: Logger.Metadata = [
      "method": "GET", "uri": "https://a.example/b", "reason": "responseNoStore",
    ]
    #expect(entries[1].metadata == expected)
    #expect(entries[2].metadata["source"] == "network")
  }

  @Test(
    "Hits are traced, failures noticed, and what the level leaves out is not listened for",
    arguments: [(Logger.Level.trace, 6), (.debug, 5), (.notice, 1), (.warning, 0)])
  func levels(level: Logger.Level, count: Int) async throws {
    let (handler, logger) = logger(level)
    let (cache, _) = try makeCache()
    _ = try await cache.get("/a")
    cache.log(to: logger)
    _ = try await cache.get("/a")
    _ = try? await cache.get("/down")
    _ = try await cache.get("/b")
    // The hit; forwarded and failed; forwarded, not stored, answered.
    #expect(handler.entries.filter { $0.level >= level }.count == handler.entries.count)
    #expect(handler.entries.count == count)
  }
}
