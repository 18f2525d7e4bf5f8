// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import HTTPCacheStore

@Suite("Striped counters", .timeLimit(.minutes(10)))
struct StripedCountersTests {
  private static let key: UInt64 = 0x1234_5678_9ABC_DEF0
  /// Of the same stripe, and of another.
  private static let (neighbour, second, third) = (key ^ 1 << 40, key ^ 1 << 41, key ^ 3 << 40)
  private static let stranger = key ^ 1 << 24

  @Test(
    "A change of a key is never missed; up to two neighbour changes are told apart",
    arguments: [
      ([], true), ([stranger, stranger, stranger], true),
      ([neighbour], true), ([neighbour, second], true), ([neighbour, neighbour], true),
      ([key], false), ([key, neighbour], false), ([neighbour, key], false), ([key, key], false),
      ([key, neighbour, second], false), ([key, neighbour, second, third], false),
      // The first of three is forgotten.
      ([neighbour, second, third], false),
    ] as [([UInt64], Bool)])
  func changes(of hashes: [UInt64], areNoneOfTheKeys isCurrent: Bool) {
    let counters = StripedCounters()
    // What was before the moment says nothing.
    for hash in [Self.key, Self.neighbour] { counters.advance(for: hash) }
    let moment = counters.moment(for: Self.key)
    for hash in hashes { counters.advance(for: hash) }
    #expect(counters.isCurrent(moment, for: Self.key) == isCurrent)
    #expect(counters.isCurrent(counters.moment(for: Self.key), for: Self.key))
  }

  @Test("A change of all keys counts for each key")
  func changesOfAll() {
    let counters = StripedCounters()
    let moment = counters.moment(for: Self.key)
    counters.advanceAll()
    #expect(!counters.isCurrent(moment, for: Self.key))
  }

  @Test("A bound is the greatest number given for the key or a neighbour")
  func maxima() {
    let maxima = StripedMaxima()
    #expect(maxima.bound(for: Self.key) == 0)
    maxima.raise(for: Self.key, to: 5)
    maxima.raise(for: Self.neighbour, to: 9)
    maxima.raise(for: Self.key, to: 7)
    maxima.raise(for: Self.stranger, to: 20)
    #expect(maxima.bound(for: Self.key) == 9 && maxima.bound(for: Self.stranger) == 20)
  }
}
