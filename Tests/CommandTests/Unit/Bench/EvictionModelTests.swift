// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import TestSupport
import Testing

@testable import CacheBench

/// The models of eviction policies, on short sequences whose hits are computed by hand.
@Suite(.timeLimit(.minutes(10))) struct EvictionModelTests {
  /// A request for a key of one letter, and whether it is a hit.
  private struct Step {
    var key: Character
    var bytes = 1
    var isHit = false
  }

  /// Reads steps from text: `a` is a miss, `a+` a hit, and `a9` has nine bytes.
  private func steps(_ text: String) -> [Step] {
    text.split(separator: " ").compactMap { word in
      word.first.map { key in
        Step(key: key, bytes: Int(word.filter(\.isNumber)) ?? 1, isHit: word.hasSuffix("+"))
      }
    }
  }

  private func number(_ key: Character) -> Int { Int(key.unicodeScalars.first?.value ?? 0) }

  private func check(_ cache: any ReplayedCache, _ text: String) {
    for (index, step) in steps(text).enumerated() {
      let isHit = cache.access(number(step.key), bytes: step.bytes)
      #expect(isHit == step.isHit, "request \(index + 1) of '\(text)', for \(step.key)")
    }
  }

  @Test(arguments: [
    (2, "a b a+ c a+ b c"),
    // c needs the room of both others.
    (10, "a4 b5 a4+ c9 b5 a4 b5+"),
    (10, "a4 b11 a4+ b11"),
  ])
  func `exact LRU evicts the least recently used entry`(capacity: Int, requests: String) {
    check(ExactLRU(capacity: capacity), requests)
  }

  // The small queue has one of ten places, the main queue and the ghosts have nine.
  @Test(arguments: [
    // A key that was used once leaves the small queue first, and enters the main queue when it returns.
    "a a+ b c d e f g h i j k b+ c+ a a+ b c d a+",
    // Two uses keep a; the second entry, b, is evicted in its place, and c after it.
    "a a+ a+ b c d e f g h i j k a+ b a+ c a+",
    // a is in the main queue, which is not full: ten new keys pass through the small queue.
    "a a+ a+ b c d e f g h i j k l m n o p q r s t a+",
  ])
  func `exact S3-FIFO keeps entries with two uses and keys that return`(requests: String) {
    check(ExactS3FIFO(capacity: 10), requests)
  }

  @Test func `the main queue of exact S3-FIFO gives an entry another round for each use`() {
    let cache = ExactS3FIFO(capacity: 10)
    func request(_ keys: ClosedRange<Int>) -> Int { keys.count { cache.access($0, bytes: 1) } }
    // Nine keys with two uses, and a tenth that makes them move to the main queue.
    #expect((0..<3).map { _ in request(1...9) } == [0, 9, 9])
    #expect(request(10...11) == 0)
    // One more use of the first key. Then 11 and 12 get two uses, so that 11 moves and the main queue is too full.
    #expect(request(1...1) == 1)
    #expect((0..<2).map { _ in request(11...11) } == [1, 1])
    #expect(request(12...12) == 0)
    #expect(request(1...1) == 1, "its use gave it another round")
    #expect(request(2...2) == 0, "evicted instead: the move had cleared its uses")
  }

  @Test func `ghosts of exact S3-FIFO have as many bytes as the main queue`() {
    let cache = ExactS3FIFO(capacity: 100)
    // Ten entries fill the cache. Each further entry evicts one, which becomes a ghost: nine of ten bytes fit.
    for key in 0..<20 { #expect(!cache.access(key, bytes: 10)) }
    // 0 is no longer a ghost and enters the small queue; 9 is one and enters the main queue.
    #expect(!cache.access(0, bytes: 10) && !cache.access(9, bytes: 10))
    for key in 20..<40 { #expect(!cache.access(key, bytes: 10)) }
    #expect(!cache.access(0, bytes: 10))
    #expect(cache.access(9, bytes: 10))
  }

  @Test(arguments: [
    // Large entries leave first. The last eviction of c raises the age to 1/6, which then counts for all that follow.
    (10, "a2 b5 c3 d1 a2+ b5 c3 a2+"),
    // Three uses of b are worth as much as a size of a third.
    (10, "b6 b6+ b6+ b6+ a3 c3 b6+ a3"),
    // Without uses and with equal sizes, the first entry leaves.
    (2, "a b c b+ a"),
    (10, "a11 a11 b10 b10+"),
  ])
  func `GDSF evicts the entry with the fewest uses for its size`(capacity: Int, requests: String) {
    check(GDSF(capacity: capacity), requests)
  }

  @Test func `GDSF forgets old uses with time`() {
    let cache = GDSF(capacity: 2)
    for number in 0..<4 { #expect(cache.access(0, bytes: 1) == (number > 0)) }
    // The age grows by 1 with each eviction of a new entry, until the four uses of the first are worth less.
    for key in 1...4 { #expect(!cache.access(key, bytes: 1)) }
    #expect(cache.access(0, bytes: 1))
    for key in 5...10 { #expect(!cache.access(key, bytes: 1)) }
    #expect(!cache.access(0, bytes: 1))
  }

  @Test(arguments: [
    // c is not stored, because both others are requested sooner.
    (2, "a b c a+ b+ c"),
    // At the request for c, b is requested later than a and c.
    (2, "a b c a+ c+ b"),
    // At d, the products are a 2 × 3, b 4 × 2 and d 4 × 1: b leaves, although a is requested later.
    (6, "a2 b4 d4 d4+ b4 a2+"),
    (10, "a11 a11"),
  ])
  func `Belady-size evicts the greatest product of size and distance`(capacity: Int, requests: String) {
    let keys = steps(requests).map { number($0.key) }
    check(BeladySize(capacity: capacity, keys: keys), requests)
  }

  @Test(arguments: TracePattern.allCases, [Action.replayUnits, .replayBytes])
  func `no policy has more hits than Belady-size`(pattern: TracePattern, sizes: Action) throws {
    let trace = TraceGenerator(
      pattern: pattern, keys: 1_000, requests: usually(4_000, long: 10_000), seed: 2
    ).trace
    let replayer = Replayer(trace: trace, sizes: sizes)
    func hits(_ policy: Contender) throws -> Double {
      try #require(try replayer.run(policy, capacityShare: 0.1)[.hits])
    }
    let best = try hits(.beladySize)
    for (name, policy) in Replayer.policies { #expect(try hits(policy) <= best, "\(name)") }
  }

  @Test func `a heap gives its elements in order`() {
    var random = SplitMix64(seed: 1)
    let numbers = (0..<500).map { _ in Int.random(in: 0..<200, using: &random) }
    var heap = Heap<Int>()
    for number in numbers { heap.insert(number) }
    #expect(numbers.map { _ in heap.removeLeast() } == numbers.sorted())
    #expect(heap.removeLeast() == nil)
  }
}
