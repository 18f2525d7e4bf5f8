// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@Suite("Refusals of the store", .timeLimit(.minutes(10)))
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
    "The reason names the limit or state that prevented storing, the event the bytes",
    arguments: Cause.allCases, [false, true])
  func reasons(cause: Cause, isStreamed: Bool) async throws {
    try await withTemporaryDirectory { directory in
      let log = Recorder<CacheEvent>()
      var configuration = HTTPCache.Configuration()
      configuration.observe { log.add($0) }
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
      #expect(await answer.outcome.storage == reason)
      let event = try #require(log.all.first { $0.action == .notStored })
      #expect(event.reason == reason && event.refusal?.limit == limit)
      #expect((event.refusal?.byteCount ?? 0 > limit ?? .max) == (limit != nil))
      if let limit { #expect(event.description.hasSuffix(" bytes, and the limit is \(limit))")) }
      cache.close()
    }
  }

  @Test(
    "A response that neither tier can take reports a failing disk",
    arguments: [100, 600_000])
  func diskFailing(size: Int) async throws {
    try await withTemporaryDirectory { directory in
      let log = Recorder<CacheEvent>()
      var configuration = HTTPCache.Configuration()
      configuration.observe { log.add($0) }
      let store = try CacheStore(.init(memoryCapacity: 0, diskCapacity: 4 << 20, directory: directory))
      let cache = HTTPCache(store: store, configuration: configuration)
      let restore = try cutOff(directory)
      defer { restore() }
      let content = String(repeating: "x", count: size)
      let answer = try await cache.respond(to: .get()) { _, _ in .ok(content) }
      #expect(try await answer.body.collect(upTo: .max).count == size)
      #expect(await answer.outcome.storage == .diskFailing)
      let event = try #require(log.all.first { $0.action == .notStored })
      #expect(event.reason == .diskFailing && event.refusal?.reason == .inputOutput)
      #expect(event.refusal?.limit == nil && store.statistics.ioErrors > 0)
      cache.close()
    }
  }

  @Test("A cache that is closed while a response is in flight reports that", arguments: [false, true])
  func closedMeanwhile(variesByRule: Bool) async throws {
    let setting = try Setting { $0.rules.usesNoVarySearch = true }
    var fields: HTTPFields = [.cacheControl: "max-age=60"]
    if variesByRule { fields[try #require(HTTPField.Name("No-Vary-Search"))] = "params=(\"utm\")" }
    let origin = MemoryOrigin { [cache = setting.cache, fields] _, _ in
      cache.close()
      return .ok("x", fields)
    }
    let answer = try await setting.get("/?utm=a", from: origin)
    #expect(answer.text == "x")
    #expect(await answer.response.outcome.storage == .storeClosed)
    #expect(setting.log.reasons(.notStored) == [.storeClosed])
  }

  @Test("A response reports a busy store while others that are being stored fill it")
  func storeBusy() async throws {
    try await withTemporaryDirectory { directory in
      let log = Recorder<CacheEvent>()
      var configuration = HTTPCache.Configuration()
      configuration.observe { log.add($0) }
      let store = try CacheStore(
        .init(memoryCapacity: 0, diskCapacity: 1 << 20, directory: directory))
      let cache = HTTPCache(store: store, configuration: configuration)
      let block = [UInt8](repeating: 120, count: 400_000)
      var feeds: [AsyncThrowingStream<ArraySlice<UInt8>, any Error>.Continuation] = []
      var readers: [Task<CacheEngine.Reason?, any Error>] = []
      for number in 0..<2 {
        let hasBegun = Gate()
        let (stream, feed) = AsyncThrowingStream<ArraySlice<UInt8>, any Error>.makeStream()
        feed.yield(block[...])
        feeds.append(feed)
        let answer = try await cache.respond(to: .get("/\(number)")) { _, _ in .streamed(stream) }
        readers.append(
          Task {
            for try await _ in answer.body { hasBegun.open() }
            return await answer.outcome.storage
          })
        // What a reader has is reserved on the disk.
        await hasBegun.wait()
      }
      #expect(store.usage.diskBytes > 750_000)
      let content = String(repeating: "x", count: 400_000)
      let answer = try await cache.respond(to: .get("/2")) { _, _ in .ok(content) }
      #expect(try await answer.body.collect(upTo: .max).count == 400_000)
      #expect(await answer.outcome.storage == .storeBusy)
      let event = try #require(log.all.first { $0.action == .notStored })
      #expect(event.reason == .storeBusy && event.refusal?.reason == .noRoom && event.refusal?.limit == nil)
      for feed in feeds { feed.finish() }
      for reader in readers { #expect(try await reader.value == .storedWithLifetime) }
      // When they are stored there is room again: the oldest makes it.
      let later = try await cache.respond(to: .get("/2")) { _, _ in .ok(content) }
      _ = try await later.body.collect(upTo: .max)
      #expect(await later.outcome.storage == .storedWithLifetime)
      cache.close()
    }
  }

  @Test("An explicitly stored response that is too large is refused with the limit")
  func byHand() throws {
    let log = Recorder<CacheEvent>()
    var configuration = HTTPCache.Configuration(memoryCapacity: 10_000)
    configuration.observe { log.add($0) }
    let cache = try HTTPCache(configuration)
    let response = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"])
    let content = [UInt8](repeating: 1, count: 20_000)
    #expect(cache.store(response, content: content, for: .get()) == .tooLargeForMemory)
    #expect(log.all.first?.refusal?.limit == 10_000)
  }

  @Test("A response with Vary: * is reported as never reused", arguments: ["*", "Accept, *"])
  func neverReused(vary: String) async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("x", [.cacheControl: "max-age=60", .vary: vary]) }
    for _ in 1...2 {
      let answer = try await setting.get(from: origin)
      #expect(await answer.response.outcome.storage == .storedNeverReused)
      #expect(answer.source == .network)
    }
    #expect(CacheEngine.Reason.storedNeverReused.sentence.contains("never be reused"))
    #expect(origin.requests.count == 2)
  }
}
