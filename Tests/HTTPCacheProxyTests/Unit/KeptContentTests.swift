// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Content that is kept for another attempt", .timeLimit(.minutes(10)))
struct KeptContentTests {
  private struct Broken: Error {}

  private static func body(_ counts: [Int], fails: Bool = false) -> MessageBody {
    let (stream, continuation) = AsyncThrowingStream<ArraySlice<UInt8>, any Error>.makeStream()
    for (index, count) in counts.enumerated() {
      continuation.yield([UInt8](repeating: UInt8(index), count: count)[...])
    }
    continuation.finish(throwing: fails ? Broken() : nil)
    return MessageBody(stream, length: nil)
  }

  /// Reads so many chunks.
  private static func read(_ content: KeptContent, _ count: Int) async throws -> [Int] {
    var iterator = content.makeAsyncIterator()
    var counts: [Int] = []
    for _ in 0..<count { if let chunk = try await iterator.next() { counts.append(chunk.count) } }
    return counts
  }

  @Test(
    "An attempt has all of the content, however much of it others have read, up to a window of bytes",
    arguments: [
      [], [1], [10, 20, 30], [65_535], [65_535, 1], [40_000, 40_000], [65_536], [65_536, 1], [65_537, 1],
      [100_000, 100_000],
    ])
  func attempts(counts: [Int]) async throws {
    for read in 0...counts.count + 1 {
      let transit = TransitBudget(capacity: 64 << 20)
      let content = KeptContent(Self.body(counts), transit: transit)
      let prefix = Array(counts.prefix(read))
      #expect(try await Self.read(content, read) == prefix)
      // What follows more than a window is read after all before it was sent.
      let isGone = read > 0 && counts.prefix(read - 1).reduce(0, +) > KeptContent.limit
      #expect(content.isWhole == !isGone)
      #expect(transit.used == (isGone ? 0 : prefix.reduce(0, +)))
      if isGone {
        await #expect(throws: HTTPCacheError.self) { try await Self.read(content, 1) }
      } else {
        let isLong = counts.dropLast().reduce(0, +) > KeptContent.limit
        #expect(try await Self.read(content, counts.count + (isLong ? 0 : 1)) == counts)
      }
      content.release()
      #expect(transit.used == 0)
    }
  }

  @Test("Released content goes on for its only attempt, and has no other")
  func released() async throws {
    let transit = TransitBudget(capacity: 64 << 20)
    let content = KeptContent(Self.body([10, 20, 30]), transit: transit)
    var iterator = content.makeAsyncIterator()
    #expect(try await iterator.next()?.count == 10)
    content.release()
    #expect(transit.used == 0 && !content.isWhole)
    #expect(try await iterator.next()?.count == 20 && transit.used == 0)
    await #expect(throws: HTTPCacheError.self) { try await Self.read(content, 1) }
    #expect(try await iterator.next()?.count == 30)
    #expect(try await iterator.next() == nil)
    // Nothing was read before.
    let unread = KeptContent(Self.body([10]), transit: transit)
    unread.release()
    #expect(unread.isWhole)
    #expect(try await Self.read(unread, 2) == [10])
  }

  @Test("The error of the content reaches each attempt")
  func error() async throws {
    let content = KeptContent(Self.body([10], fails: true), transit: TransitBudget(capacity: 64 << 20))
    for _ in 1...2 { await #expect(throws: Broken.self) { try await Self.read(content, 2) } }
  }

  @Test("An attempt that is cancelled while it waits leaves what it waits for to the next one")
  func cancelled() async throws {
    let transit = TransitBudget(capacity: 64 << 20)
    let (demands, isAbandoned) = (Recorder<Bool>(), Recorder<Bool>())
    let feed = BodyFeed(transit: transit) { signal in
      if case .abandoned = signal { isAbandoned.add(true) } else { demands.add(true) }
    }
    let content = KeptContent(MessageBody(FeedReader(feed), length: nil), transit: transit)
    feed.push(.init(string: "abc"))
    let first = Task { try await Self.read(content, 2) }
    try await demands.reach(1)
    first.cancel()
    let second = Task { try await Self.read(content, 3) }
    feed.push(.init(string: "de"))
    feed.finish(.success(()))
    #expect(try await second.value == [3, 2])
    _ = try? await first.value
    #expect(isAbandoned.all.isEmpty)
    content.release()
    #expect(transit.used == 0)
  }
}
