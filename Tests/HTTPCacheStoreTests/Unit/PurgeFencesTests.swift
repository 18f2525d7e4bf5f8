// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Fences of sweeps", .timeLimit(.minutes(1)))
struct PurgeFencesTests {
  // An insert that takes an id behind a sweep's number, and then saw no fence, was neither refused nor swept.
  @Test("A fence is visible before its number is taken")
  func visibleBeforehand() {
    let fences = PurgeFences()
    var isVisible = false
    let number = fences.add({ _, _ in true }) {
      isVisible = fences.isAny(since: 5)
      return 5
    }
    #expect(isVisible && number == 5)
    #expect(fences.isAny(since: 5) && !fences.isAny(since: 6))
    #expect(fences.keepsOut(StoreKey("a"), scopes: [], since: 5))
    #expect(!fences.keepsOut(StoreKey("a"), scopes: [], since: 6))
  }

  @Test("Any number of sweeps during a fetch keep out only what they name")
  func many() throws {
    let store = try CacheStore(.init(memoryCapacity: 1 << 20))
    do {
      let token = store.removalToken(for: key(1))
      for number in 2..<1002 { store.sweep({ each, _ in each == key(number) }) { _ in .remove } }
      #expect(store.fences.count == 1000)
      #expect(store.insert(entry(key(1)), unlessRemovedSince: token).id != nil)
      #expect(store.insert(entry(key(2)), unlessRemovedSince: token).refusal?.reason == .removedSince)
      #expect(store.insert(entry(key(1001)), unlessRemovedSince: token).refusal?.reason == .removedSince)
    }
    // A fence stays as long as it may be needed.
    store.sweep({ each, _ in each == key(5) }) { _ in .remove }
    #expect(store.fences.count <= 1)
  }

  @Test("Beyond a limit of sweeps during one fetch, only that fetch is kept out")
  func tooMany() {
    let fences = PurgeFences()
    for number in 1...UInt64(PurgeFences.limit + 1) {
      _ = fences.add({ $1 == [StoreScope("\(number)")] }) { number }
    }
    #expect(fences.count <= PurgeFences.limit)
    #expect(fences.keepsOut(StoreKey("a"), scopes: [], since: 1))
    let late = UInt64(PurgeFences.limit)
    #expect(!fences.keepsOut(StoreKey("a"), scopes: [], since: late))
    #expect(fences.keepsOut(StoreKey("a"), scopes: [StoreScope("\(late + 1)")], since: late))
  }

  @Test("The oldest token in use is known through random operations")
  func tokens() {
    let tokens = OutstandingTokens()
    var random = SplitMix64(seed: 7)
    var model: [(number: UInt64, epoch: OutstandingTokens.Epoch)] = []
    var next: UInt64 = 1
    for _ in 0..<5000 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        let epoch = tokens.current
        model.append((next, epoch))
      case 4..<8:
        if let index = model.indices.randomElement(using: &random) { model.remove(at: index) }
      default:
        let number = next
        next += 1
        let bound = tokens.begin(at: number)
        // All tokens in use are newer, and no mark older than the oldest of them is kept for long.
        #expect(model.allSatisfy { $0.number > bound })
        if let least = model.map(\.number).min() { #expect(bound + 1 >= least || bound == least - 1) }
      }
      #expect(model.allSatisfy { $0.number > tokens.oldest })
    }
    model = []
    #expect(tokens.oldest == .max)
  }
}
