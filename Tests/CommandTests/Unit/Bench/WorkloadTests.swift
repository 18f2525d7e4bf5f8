// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import Testing

@testable import CacheBench

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct WorkloadTests {
  @Test func `the generator gives the sequence that its authors published`() {
    var generator = SplitMix64(seed: 1_234_567)
    let drawn = (0..<5).map { _ in generator.next() }
    #expect(
      drawn == [
        6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
        4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
      ])
  }

  @Test func `units are at least 0 and below 1`() {
    var generator = SplitMix64(seed: 3)
    let units = (0..<10_000).map { _ in generator.nextUnit() }
    #expect(units.allSatisfy { (0..<1).contains($0) })
    let mean: Double = units.reduce(0, +) / 10_000
    #expect(abs(mean - 0.5) < 0.02)
  }

  @Test(arguments: [0.2, 0.8, 0.99, 1.0, 1.3, 3.0])
  func `zipf draws each rank in proportion to its weight`(exponent: Double) {
    let count = 50
    let draws = 200_000
    let sampler = ZipfSampler(count: count, exponent: exponent)
    var generator = SplitMix64(seed: 42)
    var seen = [Int](repeating: 0, count: count)
    for _ in 0..<draws { seen[sampler.sample(using: &generator)] += 1 }
    let weights = (1...count).map { pow(Double($0), -exponent) }
    let total = weights.reduce(0, +)
    for (rank, weight) in weights.enumerated() {
      let expected = weight / total * Double(draws)
      // Five standard deviations; the seed is fixed, so that this holds always or never.
      #expect(abs(Double(seen[rank]) - expected) < 5 * expected.squareRoot() + 5, "rank \(rank)")
    }
  }

  @Test func `zipf over a single key draws that key`() {
    let sampler = ZipfSampler(count: 1, exponent: 0.99)
    var generator = SplitMix64(seed: 1)
    #expect((0..<1000).allSatisfy { _ in sampler.sample(using: &generator) == 0 })
  }

  @Test func `zipf stays within a large number of keys`() {
    let sampler = ZipfSampler(count: 1_000_000_000, exponent: 0.5)
    var generator = SplitMix64(seed: 1)
    let ranks = (0..<10_000).map { _ in sampler.sample(using: &generator) }
    #expect(ranks.allSatisfy { (0..<1_000_000_000).contains($0) })
    #expect(ranks.contains { $0 > 500_000_000 })
  }

  @Test func `uniform draws all keys about equally often`() {
    let sequence = KeySequence(
      keys: 10, distribution: .uniform, exponent: 1, seed: 5, stream: 0, length: 100_000)
    var seen = [Int](repeating: 0, count: 10)
    for index in sequence.indices { seen[Int(index)] += 1 }
    #expect(seen.allSatisfy { abs($0 - 10_000) < 500 })
  }

  @Test(arguments: Distribution.allCases)
  func `a seed determines the keys, and each thread has its own sequence`(distribution: Distribution) {
    func keys(seed: UInt64, stream: Int) -> [UInt32] {
      KeySequence(
        keys: 1000, distribution: distribution, exponent: 0.99, seed: seed, stream: stream, length: 500
      ).indices
    }
    #expect(keys(seed: 1, stream: 0) == keys(seed: 1, stream: 0))
    #expect(keys(seed: 1, stream: 0) != keys(seed: 1, stream: 1))
    #expect(keys(seed: 1, stream: 0) != keys(seed: 2, stream: 0))
    #expect(keys(seed: 1, stream: 0).allSatisfy { $0 < 1000 })
  }

  @Test func `the most popular key of zipf is the same on all threads`() {
    func favourite(_ stream: Int) -> UInt32? {
      let keys = KeySequence(
        keys: 1000, distribution: .zipf, exponent: 1.2, seed: 9, stream: stream, length: 20_000)
      return Dictionary(grouping: keys.indices) { $0 }.max { $0.value.count < $1.value.count }?.key
    }
    #expect(favourite(0) != nil)
    #expect(favourite(0) == favourite(1))
  }

  @Test func `a shuffle contains every key once`() {
    let order = KeySequence.shuffle(keys: 777, seed: 4)
    #expect(order.sorted() == Array(0..<777))
    #expect(order != Array(0..<777))
  }

  @Test func `all keys are distinct by path, as URLCache ignores the query`() throws {
    let data = try Dataset(count: 100, valueSize: 13, seed: 1, .foundation)
    #expect(Set(data.keys).count == 100)
    #expect(Set(data.urlRequests.map { $0.url?.path }).count == 100)
    #expect(data.requests.map { StoreKey($0) } == data.keys)
    #expect(data.bodies.allSatisfy { $0.count == 13 })
    let absent = Set(data.absentRequests.compactMap { CacheKey($0)?.bytes })
    let isDisjoint = absent.isDisjoint(with: data.keys.map(\.bytes))
    #expect(absent.count == 100)
    #expect(isDisjoint)
  }
}
