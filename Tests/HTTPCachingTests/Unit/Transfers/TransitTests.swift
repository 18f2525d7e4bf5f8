// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("The budget for content in flight", .timeLimit(.minutes(10)))
struct TransitTests {
  private static let piece = [UInt8](repeating: 7, count: 32 << 10)

  /// Pieces of a content, which are counted when they are asked for.
  private final class Pieces: Sendable {
    let given = EventCount()
    let count: Int

    init(_ count: Int) { self.count = count }

    var stream: ByteStream {
      AsyncThrowingStream { [self] in
        given.next() <= count ? TransitTests.piece[...] : nil
      }
    }
  }

  @Test(
    "At the limit, origins are read at the readers' pace, and every body arrives whole",
    .timeLimit(.minutes(5)), arguments: [0, 1 << 20], [false, true])
  func limit(capacity: Int, isLengthKnown: Bool) async throws {
    let setting = try Setting { $0.transitCapacity = capacity }
    let count = 24
    let origin = MemoryOrigin { _, _ in
      .streamed(Pieces(64).stream, length: isLengthKnown ? 64 * TransitTests.piece.count : nil)
    }
    var responses: [CachedResponse] = []
    for number in 0..<count {
      responses.append(
        try await setting.cache.respond(to: .get("/\(number)"), transport: origin.transport))
    }
    // One piece for each besides the budget, and what was added before the others were counted.
    #expect(setting.cache.transit.used <= capacity + count * 3 * Self.piece.count)
    for response in responses {
      var received = 0
      for try await chunk in response.body {
        received += chunk.count
        #expect(setting.cache.transit.used <= capacity + count * 3 * Self.piece.count)
      }
      #expect(received == 64 * Self.piece.count)
    }
    responses = []
    try await setting.cache.fetches.emptied()
    #expect(setting.cache.transit.used == 0)
    let reasons = Set(setting.log.reasons(.notStored))
    #expect(reasons == [.transitFull])
    #expect(setting.log.reasons(.stored).count + setting.log.reasons(.notStored).count == count)
  }

  @Test(
    "Each response that says stored is stored, however many arrive at a time (RFC 9211 §2.5)",
    .timeLimit(.minutes(5)), arguments: [1, 2, 12])
  func reserved(count: Int) async throws {
    let setting = try Setting { $0.transitCapacity = 8 << 20 }
    setting.cache.store.setCapacity(memory: 64 << 20)
    let isOpen = Gate()
    let origin = MemoryOrigin { _, _ in
      let pieces = Pieces(32)
      let stream = ByteStream {
        await isOpen.wait()
        var iterator = pieces.stream.makeAsyncIterator()
        return try await iterator.next()
      }
      return .streamed(stream, length: 32 * TransitTests.piece.count)
    }
    var responses: [CachedResponse] = []
    for number in 0..<count {
      responses.append(
        try await setting.cache.respond(to: .get("/\(number)"), transport: origin.transport))
    }
    let saidStored = responses.indices.filter { responses[$0].cacheStatus.isStored }
    // 3/4 of the half for content that will be stored.
    #expect(saidStored.count == min(count, 3))
    #expect(setting.cache.transit.used >= saidStored.count << 20)
    isOpen.open()
    // The last first: those without a reservation have the rest of the budget before the others.
    for response in responses.reversed() {
      #expect(try await response.body.collect(upTo: .max).count == 1 << 20)
    }
    for number in saidStored {
      #expect(setting.cache.storedResponse(for: .get("/\(number)")) != nil, "\(number)")
    }
    responses = []
    try await setting.cache.fetches.emptied()
    #expect(setting.cache.transit.used == 0)
  }

  @Test(
    "A response whose last reader left is finished if little is missing, and abandoned otherwise",
    .timeLimit(.minutes(5)), arguments: [(10, true), (64 << 10, true), (64 << 10 + 1, false), (nil, false)])
  func worthFinishing(missing: Int?, isFinished: Bool) async throws {
    let setting = try Setting()
    let (stream, feed) = ByteStream.makeStream()
    let isCancelled = Gate()
    feed.onTermination = { if case .cancelled = $0 { isCancelled.open() } }
    let first = [UInt8](repeating: 1, count: 100_000)
    let origin = MemoryOrigin { _, _ in
      .streamed(stream, length: missing.map { first.count + $0 })
    }
    feed.yield(first[...])
    do {
      let response = try await setting.cache.respond(to: .get(), transport: origin.transport)
      var chunks = response.body.makeAsyncIterator()
      #expect(try await chunks.next()?.count == first.count)
    }
    if isFinished {
      feed.yield([UInt8](repeating: 2, count: missing ?? 0)[...])
      feed.finish()
      try await setting.cache.fetches.emptied()
      #expect(try await setting.get(from: origin).source == .hit)
    } else {
      await isCancelled.wait()
      #expect(setting.cache.storedResponse(for: .get()) == nil)
    }
  }

  @Test("Waiting for the missing rest ends even if the origin is silent", .timeLimit(.minutes(5)))
  func silent() async throws {
    let setting = try Setting()
    let (stream, feed) = ByteStream.makeStream()
    let isCancelled = Gate()
    feed.onTermination = { _ in isCancelled.open() }
    let origin = MemoryOrigin { _, _ in
      .streamed(stream, length: 10)
    }
    var response: CachedResponse? = try await setting.cache.respond(to: .get(), transport: origin.transport)
    #expect(response != nil)
    response = nil
    try await setting.clock.sleepers()
    setting.clock.advance(seconds: 1)
    await isCancelled.wait()
    try await setting.cache.fetches.emptied()
    #expect(setting.log.reasons(.notStored) == [.incompleteContent])
  }
}
