// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Content between a socket and its reader", .timeLimit(.minutes(10)))
struct BodyFeedTests {
  private final class Signals: Sendable {
    let all = Recorder<BodyFeed.Signal>()
    var demands: Int { all.all.count { if case .demand = $0 { true } else { false } } }
  }

  private func feed(_ transit: TransitBudget, _ signals: Signals = Signals()) -> BodyFeed {
    BodyFeed(transit: transit) { signals.all.add($0) }
  }

  @Test("One-byte chunks occupy about their size and keep no read buffer alive")
  func tinyChunks() async throws {
    let transit = TransitBudget(capacity: 1 << 20)
    let feed = feed(transit)
    var read = ByteBuffer(repeating: 0x61, count: 64 << 10)
    for _ in 1...20_000 { feed.push(read.readSlice(length: 1) ?? ByteBuffer()) }
    #expect((20_000..<40_000).contains(transit.used), "\(transit.used)")
    feed.finish(.success(()))
    var count = 0
    for try await chunk in FeedReader(feed) { count += chunk.count }
    #expect(count == 20_000)
    #expect(transit.used == 0)
  }

  @Test(
    "A full feed signals once that it has room again",
    arguments: [1 << 30, 5 << 20, 0])
  func demand(capacity: Int) async throws {
    let (transit, signals) = (TransitBudget(capacity: capacity), Signals())
    let feed = feed(transit, signals)
    var iterator = FeedReader(feed).makeAsyncIterator()
    for round in 1...3 {
      var pushed = 0
      repeat {
        feed.push(ByteBuffer(repeating: 0x61, count: 16 << 10))
        pushed += 16 << 10
      } while !feed.isFull
      // 1/64 of what is free in a quarter of the budget, with this feed's own bytes.
      #expect(pushed >= min(BodyFeed.limit, capacity / 260) && pushed <= BodyFeed.limit)
      #expect(signals.demands == round - 1)
      while pushed > 0 {
        let chunk = try await iterator.next()
        pushed -= try #require(chunk).count
      }
      #expect(signals.demands == round)
      #expect(!feed.isFull)
    }
    #expect(transit.used == 0)
  }

  @Test("A budget filled by others stops only feeds that hold bytes")
  func othersFill() async throws {
    let (transit, signals) = (TransitBudget(capacity: 100), Signals())
    let feed = feed(transit, signals)
    transit.change(by: 100)
    #expect(!feed.isFull)
    feed.push(ByteBuffer(string: "a"))
    #expect(feed.isFull)
    // The others' bytes go: this feed is read on when its own reader has taken what it holds.
    transit.change(by: -100)
    var iterator = FeedReader(feed).makeAsyncIterator()
    #expect(try await iterator.next() == [0x61])
    #expect(signals.demands == 1)
  }

  @Test("A feed returns its bytes to the budget, however it ends", arguments: 0..<3)
  func giveBack(ending: Int) {
    let transit = TransitBudget(capacity: 1 << 20)
    var feed: BodyFeed? = feed(transit)
    feed?.push(ByteBuffer(repeating: 0x61, count: 5000))
    #expect(transit.used >= 5000)
    switch ending {
    case 0: feed?.abandon()
    case 1:
      feed?.finish(.failure(CancellationError()))
      _ = feed.map { FeedReader($0) }
    default: break
    }
    if ending < 2 { #expect(transit.used == 0) }
    feed = nil
    #expect(transit.used == 0)
  }
}
