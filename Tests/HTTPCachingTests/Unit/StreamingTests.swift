// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Content that is stored while it arrives", .timeLimit(.minutes(10)))
struct StreamingTests {
  @Test("The caller reads each piece on arrival, and others see the response once complete")
  func passesThrough() async throws {
    let setting = try Setting()
    let (stream, feed) = ByteStream.makeStream()
    let origin = MemoryOrigin { _, _ in .streamed(stream) }
    let response = try await setting.cache.respond(to: .get(), transport: origin.transport)
    var pieces = response.body.makeAsyncIterator()
    feed.yield([1, 2])
    #expect(try await pieces.next() == [1, 2])
    #expect(setting.cache.storedResponse(for: .get()) == nil)
    feed.yield([3])
    feed.finish()
    #expect(try await pieces.next() == [3])
    #expect(try await pieces.next() == nil)
    #expect(setting.cache.storedResponse(for: .get())?.body.bytes == [1, 2, 3])
  }

  @Test("A broken transfer throws its error and stores nothing that cannot be resumed")
  func breaksOff() async throws {
    let setting = try Setting()
    let (stream, feed) = ByteStream.makeStream()
    let origin = MemoryOrigin { _, _ in .streamed(stream) }
    feed.yield([1, 2])
    feed.finish(throwing: Unreachable())
    let response = try await setting.cache.respond(to: .get(), transport: origin.transport)
    await #expect(throws: Unreachable.self) { try await response.body.collect(upTo: .max) }
    #expect(setting.cache.storedResponse(for: .get()) == nil)
    #expect(setting.log.reasons(.notStored) == [.incompleteContent])
    #expect(setting.cache.store.usage.memoryBytes == 0)
  }

  @Test("Content shorter or longer than Content-Length says is not stored", arguments: ["2", "4"])
  func wrongLength(length: String) async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in
      .ok("abc", [.cacheControl: "max-age=60", .contentLength: length])
    }
    _ = try await setting.get(from: origin)
    #expect(setting.cache.storedResponse(for: .get()) == nil)
    #expect(setting.log.reasons(.notStored) == [.incompleteContent])
  }

  @Test("A body dropped halfway is not stored if it could not be completed")
  func dropped() async throws {
    let setting = try Setting()
    let (stream, feed) = ByteStream.makeStream()
    let ended = Gate()
    feed.onTermination = { _ in ended.open() }
    let origin = MemoryOrigin { _, _ in .streamed(stream) }
    feed.yield([1])
    var response: CachedResponse? = try await setting.cache.respond(to: .get(), transport: origin.transport)
    #expect(response?.intent == .storedWithLifetime)
    response = nil
    await ended.wait()
    #expect(setting.cache.storedResponse(for: .get()) == nil)
  }

  @Test("The origin is read at the caller's pace, with a bounded lead")
  func backPressure() async throws {
    let setting = try Setting()
    let lead = Lead()
    let piece = [UInt8](repeating: 7, count: 64 * 1024)
    let origin = MemoryOrigin { _, _ in
      .streamed(ByteStream { lead.give() <= 1000 ? piece[...] : nil }, [.cacheControl: "no-store"])
    }
    let response = try await setting.cache.respond(to: .get(), transport: origin.transport)
    var received = 0
    for try await chunk in response.body {
      received += chunk.count
      lead.taken(received / piece.count)
    }
    #expect(lead.largest <= 16)
    #expect(received == 1000 * piece.count)
  }

  @Test("The origin is read at the caller's pace again once all others have left")
  func backPressureReturns() async throws {
    let setting = try Setting()
    let lead = Lead()
    let isFollowed = Gate()
    let origin = MemoryOrigin { _, _ in
      .streamed(
        ByteStream {
          let number = lead.give()
          if number == 2 { await isFollowed.wait() }
          return number <= 100 ? [UInt8](repeating: 7, count: 64 * 1024)[...] : nil
        }, [.cacheControl: "max-age=60"])
    }
    let response = try await setting.cache.respond(to: .get(), transport: origin.transport)
    let follower = Task { try await setting.get(from: origin) }
    try await setting.cache.fetches.followers(1)
    follower.cancel()
    await #expect(throws: CancellationError.self) { try await follower.value }
    isFollowed.open()
    var received = 0
    for try await chunk in response.body {
      received += chunk.count
      lead.taken(received / (64 * 1024))
    }
    #expect(received == 100 * 64 * 1024)
    #expect(lead.largest <= 16)
  }

  @Test("A caller that does not read does not block the others")
  func unreadLeader() async throws {
    let setting = try Setting()
    let (stream, feed) = ByteStream.makeStream()
    let origin = MemoryOrigin { _, _ in .streamed(stream) }
    let leader = try await setting.cache.respond(to: .get(), transport: origin.transport)
    let follower = Task { try await setting.get(from: origin).text.utf8.count }
    try await setting.cache.fetches.followers(1)
    let piece = [UInt8](repeating: 65, count: 100_000)
    for _ in 0..<10 { feed.yield(piece[...]) }
    feed.finish()
    #expect(try await follower.value == 1_000_000)
    #expect(try await leader.body.collect(upTo: .max).count == 1_000_000)
    #expect(origin.requests.count == 1)
  }

  @Test("A body from the network can be read once, and a second reading throws an error")
  func readTwice() async throws {
    let setting = try Setting()
    let (stream, feed) = ByteStream.makeStream()
    let origin = MemoryOrigin { _, _ in .streamed(stream) }
    feed.finish()
    let response = try await setting.cache.respond(to: .get(), transport: origin.transport)
    _ = try await response.body.collect(upTo: .max)
    await #expect(throws: HTTPCacheError.bodyAlreadyRead) { try await response.body.collect(upTo: .max) }
  }

  @Test("Content larger than the caller's limit is an error")
  func limit() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("12345") }
    let response = try await setting.cache.respond(to: .get(), transport: origin.transport)
    await #expect(throws: HTTPCacheError.contentTooLarge(limit: 4)) {
      try await response.body.collect(upTo: 4)
    }
  }

  @Test("A stored response survives a restart and is served from disk")
  func restart() async throws {
    try await withTemporaryDirectory { directory in
      let origin = MemoryOrigin { _, number in
        .ok("\(number)", [.cacheControl: "max-age=60", .eTag: "\"e\""])
      }
      do {
        let setting = try Setting(directory: directory)
        _ = try await setting.get(from: origin)
        setting.cache.store.close()
      }
      let again = try Setting(directory: directory)
      let answer = try await again.get(from: origin)
      #expect(answer.text == "1")
      #expect(answer.source == .hit)
      #expect(origin.requests.count == 1)
      #expect(again.cache.store.statistics.diskHits == 1)
      again.cache.store.close()
    }
  }

  @Test("Large content streams to disk and back unchanged")
  func large() async throws {
    try await withTemporaryDirectory { directory in
      let setting = try Setting(directory: directory)
      let piece = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 17) }
      let origin = MemoryOrigin { _, _ in
        let (stream, feed) = ByteStream.makeStream()
        for _ in 0..<48 { feed.yield(piece[...]) }
        feed.finish()
        return .streamed(stream)
      }
      for expected in [CachedResponse.Source.network, .hit] {
        let response = try await setting.cache.respond(to: .get(), transport: origin.transport)
        #expect(response.source == expected)
        let body = try await response.body.collect(upTo: .max)
        #expect(body.count == 48 * piece.count)
        #expect(body.suffix(piece.count) == piece[...])
      }
      setting.cache.store.close()
    }
  }
}

/// How far an origin is ahead of the caller, in pieces. It has the next one at hand whenever it is asked: unless it is held
/// back, it is far ahead of any caller.
private final class Lead: Sendable {
  private let state = Mutex((given: 0, taken: 0, largest: 0))

  /// The number of the next piece.
  func give() -> Int {
    state.withLock { state in
      state.given += 1
      state.largest = max(state.largest, state.given - state.taken)
      return state.given
    }
  }

  func taken(_ count: Int) { state.withLock { $0.taken = count } }
  var largest: Int { state.withLock { $0.largest } }
}
