// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("The shares of content in flight", .timeLimit(.minutes(10)))
struct TransitSharesTests {
  /// What slow clients request.
  enum Slow: CaseIterable {
    case passing, storedOfUnknownLength, storedOfKnownLength

    var fields: HTTPFields { [.cacheControl: self == .passing ? "no-store" : "max-age=60"] }
  }

  private static func pieces(_ count: Int, of size: Int, asked: Monitor<Int>? = nil) -> AsyncThrowingStream<
    ArraySlice<UInt8>, any Error
  > {
    let (given, piece) = (Monitor(0), [UInt8](repeating: 1, count: size))
    return AsyncThrowingStream {
      let number = given.withLock { given in
        given += 1
        return given
      }
      if number == 1 { asked?.withLock { $0 += 1 } }
      return number <= count ? piece[...] : nil
    }
  }

  @Test(
    "Small responses are stored while slow readers fill their own share", arguments: [150, 1000],
    Slow.allCases)
  func slowReaders(count: Int, slow: Slow) async throws {
    let setting = try Setting { $0.transitCapacity = 8 << 20 }
    let (budget, asked, size) = (setting.cache.transit, Monitor(0), TransitBudget.smallestChunk)
    let origin = MemoryOrigin { _, _ in
      .streamed(
        Self.pieces(100, of: size, asked: asked), slow.fields,
        length: slow == .storedOfKnownLength ? 100 * size : nil)
    }
    // Each has a chunk more than the budget allows, and the bytes that an array needs besides.
    let limit = budget.capacity + count * 2 * size
    var responses: [CachedResponse] = []
    for number in 0..<count {
      responses.append(
        try await setting.cache.respond(to: .get("/slow/\(number)"), transport: origin.transport))
      #expect(budget.used <= limit && budget.usedForStoring <= budget.storingCapacity + limit / 8)
    }
    try await asked.wait { $0 == count }
    for size in [5, 2000, 30_000, 64 << 10] {
      // Of unknown length, a response of this size is one of those that must leave memory free.
      for isLengthKnown in slow == .storedOfUnknownLength && size > 2000 ? [true] : [true, false] {
        let small = MemoryOrigin { _, _ in
          .streamed(Self.pieces(1, of: size), length: isLengthKnown ? size : nil)
        }
        let path = "/small/\(size)/\(isLengthKnown)"
        #expect(try await setting.get(path, from: small).text.utf8.count == size)
        #expect(try await setting.get(path, from: small).source == .hit, "\(path)")
        #expect(budget.used <= limit)
      }
    }
    // The first that moves the origins on is the reader of each.
    for response in responses {
      var received = 0
      for try await chunk in response.body { received += chunk.count }
      #expect(received == 100 * size)
    }
    responses = []
    try await setting.cache.fetches.emptied()
    #expect(budget.used == 0 && budget.leftBehind == 0)
  }

  // MARK: - The last bytes of a content

  private static func store() throws -> CacheStore { try CacheStore(.init(memoryCapacity: 16 << 20)) }

  private static func writer(_ store: CacheStore, _ key: String = "key") -> EntryWriter {
    store.makeWriter(key: StoreKey(key), variant: VariantID(rawValue: 1), metadata: [1], storedAt: 0)
  }

  /// Reserves all that is free, and returns how much.
  private static func fill(_ budget: TransitBudget) -> Int {
    let free = budget.storingCapacity - budget.usedForStoring
    budget.changeStoring(by: free)
    return free
  }

  /// A content, the part of it that arrives before the budget is full, and what follows.
  private static let contents: [(length: Int?, first: Int, last: Int, waits: Bool)] = [
    (5, 0, 5, true), (64 << 10, 0, 64 << 10, true), (nil, 0, 64 << 10, true), (nil, 20_000, 30_000, false),
    // The chunk that completes a large content, and one that does not.
    (100_000, 70_000, 30_000, true), (100_000, 20_000, 30_000, false), (300_000, 100_000, 100_000, false),
    (nil, 50_000, 30_000, false),
  ]

  @Test(
    "The last chunk of a content and content of one block wait for room and are then stored",
    arguments: contents)
  func waits(length: Int?, first: Int, last: Int, waits: Bool) async throws {
    let (clock, store) = (ManualClock(Timestamp(seconds: 0)), try Self.store())
    let budget = TransitBudget(capacity: 1 << 20, clock: clock)
    let transfer = Transfer(length: length, writer: Self.writer(store), budget: budget)
    guard case .stored = await transfer.append([UInt8](repeating: 1, count: first)[...]) else {
      Issue.record("the first chunk was not stored")
      return
    }
    let filled = Self.fill(budget)
    async let storing = transfer.append([UInt8](repeating: 2, count: last)[...])
    if waits {
      try await clock.sleepers()
      budget.changeStoring(by: -filled)
      guard case .stored = await storing else {
        Issue.record("the last chunk was not stored")
        return
      }
      #expect(transfer.takeWriter()?.commit().refusal == nil)
    } else {
      guard case .transitFull = await storing else {
        Issue.record("the chunk found room")
        return
      }
      #expect(transfer.takeWriter() == nil)
      budget.changeStoring(by: -filled)
    }
    transfer.finish(.success(()))
    #expect(budget.used == 0)
  }

  enum Ending: CaseIterable { case overdue, cancelled, neverRoom }

  @Test("A wait for room ends with the time, the task, or if it is in vain", arguments: Ending.allCases)
  func endOfWait(ending: Ending) async throws {
    let (clock, store) = (ManualClock(Timestamp(seconds: 0)), try Self.store())
    let budget = TransitBudget(capacity: ending == .neverRoom ? 8 : 1 << 20, clock: clock)
    let filled = Self.fill(budget)
    let transfer = Transfer(length: 5, writer: Self.writer(store), budget: budget)
    let appending = Task { await transfer.append([1, 2, 3, 4, 5]) }
    if ending != .neverRoom { try await clock.sleepers() }
    switch ending {
    case .overdue: clock.advance(seconds: 1)
    case .cancelled: appending.cancel()
    case .neverRoom: break
    }
    guard case .transitFull = await appending.value else {
      Issue.record("the chunk found room")
      return
    }
    transfer.finish(.success(()))
    #expect(budget.used == filled)
    budget.changeStoring(by: -filled)
  }

  @Test("Responses get room in the order in which they wait, and the end of one lets in the next")
  func order() async throws {
    let clock = ManualClock(Timestamp(seconds: 0))
    let budget = TransitBudget(capacity: 1 << 20, clock: clock)
    let (filled, granted) = (Self.fill(budget), Monitor<[Int]>([]))
    let waiting = try await [60_000, 50_000, 10_000].enumerated().asyncMap { number, bytes in
      let task = Task {
        guard await budget.waitToReserve(bytes) else { return false }
        granted.withLock { $0.append(bytes) }
        return true
      }
      try await clock.sleepers(number + 1)
      return task
    }
    budget.changeStoring(by: -20_000)
    // Room for the last only, which does not overtake; nor does a new one.
    #expect(!budget.reserve(100) && granted.withLock { $0 }.isEmpty)
    budget.changeStoring(by: -40_000)
    #expect(await waiting[0].value)
    budget.changeStoring(by: -10_000)
    waiting[1].cancel()
    #expect(await !waiting[1].value)
    #expect(await waiting[2].value)
    #expect(granted.withLock { $0 } == [60_000, 10_000])
    budget.changeStoring(by: -(filled - 70_000) - 70_000)
    #expect(budget.used == 0)
  }

  @Test("A small response waits for room, and is stored and a hit")
  func response() async throws {
    let setting = try Setting { $0.transitCapacity = 1 << 20 }
    let filled = Self.fill(setting.cache.transit)
    let origin = MemoryOrigin { _, _ in
      .streamed(Self.pieces(1, of: 10_000), length: 10_000)
    }
    async let answer = setting.get(from: origin)
    try await setting.clock.sleepers()
    setting.cache.transit.changeStoring(by: -filled)
    #expect(try await answer.text.utf8.count == 10_000)
    #expect(try await setting.get(from: origin).source == .hit)
  }

  // MARK: - Readers that do not read

  @Test(
    "Readers that do not read are left behind, and the one that reads gets everything",
    arguments: [0, 1 << 20, 64 << 20], [false, true])
  func laggards(capacity: Int, isOnDisk: Bool) async throws {
    try await withTemporaryDirectory { directory in
      let setting = try Setting(kind: .shared, directory: isOnDisk ? directory : nil) {
        $0.transitCapacity = capacity
      }
      let (chunks, source) = ByteStream.makeStream()
      // More than the store takes, of unknown length.
      let (count, size) = (1000, 32 << 10)
      let origin = MemoryOrigin { _, _ in .streamed(chunks, [.cacheControl: "max-age=60"]) }
      var idle: [CachedResponse] = []
      for _ in 0..<3 {
        idle.append(try await setting.cache.respond(to: .get(), transport: origin.transport))
      }
      let fourth = try await setting.cache.respond(to: .get(), transport: origin.transport)
      #expect(origin.requests.count == 1)
      for number in 0..<count {
        source.yield([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)[...])
      }
      source.finish()
      var received = 0
      for try await chunk in fourth.body {
        #expect(chunk.first == UInt8(truncatingIfNeeded: received / size))
        received += chunk.count
      }
      #expect(received == count * size)
      for response in idle {
        await #expect(throws: HTTPCacheError.leftBehind) { for try await _ in response.body {} }
      }
      #expect(setting.cache.transit.leftBehind == 3)
      idle = []
      try await setting.cache.fetches.emptied()
      #expect(setting.cache.transit.used == 0)
      setting.cache.close()
    }
  }

  @Test("A reader that is a little slower is not left behind", arguments: [0, 64 << 20])
  func aLittleSlower(capacity: Int) async throws {
    let budget = TransitBudget(capacity: capacity)
    let transfer = Transfer(length: nil, writer: nil, budget: budget)
    let (fast, slow) = (try #require(transfer.addReader()), try #require(transfer.addReader()))
    let chunk = [UInt8](repeating: 1, count: 4 << 10)
    for _ in 0..<3 {
      async let appended = transfer.append(chunk[...])
      #expect(try await transfer.next(fast)?.count == chunk.count)
      _ = await appended
    }
    for _ in 0..<3 { #expect(try await transfer.next(slow)?.count == chunk.count) }
    transfer.finish(.success(()))
    #expect(try await transfer.next(fast) == nil)
    #expect(try await transfer.next(slow) == nil)
    #expect(budget.leftBehind == 0)
  }

  @Test("A transfer ends when the only reader left was left behind")
  func onlyLaggards() async throws {
    let budget = TransitBudget(capacity: 0)
    let transfer = Transfer(length: nil, writer: nil, budget: budget)
    let (fast, slow) = (try #require(transfer.addReader()), try #require(transfer.addReader()))
    let chunk = [UInt8](repeating: 1, count: 32 << 10)
    for _ in 0..<3 {
      async let appended = transfer.append(chunk[...])
      #expect(try await transfer.next(fast)?.count == chunk.count)
      _ = await appended
    }
    transfer.remove(fast)
    #expect(!transfer.isRead)
    await #expect(throws: HTTPCacheError.leftBehind) { try await transfer.next(slow) }
    transfer.finish(.failure(CancellationError()))
    transfer.remove(slow)
    #expect(budget.used == 0)
  }
}

extension Sequence {
  fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result]
  {
    var results: [Result] = []
    for element in self { results.append(try await transform(element)) }
    return results
  }
}
