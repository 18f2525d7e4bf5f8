// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("What invalidates entries in flight", .timeLimit(.minutes(1)))
struct InvalidationsTests {
  private let invalidations = Invalidations(hasher: KeyHasher(seed: 1))

  private func scope(_ number: UInt64) -> StoreScope { StoreScope("\(number)") }

  private func mark(_ number: UInt64) {
    _ = invalidations.mark([invalidations.hash(scope(number))]) { number }
  }

  /// Whether it keeps out entries in a scope.
  private func keepsOut(_ number: UInt64, since start: UInt64) -> Bool {
    invalidations.keepsOut(nil, in: [scope(number)], since: start)
  }

  // An insert that takes an id behind a sweep's number, and then saw no fence, was neither refused nor swept.
  @Test("A mark or a fence is visible before its number is taken", arguments: [false, true])
  func visibleBeforehand(isMark: Bool) {
    // As long as it is in use, nothing is dropped.
    let epoch = invalidations.epoch
    defer { withExtendedLifetime(epoch) {} }
    var isVisible = false
    func take() -> UInt64 {
      isVisible = invalidations.isAny(since: 6)
      return 5
    }
    let number =
      isMark
      ? invalidations.mark([invalidations.hash(scope(1))], number: take)
      : invalidations.fence({ $1 == [StoreScope("1")] }, number: take)
    #expect(isVisible && number == 5 && !invalidations.isAny(since: 6))
    #expect(keepsOut(1, since: 5) && !keepsOut(1, since: 6) && !keepsOut(2, since: 5))
    #expect(invalidations.mayBeMarked(4) == isMark && !invalidations.mayBeMarked(5))
    #expect(invalidations.isSwept(since: 5) == !isMark && !invalidations.isSwept(since: 6))
  }

  @Test("Nothing is kept for tokens that are gone")
  func forgotten() {
    do {
      let epoch = invalidations.epoch
      _ = invalidations.fence({ _, _ in false }) { 2 }
      mark(3)
      invalidations.settle(upTo: 3)
      #expect(invalidations.fenceCount == 1 && invalidations.settledCount == 1)
      withExtendedLifetime(epoch) { #expect(keepsOut(3, since: 1)) }
    }
    // A mark drops fences, and a fence settled marks.
    mark(4)
    #expect(invalidations.fenceCount == 0 && invalidations.settledCount == 0)
  }

  @Test("Any number of sweeps during a fetch keep out only what they name")
  func many() throws {
    let store = try CacheStore(.init(memoryCapacity: 1 << 20))
    do {
      let token = store.removalToken(for: key(1))
      for number in 2..<1002 { store.sweep(covering { $0 == key(number) }) { _ in .remove } }
      #expect(store.invalidations.fenceCount == 1000)
      #expect(store.insert(entry(key(1)), unlessRemovedSince: token).id != nil)
      #expect(store.insert(entry(key(2)), unlessRemovedSince: token).refusal?.reason == .removedSince)
      #expect(store.insert(entry(key(1001)), unlessRemovedSince: token).refusal?.reason == .removedSince)
    }
    // A fence stays as long as it may be needed.
    store.sweep(covering { $0 == key(5) }) { _ in .remove }
    #expect(store.invalidations.fenceCount <= 1)
  }

  @Test("Beyond a limit of sweeps during one fetch, only that fetch is kept out")
  func tooManySweeps() {
    let epoch = invalidations.epoch
    for number in 1...UInt64(Invalidations.mostFences + 1) {
      _ = invalidations.fence({ $1 == [StoreScope("\(number)")] }) { number }
    }
    #expect(invalidations.fenceCount <= Invalidations.mostFences)
    let late = UInt64(Invalidations.mostFences)
    #expect(keepsOut(0, since: 1) && !keepsOut(0, since: late) && keepsOut(late + 1, since: late))
    withExtendedLifetime(epoch) {}
  }

  @Test("Beyond a limit of marks during one fetch, only that fetch is refused")
  func tooManyMarks() {
    let epoch = invalidations.epoch
    let recent = UInt64(Invalidations.mostSettled + 10)
    for number in 1...recent + 10 { mark(number) }
    invalidations.settle(upTo: invalidations.lastMark)
    #expect(invalidations.settledCount <= Invalidations.mostSettled && invalidations.markCount == 0)
    #expect(keepsOut(0, since: 1) && !keepsOut(0, since: recent) && keepsOut(recent + 9, since: recent))
    #expect(!invalidations.isMarked(1, hash: invalidations.hash(scope(0))))
    withExtendedLifetime(epoch) {}
  }

  @Test("The oldest token in use is known through random operations")
  func tokens() {
    var epochs = Invalidations.Epochs()
    var random = SplitMix64(seed: 7)
    var model: [(number: UInt64, epoch: Invalidations.Epoch)] = []
    var next: UInt64 = 1
    for _ in 0..<5000 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        let epoch = epochs.current
        model.append((next, epoch))
      case 4..<8:
        if let index = model.indices.randomElement(using: &random) { model.remove(at: index) }
      default:
        let number = next
        next += 1
        let bound = epochs.begin(at: number)
        // All tokens in use are newer, and no mark older than the oldest of them is kept for long.
        #expect(model.allSatisfy { $0.number > bound })
        if let least = model.map(\.number).min() { #expect(bound + 1 >= least || bound == least - 1) }
      }
      #expect(model.allSatisfy { $0.number > epochs.oldest })
    }
    model = []
    #expect(epochs.oldest == .max)
  }
}
