// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import HTTPCacheStore
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Content in flight", .timeLimit(.minutes(10)))
struct TransferTests {
  /// What the store may be for a transfer.
  enum Place: CaseIterable {
    case nowhere, memory, smallMemory, disk, smallDisk
  }

  /// Chunks of random sizes, readers that come and go and read at random, and a budget that is too small now and then:
  /// each reader gets the content from its first byte on, and nothing is held in the end.
  @Test(
    "Every reader gets all bytes in order, whatever the others do", .timeLimit(.minutes(5)),
    arguments: Place.allCases, 0..<usually(4, long: 40))
  func model(place: Place, seed: Int) async throws {
    try await withTemporaryDirectory { directory in
      var generator = SplitMix64(seed: UInt64(seed))
      let store = try CacheStore(Self.configuration(place, directory: directory))
      let budget = TransitBudget(capacity: [0, 100_000, 64 << 20].randomElement(using: &generator) ?? 0)
      let sizes = (0..<Int.random(in: 1...60, using: &generator)).map { _ in
        [1, 10, 3000, 5000, 70_000].randomElement(using: &generator) ?? 1
      }
      let total = sizes.reduce(0, +)
      let content = contentBytes(total)
      let readers = Int.random(in: 0...4, using: &generator)
      let plans = (0..<readers).map { _ in
        ReadingPlan(
          joinsAfter: Bool.random(using: &generator) ? 0 : Int.random(in: 0..<total, using: &generator),
          leavesAfter: Int.random(in: 0..<4, using: &generator) == 0
            ? Int.random(in: 0..<total, using: &generator) : nil,
          pauses: Bool.random(using: &generator))
      }
      let breaksOff = Int.random(in: 0..<4, using: &generator) == 0
      let weakObjects = try await Self.transfer(
        sizes, content, to: plans, place == .nowhere ? nil : store, budget, breaksOff: breaksOff)
      #expect(weakObjects.transfer == nil && weakObjects.writer == nil)
      #expect(budget.used == 0)
      store.close()
    }
  }

  @Test(
    "A reader gets only its part of the stored content, however slow it is",
    .timeLimit(.minutes(5)), arguments: [Place.memory, .disk, .nowhere], [10, 5000, 100_000, 700_000])
  func part(place: Place, size: Int) async throws {
    try await withTemporaryDirectory { directory in
      let store = try CacheStore(Self.configuration(place, directory: directory))
      let writer = place == .nowhere ? nil : Self.writer(store)
      let transfer = Transfer(length: nil, writer: writer, budget: TransitBudget(capacity: 64 << 20))
      let reader = try #require(transfer.addReader(at: Transfer.later))
      let part = contentBytes(size)
      // Nothing of the part is read before all of it is stored.
      async let arriving: Void = {
        _ = await transfer.append([UInt8](repeating: 0xBB, count: 70_000)[...])
        transfer.beginForReaders()
        transfer.changeWaiters(by: 1)
        for start in stride(from: 0, to: size, by: 40_000) {
          _ = await transfer.append(part[start..<Swift.min(start + 40_000, size)])
        }
        transfer.endForReaders()
        _ = await transfer.append([UInt8](repeating: 0xAA, count: 70_000)[...])
        var entry: StoredBody?
        if case .stored(let id) = transfer.takeWriter()?.commit() {
          entry = store.lookup(StoreKey("key")).first { $0.id == id }?.body
        }
        transfer.finish(.success(()), entry: transfer.hasLaggards ? entry : nil)
      }()
      await arriving
      var received: [UInt8] = []
      while let chunk = try await transfer.next(reader) { received += chunk }
      #expect(received == part)
      transfer.remove(reader)
      store.close()
    }
  }

  @Test("Every reader of a file is woken while the budget is full", .timeLimit(.minutes(5)))
  func wakeUp() async throws {
    try await withTemporaryDirectory { directory in
      let store = try CacheStore(Self.configuration(.disk, directory: directory))
      let sizes = [1 << 20] + (0..<1500).map { 1 + $0 * 7919 % 12_000 }
      let budget = TransitBudget(capacity: 1 << 20)
      budget.change(by: budget.passingCapacity)
      let content = [UInt8](repeating: 1, count: 1 << 20)
      for _ in 0..<6 {
        let transfer = Transfer(length: nil, writer: Self.writer(store), budget: budget)
        transfer.changeWaiters(by: 1)
        let reader = try #require(transfer.addReader())
        let hasAll = Gate()
        let reading = Task {
          var missing = sizes.reduce(0, +)
          while let chunk = try await transfer.next(reader) {
            missing -= chunk.count
            if missing == 0 { hasAll.open() }
          }
        }
        for size in sizes { _ = await transfer.append(content[..<size]) }
        // Before the end, which would wake every reader.
        await hasAll.wait()
        transfer.takeWriter()?.cancel()
        transfer.finish(.success(()))
        try await reading.value
        transfer.remove(reader)
      }
      store.close()
    }
  }

  struct WeakObjects {
    weak var transfer: Transfer?
    weak var writer: EntryWriter?
  }

  private static func transfer(
    _ sizes: [Int], _ content: [UInt8], to plans: [ReadingPlan], _ store: CacheStore?,
    _ budget: TransitBudget,
    breaksOff: Bool
  ) async throws -> WeakObjects {
    let arrived = Monitor(0)
    let writer = store.map(Self.writer)
    let shared = Transfer(length: nil, writer: writer, budget: budget)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for plan in plans where plan.joinsAfter == 0 {
        if let reader = shared.addReader() {
          group.addTask { try await plan.read(shared, reader, content, breaksOff: breaksOff) }
        }
      }
      for plan in plans where plan.joinsAfter > 0 {
        group.addTask {
          try await arrived.wait { $0 >= plan.joinsAfter }
          // The beginning may be gone.
          guard let reader = shared.addReader() else { return }
          try await plan.read(shared, reader, content, breaksOff: breaksOff)
        }
      }
      group.addTask {
        var position = 0
        for size in sizes {
          if case .refused(let refusal) = await shared.append(content[position..<position + size]) {
            #expect([.tooLargeForMemory, .tooLargeForDisk].contains(refusal.reason))
          }
          position += size
          arrived.withLock { [position] in $0 = position }
          #expect(budget.used <= budget.capacity + overshoot)
        }
        let writer = shared.takeWriter()
        var entry: StoredBody?
        if breaksOff {
          writer?.cancel()
          shared.finish(.failure(Unreachable()))
        } else {
          if case .stored(let id) = writer?.commit(), let store {
            entry = store.lookup(StoreKey("key")).first { $0.id == id }?.body
          }
          shared.finish(.success(()), entry: shared.hasLaggards ? entry : nil)
        }
        arrived.withLock { $0 = .max }
      }
      try await group.waitForAll()
    }
    return WeakObjects(transfer: shared, writer: writer)
  }

  private static func writer(_ store: CacheStore) -> EntryWriter {
    store.makeWriter(key: StoreKey("key"), variant: VariantID(rawValue: 1), metadata: [1], storedAt: 0)
  }

  /// One chunk, the gathering of small ones, and the chunk of a file.
  private static let overshoot = 256 << 10

  private static func configuration(_ place: Place, directory: FilePath) -> CacheStore.Configuration {
    switch place {
    case .nowhere, .memory: .init(memoryCapacity: 64 << 20)
    case .smallMemory: .init(memoryCapacity: 100_000)
    case .disk: .init(memoryCapacity: 0, diskCapacity: 64 << 20, directory: directory)
    case .smallDisk: .init(memoryCapacity: 0, diskCapacity: 1 << 20, directory: directory)
    }
  }
}

/// What one reader does.
private struct ReadingPlan: Sendable {
  var joinsAfter: Int
  var leavesAfter: Int?
  var pauses: Bool

  func read(
    _ transfer: Transfer, _ reader: Transfer.ReaderID, _ content: [UInt8], breaksOff: Bool
  ) async throws {
    defer { transfer.remove(reader) }
    var position = 0
    do {
      while let chunk = try await transfer.next(reader) {
        #expect(chunk.elementsEqual(content[position..<Swift.min(position + chunk.count, content.count)]))
        position += chunk.count
        if let leavesAfter, position > leavesAfter { return }
        if pauses { await passTurn() }
      }
      #expect(position == content.count && !breaksOff)
    } catch is Unreachable {
      #expect(breaksOff)
    } catch let error as HTTPCacheError where error == .leftBehind {
      // Another reader was faster, or came later than this one and read on.
    } catch let error as HTTPCacheError where error == .incompleteContent {
      // The file of a transfer that ended early is gone with it.
      #expect(breaksOff)
    }
  }
}
