// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import HTTPCacheProxy

@Suite("The choice of a server", .timeLimit(.minutes(10)))
struct OriginBalancerTests {
  typealias Candidate = OriginBalancer.Candidate

  @Test(
    "The server with the fewest requests for its weight is chosen, available ones first",
    arguments: [
      ([], nil),
      ([Candidate()], 0),
      ([Candidate(load: 2), Candidate(load: 1)], 1),
      // 2 of 3 is less than 1 of 1.
      ([Candidate(load: 1), Candidate(weight: 3, load: 2)], 1),
      ([Candidate(load: 1), Candidate(weight: 3, load: 4)], 0),
      ([Candidate(isAvailable: false), Candidate(load: 9)], 1),
      ([Candidate(isBackup: true), Candidate(isAvailable: false)], 0),
      // Without an available one, the request is tried all the same.
      ([Candidate(isAvailable: false)], 0),
      ([Candidate(isAvailable: false, load: 2), Candidate(isAvailable: false, load: 1)], 1),
      ([Candidate(isBackup: true, isAvailable: false), Candidate(isAvailable: false, isFull: true)], 1),
      // One that has no place left is worse than any other, and better than none.
      ([Candidate(isFull: true, load: 1), Candidate(load: 9)], 1),
      ([Candidate(isAvailable: false), Candidate(isFull: true, load: 1)], 1),
      // A backup is used only if all others get no requests.
      ([Candidate(isBackup: true), Candidate(load: 9)], 1),
      ([Candidate(isBackup: true), Candidate(isFull: true)], 1),
      ([Candidate(isBackup: true), Candidate(isAvailable: false)], 0),
      // A server that has not answered the request does not get it again.
      ([Candidate(isTried: true), Candidate(load: 9)], 1),
      ([Candidate(isTried: true), Candidate(isBackup: true)], 1),
      ([Candidate(isTried: true), Candidate(isAvailable: false)], 1),
      ([Candidate(isAvailable: false, isTried: true), Candidate(isTried: true)], nil),
      ([Candidate(isTried: true), Candidate(isAvailable: false), Candidate(load: 9)], 2),
    ] as [([Candidate], Int?)])
  func choice(candidates: [Candidate], chosen: Int?) {
    var balancer = OriginBalancer()
    #expect(balancer.choose(from: candidates) == chosen)
  }

  @Test(
    "Servers without requests take turns by their weights, and none has two turns that another could have",
    arguments: [
      ([1, 1, 1], [0, 1, 2, 0, 1, 2]), ([3, 1], [0, 0, 1, 0, 0, 0, 1, 0]), ([1, 1], [0, 1, 0, 1]),
      ([5, 1, 1], [0, 0, 1, 0, 2, 0, 0]),
    ])
  func turns(weights: [Int], turns: [Int]) {
    var balancer = OriginBalancer()
    let candidates = weights.map { Candidate(weight: $0) }
    #expect(turns.map { _ in balancer.choose(from: candidates) } == turns)
  }

  @Test("Whatever the weights, each server has its share of the turns, and the load is even for them")
  func shares() {
    for code in 0..<125 {
      let weights = [1 + code % 5, 1 + code / 5 % 5, 1 + code / 25]
      let total = weights.reduce(0, +)
      var balancer = OriginBalancer()
      var counts = weights.map { _ in 0 }
      for _ in 1...(10 * total) {
        if let chosen = balancer.choose(from: weights.map { Candidate(weight: $0) }) { counts[chosen] += 1 }
      }
      #expect(counts == weights.map { 10 * $0 })
      // Requests that never end.
      var loads = weights.map { _ in 0 }
      for _ in 1...(10 * total) {
        let candidates = zip(weights, loads).map { Candidate(weight: $0, load: $1) }
        if let chosen = balancer.choose(from: candidates) { loads[chosen] += 1 }
      }
      #expect(loads == weights.map { 10 * $0 })
    }
  }
}
