// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCacheStore
import HTTPCaching
import InMemoryLogging
import Logging
import TestSupport
import Testing

@Suite("The log of a cache", .timeLimit(.minutes(10)))
struct LoggingTests {
  private func logger(_ level: Logger.Level) -> (InMemoryLogHandler, Logger) {
    let handler = InMemoryLogHandler()
    var logger = Logger(label: "test") { _ in handler }
    logger.logLevel = level
    return (handler, logger)
  }

  @Test("A request with user information is logged without it")
  func userInformation() async throws {
    let (handler, logger) = logger(.trace)
    let (cache, _) = try makeCache()
    cache.log(to: logger)
    for _ in 0..<2 { _ = try await cache.get("/a", authority: "user:secret@a.example") }
    #expect(handler.entries.count == 8)
    #expect(handler.entries.allSatisfy { !"\($0)".contains("secret") && $0.metadata["uri"] == "/a" })
  }

  @Test("The log says why a response was not stored")
  func notStored() async throws {
    let (handler, logger) = logger(.debug)
    let (cache, _) = try makeCache()
    cache.log(to: logger)
    _ = try await cache.get("/b")
    let entries = handler.entries
    #expect(
      entries.map { "\($0.level) \($0.message)" } == [
        "debug forwarded: Nothing is stored for this URI. (RFC 9111 §4)",
        "debug received: Nothing is stored for this URI. (RFC 9111 §4)",
        "debug not stored: The response carries no-store. (RFC 9111 §5.2.2.5)",
        "debug answered: The response comes from the origin. (RFC 9111 §4)",
      ])
    let expected: Logger.Metadata = [
      "method": "GET", "uri": "https://a.example/b", "reason": "responseNoStore",
    ]
    #expect(entries[2].metadata == expected)
    #expect(entries[3].metadata["source"] == "network")
  }

  @Test("A cache in memory instead of its directory is logged when it opens")
  func opening() throws {
    let (handler, logger) = logger(.debug)
    let error = try #require(throws: StoreError.self) {
      _ = try HTTPCache(.init(directory: "/dev/null/directory"))
    }
    var configuration = HTTPCache.Configuration()
    configuration.log(to: logger)
    let store = CacheStore.inMemory(capacity: 1 << 20, insteadOfDisk: error)
    let cache = HTTPCache(store: store, configuration: configuration)
    let message = "warning the directory cannot be opened; the cache works in memory only: \(error)"
    #expect(handler.entries.map { "\($0.level) \($0.message)" } == [message])
    cache.log(to: logger, [.stored])
    #expect(handler.entries.count == 1)
  }

  @Test(
    "Hits are logged at trace, failures at notice, and nothing below the level",
    arguments: [(Logger.Level.trace, 7), (.debug, 6), (.notice, 1), (.warning, 0)])
  func levels(level: Logger.Level, count: Int) async throws {
    let (handler, logger) = logger(level)
    let (cache, _) = try makeCache()
    _ = try await cache.get("/a")
    cache.log(to: logger)
    _ = try await cache.get("/a")
    _ = try? await cache.get("/down")
    _ = try await cache.get("/b")
    // The hit; forwarded and failed; forwarded, received, not stored, answered.
    #expect(handler.entries.filter { $0.level >= level }.count == handler.entries.count)
    #expect(handler.entries.count == count)
  }
}
