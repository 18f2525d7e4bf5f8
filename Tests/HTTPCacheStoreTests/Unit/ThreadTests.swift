// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import TestSupport
import Testing

@testable import HTTPCacheStore

/// Runs work on as many threads as there are, none of it waiting for another.
func inParallel(_ count: Int, _ work: @escaping @Sendable (Int) -> Void) async {
  await withTaskGroup(of: Void.self) { group in
    for index in 0..<count { group.addTask { work(index) } }
  }
}

@Suite("Concurrent use of a store", .timeLimit(.minutes(10)))
struct ThreadTests {
  let scratch = ScratchDirectory()

  @Test(
    "Concurrent inserts never exceed the capacity", arguments: [1, 8], EvictionPolicy.allCases
  )
  func capacity(shards: Int, policy: EvictionPolicy) async throws {
    let memory = 200_000
    var configuration = scratch.configuration(memory: memory, disk: 1 << 20)
    configuration.shardCount = shards
    configuration.eviction = policy
    configuration.largeBodyThreshold = 30_000
    let store = try CacheStore(configuration)
    let capacity = store.capacity
    let violations = Atomic<Int>(0)
    await inParallel(4) { index in
      var random = SplitMix64(seed: UInt64(index))
      for step in 0..<usually(400, long: 1000) {
        let number = Int.random(in: 0..<200, using: &random)
        let size = step % 50 == 0 ? 100_000 : Int.random(in: 0..<6000, using: &random)
        store.insert(entry(key(number), number: number, size: size, tiers: step % 3 == 0 ? .memory : .all))
        // While the others are in the middle of whatever they do.
        let usage = store.usage
        if usage.memoryBytes > capacity.memory || usage.diskBytes > capacity.disk { violations.increment() }
        for found in store.lookup(key(number + 1))
        where Array(found.metadata) != Array("head \(number + 1)".utf8) {
          violations.increment()
        }
      }
    }
    #expect(violations.value == 0)
    #expect(store.statistics.memoryEvictions > 0 && store.statistics.ioErrors == 0)
    #expect(store.statistics.corruptRecords == 0 && store.hasRightSums)
    store.removeAll()
    #expect(store.usage.memoryBytes == 0)
  }

  /// Every thread writes a key's generations in order; a removed generation must never be seen again.
  @Test(
    "A concurrent lookup returns nothing that was removed before it, in either tier",
    arguments: [true, false],
    EvictionPolicy.allCases)
  func removals(withDisk: Bool, policy: EvictionPolicy) async throws {
    var configuration = scratch.configuration(memory: 60_000)
    if !withDisk { configuration.directory = nil }
    if policy == .s3fifo { configuration.diskAdmission = .secondTime }
    configuration.shardCount = 2
    configuration.eviction = policy
    let store = try CacheStore(configuration)
    let keys = 4
    let removed = (0..<keys).map { _ in Generation() }
    let violations = Atomic<Int>(0)
    await inParallel(4) { index in
      var random = SplitMix64(seed: UInt64(index) + 77)
      for step in 0..<2000 {
        let number = Int.random(in: 0..<keys, using: &random)
        switch index {
        case 0:
          // What is stored is what was current when the token was taken, as a response from an origin is.
          let token = store.removalToken(for: key(number))
          let generation = removed[number].value + 1
          store.insert(
            entry(key(number), number: generation, size: 300, tiers: step % 4 == 0 ? .disk : .all),
            unlessRemovedSince: token)
          if step % 5 == 0 { store.insert(entry(key(1000 + step), size: 5000)) }
        case 1 where step % 4 == 0:
          let next = removed[number].value + 1
          // From here on generation `next` is outdated; it is gone when remove returns.
          removed[number].begin(next)
          if step % 40 == 0 { store.removeAll() } else { store.remove(key(number)) }
          removed[number].end(next)
        default:
          let gone = removed[number].finished
          for found in store.lookup(key(number)) {
            let text = String(decoding: found.metadata.dropFirst(5), as: UTF8.self)
            if (Int(text) ?? 0) <= gone || !holds(found, number: Int(text) ?? 0, size: 300) {
              violations.increment()
            }
          }
        }
      }
    }
    #expect(violations.value == 0)
    #expect((store.statistics.diskRejections > 0) == (withDisk && policy == .s3fifo))
  }

  @Test("A sweep is not undone by a concurrent insert or update", arguments: [true, false])
  func sweepsMeetInserts(withDisk: Bool) async throws {
    var configuration =
      withDisk ? scratch.configuration(memory: 20_000) : CacheStore.Configuration(memoryCapacity: 20_000)
    configuration.shardCount = 2
    configuration.writeBuffer = withDisk ? 64 << 10 : configuration.writeBuffer
    let store = try CacheStore(configuration)
    let keys = 4
    let removed = (0..<keys).map { _ in Generation() }
    let violations = Atomic<Int>(0)
    await inParallel(4) { index in
      var random = SplitMix64(seed: UInt64(index) + 177)
      for step in 0..<1500 {
        let number = Int.random(in: 0..<keys, using: &random)
        switch index {
        case 0:
          let token = store.removalToken(for: key(number))
          let generation = removed[number].value + 1
          if step % 3 == 0, let id = store.lookup(key(number)).first?.id {
            // As a validation: what is stored is of this generation from now on.
            store.updateMetadata(
              of: id, key: key(number), metadata: Array("head \(generation)".utf8), storedAt: 1000,
              unlessSweptSince: token)
          } else {
            store.insert(
              entry(key(number), number: generation, size: 300, tiers: step % 4 == 0 ? .disk : .all),
              unlessRemovedSince: token)
          }
          if step % 5 == 0 { store.insert(entry(key(1000 + step), size: 5000)) }
        case 1 where step % 4 == 0:
          let next = removed[number].value + 1
          removed[number].begin(next)
          let isSoft = step % 8 == 0
          store.sweep(covering { $0 == key(number) }) { _ in
            isSoft ? .update(metadata: Array("head \(Int.max)".utf8)) : .remove
          }
          removed[number].end(next)
        default:
          let gone = removed[number].finished
          for found in store.lookup(key(number)) {
            let text = String(decoding: found.metadata.dropFirst(5), as: UTF8.self)
            if (Int(text) ?? 0) <= gone { violations.increment() }
          }
        }
      }
    }
    #expect(violations.value == 0)
  }

  private final class Generation: Sendable {
    private let begun = Atomic<Int>(0)
    private let ended = Atomic<Int>(0)

    var value: Int { begun.load(ordering: .sequentiallyConsistent) }
    var finished: Int { ended.load(ordering: .sequentiallyConsistent) }
    func begin(_ generation: Int) { begun.store(generation, ordering: .sequentiallyConsistent) }
    func end(_ generation: Int) { ended.store(generation, ordering: .sequentiallyConsistent) }
  }

  @Test("A capacity that changes during concurrent inserts is respected")
  func changingCapacity() async throws {
    let store = try CacheStore(.init(memoryCapacity: 1 << 20))
    await inParallel(3) { index in
      for step in 0..<500 {
        if index == 0 {
          store.setCapacity(memory: step % 2 == 0 ? 100_000 : 400_000)
        } else {
          store.insert(entry(key(step * 3 + index), size: 2000))
        }
      }
    }
    store.setCapacity(memory: 100_000)
    #expect(store.usage.memoryBytes <= 100_000 && store.usage.memoryEntries > 0)
  }

  @Test("A concurrent metadata update does not bring back a removed entry")
  func updateMeetsRemoval() async throws {
    var configuration = CacheStore.Configuration(memoryCapacity: 40_000)
    configuration.shardCount = 16
    let store = try CacheStore(configuration)
    var isBack = false
    for step in 0..<150 {
      for number in 1..<40 { store.insert(entry(key(number), size: 1500)) }
      guard let id = store.insert(entry(key(1000 + step), size: 5000)).id else { continue }
      await inParallel(2) { index in
        if index == 0 {
          // Larger than what its shard has, so that room comes from the others.
          store.updateMetadata(of: id, key: key(1000 + step), metadata: pattern(1, 12_000), storedAt: 5)
        } else {
          for _ in 0..<4 { store.remove(key(1000 + step)) }
        }
      }
      isBack = isBack || !store.lookup(key(1000 + step)).isEmpty
    }
    #expect(!isBack)
  }

  /// A caller of the closed store finds nothing in it, and stores nothing; what it returned stays readable.
  @Test("A store can be closed and reopened under concurrent use")
  func reopening() async throws {
    var configuration = scratch.configuration(memory: 50_000, disk: 1 << 20)
    configuration.largeBodyThreshold = 10_000
    let open = { @Sendable [configuration] in try CacheStore(configuration) }
    let current = Mutex(try open())
    let violations = Atomic<Int>(0)
    let reopenings = Atomic<Int>(0)
    let isDone = Atomic<Bool>(false)
    await inParallel(4) { index in
      var random = SplitMix64(seed: UInt64(index) + 5)
      if index == 0 {
        for _ in 0..<20 {
          let old = current.withLock { $0 }
          old.close()
          // The directory is free as soon as it is closed, even if a caller still has the old one.
          guard let new = try? open() else {
            violations.increment()
            break
          }
          current.withLock { $0 = new }
          reopenings.increment()
          for number in 0..<40 { new.insert(entry(key(number), number: number, size: 3000)) }
        }
        isDone.store(true, ordering: .relaxed)
        return
      }
      for step in 0..<20_000 where step < 500 || !isDone.load(ordering: .relaxed) {
        let store = current.withLock { $0 }
        let number = Int.random(in: 0..<200, using: &random)
        switch index {
        case 1: store.insert(entry(key(number), number: number, size: step % 20 == 0 ? 40_000 : 3000))
        case 2 where step % 10 == 0: store.remove(key(number))
        default:
          for found in store.lookup(key(number)) {
            guard let body = try? found.body.readAll() else { continue }
            if Array(body) != pattern(number, body.count) { violations.increment() }
          }
        }
        let usage = store.usage
        if usage.diskBytes > 1 << 20 || usage.memoryBytes > 50_000 { violations.increment() }
      }
    }
    #expect(violations.value == 0 && reopenings.value == 20)
    let last = current.withLock { $0 }
    #expect(last.statistics.corruptRecords == 0 && last.statistics.ioErrors == 0)
  }
}
