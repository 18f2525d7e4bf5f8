// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Outcome of a response")
struct OutcomeTests {
  private typealias Stream = AsyncThrowingStream<ArraySlice<UInt8>, any Error>

  /// How the content of a response ends.
  enum End: CaseIterable {
    case complete, refusedByHook, failed, failedWithValidator, readerCancelled

    var storage: CacheEngine.Reason {
      switch self {
      case .complete: .storedWithLifetime
      case .refusedByHook: .refusedByApplication
      case .failed, .readerCancelled: .incompleteContent
      case .failedWithValidator: .storedAsPart
      }
    }

    var isStored: Bool { self == .complete || self == .failedWithValidator }
  }

  @Test("The outcome comes with the end of the content, and the head before", arguments: End.allCases)
  func end(_ end: End) async throws {
    let setting = try Setting()
    let (stream, feed) = Stream.makeStream()
    var fields: HTTPFields = [.cacheControl: "max-age=60"]
    if end == .failedWithValidator { (fields[.eTag], fields[.contentLength]) = ("\"a\"", "9") }
    let response = try await setting.cache.respond(
      to: .get(), willStore: { if end == .refusedByHook { $0.tiers = [] } },
      transport: { [fields] _, _ in .streamed(stream, fields) })
    #expect(response.head.status == .ok && !response.cacheStatus.isStored)
    #expect(response.knownOutcome.head == response.head)
    // It begins to wait before the content arrives.
    let outcome = Task.immediate { await response.outcome }
    let hasBegun = Gate()
    let reader = Task {
      for try await _ in response.body { hasBegun.open() }
    }
    feed.yield([1, 2, 3])
    await hasBegun.wait()
    switch end {
    case .complete, .refusedByHook: feed.finish()
    case .failed, .failedWithValidator: feed.finish(throwing: Unreachable())
    case .readerCancelled: reader.cancel()
    }
    let found = await outcome.value
    #expect(found.storage == end.storage && found.cacheStatus.isStored == end.isStored)
    let name = try #require(HTTPField.Name.cacheStatus)
    let status = found.head.headerFields[values: name]
    #expect(status.count == 1 && status[0].contains("; stored") == end.isStored)
    #expect(status[0].hasSuffix("detail=\(end.storage.rawValue)"))
    #expect(await response.outcome == found)
    // The head that was sent stays as it was.
    #expect(response.head.headerFields[values: name] != status)
    _ = await reader.result
  }

  @Test("A response that is not being stored has its outcome before its content is read")
  func atOnce() async throws {
    let setting = try Setting()
    let (stream, _) = Stream.makeStream()
    let refused = try await setting.cache.respond(to: .get("/refused")) { _, _ in
      .streamed(stream, [.cacheControl: "no-store"])
    }
    let refusal = await refused.outcome
    #expect(refusal.storage == .responseNoStore && refusal.head == refused.head)
    let origin = MemoryOrigin { _, _ in .ok("x") }
    _ = try await setting.get(from: origin)
    let hit = try #require(setting.cache.storedResponse(for: .get()))
    let outcome = await hit.outcome
    #expect(outcome.storage == nil && outcome.head == hit.head && outcome.cacheStatus == hit.cacheStatus)
  }

  @Test("In a cancelled task, the outcome is what is known so far")
  func cancelled() async throws {
    let setting = try Setting()
    let (stream, feed) = Stream.makeStream()
    let response = try await setting.cache.respond(to: .get()) { _, _ in .streamed(stream) }
    let waiting = Task.immediate { await response.outcome }
    waiting.cancel()
    let known = await waiting.value
    #expect(known == response.knownOutcome && !known.cacheStatus.isStored)
    feed.finish()
    for try await _ in response.body {}
    let outcome = await response.outcome
    #expect(outcome.cacheStatus.isStored)
  }
}
