// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@Suite("Why the store did not keep a response", .timeLimit(.minutes(10)))
struct RefusalTests {
  /// What keeps a response of 600,000 bytes from being stored.
  enum Cause: CaseIterable {
    case memory, disk, configuredMaximum, noCapacity, closed
  }

  private func store(_ cause: Cause, _ directory: FilePath) throws -> CacheStore {
    var configuration = CacheStore.Configuration(memoryCapacity: 0)
    switch cause {
    case .memory: configuration.memoryCapacity = 300_000
    case .disk, .configuredMaximum:
      configuration.directory = directory
      configuration.diskCapacity = 1 << 20
      if cause == .configuredMaximum { configuration.maximumEntryShare = 0.25 }
    case .noCapacity: break
    case .closed: configuration.memoryCapacity = 4 << 20
    }
    return try CacheStore(configuration)
  }

  private func expected(_ cause: Cause) -> (reason: CacheEngine.Reason, limit: Int?) {
    switch cause {
    case .memory: (.tooLargeForMemory, 300_000)
    case .disk: (.tooLargeForDisk, 512 << 10)
    case .configuredMaximum: (.tooLarge, 256 << 10)
    case .noCapacity: (.noCapacity, nil)
    case .closed: (.storeClosed, nil)
    }
  }

  @Test(
    "The reason names memory, disk, the maximum or the closed store, and the event the bytes",
    arguments: Cause.allCases, [false, true])
  func reasons(cause: Cause, isStreamed: Bool) async throws {
    try await withTemporaryDirectory { directory in
      let log = EventLog()
      var configuration = HTTPCache.Configuration()
      configuration.observer = { log.add($0) }
      let cache = HTTPCache(store: try store(cause, directory), configuration: configuration)
      if cause == .closed { cache.close() }
      let content = String(repeating: "x", count: 600_000)
      let answer = try await cache.respond(to: .get()) { _, _ in
        guard isStreamed else { return .ok(content) }
        let (stream, feed) = AsyncThrowingStream<ArraySlice<UInt8>, any Error>.makeStream()
        for _ in 0..<6 { feed.yield([UInt8](repeating: 120, count: 100_000)[...]) }
        feed.finish()
        return .streamed(stream)
      }
      #expect(try await answer.body.collect(upTo: .max).count == 600_000)
      let (reason, limit) = expected(cause)
      #expect(answer.finalStorage == reason)
      let event = try #require(log.events.first { $0.action == .notStored })
      #expect(event.reason == reason && event.refusal?.limit == limit)
      #expect((event.refusal?.byteCount ?? 0 > limit ?? .max) == (limit != nil))
      if let limit { #expect(event.description.hasSuffix(" bytes, and the limit is \(limit))")) }
      cache.close()
    }
  }

  @Test("A response stored by hand that is too large is refused with the sizes")
  func byHand() throws {
    let log = EventLog()
    var configuration = HTTPCache.Configuration(memoryCapacity: 10_000)
    configuration.observer = { log.add($0) }
    let cache = try HTTPCache(configuration)
    let response = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"])
    let content = [UInt8](repeating: 1, count: 20_000)
    #expect(cache.store(response, content: content, for: .get()) == .tooLargeForMemory)
    #expect(log.events.first?.refusal?.limit == 10_000)
  }

  @Test("A response with Vary: * says that it will never be reused", arguments: ["*", "Accept, *"])
  func neverReused(vary: String) async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("x", [.cacheControl: "max-age=60", .vary: vary]) }
    for _ in 1...2 {
      let answer = try await setting.get(from: origin)
      #expect(answer.response.finalStorage == .storedNeverReused && answer.source == .network)
    }
    #expect(CacheEngine.Reason.storedNeverReused.sentence.contains("never be reused"))
    #expect(origin.requests.count == 2)
  }
}
