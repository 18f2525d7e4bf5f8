// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Requests that begin without waiting", .timeLimit(.minutes(10)))
struct BeginTests {
  private func begun(_ beginning: HTTPCache.Beginning) -> PendingRequest? {
    if case .pending(let pending) = beginning { pending } else { nil }
  }

  private func answer(_ beginning: HTTPCache.Beginning) -> CachedResponse? {
    if case .answer(let response) = beginning { response } else { nil }
  }

  @Test("A miss is looked up once, and the next request is a hit at once", arguments: [false, true])
  func lookedUpOnce(hasDisk: Bool) async throws {
    try await withTemporaryDirectory { directory in
      let setting = try Setting(directory: hasDisk ? directory : nil)
      let origin = MemoryOrigin { _, _ in .ok("a") }
      let pending = try #require(begun(setting.cache.begin(.get())))
      let response = try await setting.cache.respond(to: pending, transport: origin.transport)
      #expect(response.source == .network)
      #expect(try await response.body.collect(upTo: 10) == Array("a".utf8)[...])
      #expect(setting.cache.store.statistics.misses == 1)
      let hit = try #require(answer(setting.cache.begin(.get())))
      #expect(hit.source == .hit && hit.body.bytes == Array("a".utf8)[...])
      #expect(origin.requests.count == 1)
    }
  }

  @Test("A request that was begun and dropped leaves nothing in flight")
  func dropped() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("a") }
    _ = setting.cache.begin(.get())
    #expect(setting.cache.fetches.count == 0)
    #expect(try await setting.get(from: origin).response.cacheStatus.isCollapsed == nil)
  }

  @Test("What another request has stored since a request began answers it")
  func storedMeanwhile() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, number in .ok("\(number)") }
    let pending = try #require(begun(setting.cache.begin(.get())))
    #expect(try await setting.get(from: origin).text == "1")
    let response = try await setting.cache.respond(to: pending, transport: origin.transport)
    #expect(response.source == .hit && response.body.bytes == Array("1".utf8)[...])
    #expect(origin.requests.count == 1)
  }

  @Test("A stale response that is revalidated in the background needs the transport")
  func staleWhileRevalidate() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, number in
      .ok("\(number)", [.cacheControl: "max-age=1, stale-while-revalidate=100"])
    }
    _ = try await setting.get(from: origin)
    setting.clock.advance(seconds: 10)
    let pending = try #require(begun(setting.cache.begin(.get())))
    #expect(origin.requests.count == 1)
    let response = try await setting.cache.respond(to: pending, transport: origin.transport)
    #expect(response.source == .stale && response.body.bytes == Array("1".utf8)[...])
    try await setting.cache.fetches.emptied()
    #expect(answer(setting.cache.begin(.get()))?.body.bytes == Array("2".utf8)[...])
  }

  @Test("A stale response that the policy permits is an answer at once")
  func policy() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, number in .ok("\(number)", [.cacheControl: "max-age=1"]) }
    _ = try await setting.get(from: origin)
    setting.clock.advance(seconds: 10)
    #expect(begun(setting.cache.begin(.get())) != nil)
    let response = answer(setting.cache.begin(.get(), policy: .returnCacheDataElseLoad))
    #expect(response?.source == .stale)
  }

  @Test("A request that must not be forwarded is refused when it continues, with the policy it began with")
  func refused() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("a") }
    let policy = try #require(begun(setting.cache.begin(.get(), policy: .returnCacheDataDontLoad)))
    await #expect(throws: HTTPCacheError.self) {
      try await setting.cache.respond(to: policy, transport: origin.transport)
    }
    let directive = try #require(
      begun(setting.cache.begin(.get(fields: [.cacheControl: "only-if-cached"]))))
    let response = try await setting.cache.respond(to: directive, transport: origin.transport)
    #expect(response.source == .generated && response.head.status == .gatewayTimeout)
    #expect(origin.requests.isEmpty)
  }

  @Test("A request keeps the partition that it began in")
  func partition() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, number in .ok("\(number)") }
    for partition in ["a", "b"] {
      let pending = try #require(begun(setting.cache.begin(.get(), partition: partition)))
      _ = try await setting.cache.respond(to: pending, transport: origin.transport)
    }
    #expect(answer(setting.cache.begin(.get(), partition: "b"))?.body.bytes == Array("2".utf8)[...])
    #expect(begun(setting.cache.begin(.get())) != nil)
  }
}
