// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import TestSupport
import Testing

@Suite("Counts of answered requests", .timeLimit(.minutes(10)))
struct AnswerCountTests {
  private static func values(_ counts: HTTPCache.AnswerCounts) -> [Int] {
    CachedResponse.Source.allCases.map { counts[$0] }
  }

  @Test("Each answer counts once under its source, with and without listeners", arguments: [false, true])
  func sources(hasListener: Bool) async throws {
    let setting = try Setting { if !hasListener { $0.observers = [] } }
    let cache = setting.cache
    #expect(cache.counts.total == 0)
    let origin = MemoryOrigin { _, number in
      switch number {
      case 1: return .ok("a", [.cacheControl: "max-age=10, stale-if-error=100", .eTag: "\"1\""])
      case 2:
        return .ok(
          "", [.eTag: "\"1\"", .cacheControl: "max-age=10, stale-if-error=100"], status: .notModified)
      default: throw Unreachable()
      }
    }
    var sources = try [await setting.get(from: origin).source, await setting.get(from: origin).source]
    setting.clock.advance(seconds: 11)
    sources.append(try await setting.get(from: origin).source)
    setting.clock.advance(seconds: 11)
    sources.append(try await setting.get(from: origin).source)
    sources.append(
      try await setting.get("/b", from: origin, fields: [.cacheControl: "only-if-cached"]).source)
    #expect(sources == [.network, .hit, .validated, .stale, .generated])
    // Neither a failure nor a refusal is an answer.
    _ = try? await setting.get("/b", from: origin)
    _ = try? await setting.get("/b", from: origin, policy: .returnCacheDataDontLoad)
    #expect(Self.values(cache.counts) == [1, 1, 1, 1, 1])
    #expect(cache.counts.total == 5)
    // Also an answer without a suspension, and one that checks more than the age.
    _ = cache.storedResponse(for: .get(), policy: .returnCacheDataDontLoad)
    #expect(cache.counts.total == 6)
  }

  @Test("A revalidation in the background does not count")
  func background() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("a", [.cacheControl: "max-age=10, stale-while-revalidate=100"]) }
    _ = try await setting.get(from: origin)
    setting.clock.advance(seconds: 11)
    #expect(try await setting.get(from: origin).source == .stale)
    try await setting.cache.fetches.emptied()
    #expect(origin.requests.count == 2)
    #expect(Self.values(setting.cache.counts) == [0, 1, 0, 1, 0])
  }

  @Test("Hits of several threads all count")
  func concurrent() async throws {
    let setting = try Setting { $0.observers = [] }
    _ = try await setting.get(from: MemoryOrigin { _, _ in .ok("a") })
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask { for _ in 0..<1000 { _ = setting.cache.storedResponse(for: .get()) } }
      }
    }
    #expect(setting.cache.counts[.hit] == 8000)
  }
}
