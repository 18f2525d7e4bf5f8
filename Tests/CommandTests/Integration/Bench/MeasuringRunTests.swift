// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Histogram
import TestSupport
import Testing

@testable import BenchmarkHarness

@Suite(.timeLimit(.minutes(10))) struct MeasuringRunTests {
  @Test func `a pass visits every key once`() {
    var done: [Int] = []
    let round = Loop(timesEach: false).pass(over: [3, 1, 2]) { key in
      done.append(key)
      return key != 1
    }
    #expect(done == [3, 1, 2])
    #expect(round.operations == 3)
    #expect(round.successes == 2)
    #expect(round.latencies == nil)
  }

  @Test func `a pass prepares each chunk of keys before it visits them`() {
    var story: [String] = []
    let round = Loop(timesEach: true).pass(
      over: [1, 2, 3], chunk: 2, prepare: { story.append("prepare \($0)") }
    ) { key in
      story.append("do \(key)")
      return true
    }
    #expect(story == ["prepare 1", "prepare 2", "do 1", "do 2", "prepare 3", "do 3"])
    #expect(round.operations == 3)
    #expect(round.latencies?.totalCount == 3)
  }

  @Test func `a loop repeats its keys until the time is over`() {
    var done: [Int] = []
    let round = Loop(timesEach: false, batch: 2).run(for: 100_000, over: [5, 6, 7], from: 4) { key in
      done.append(key)
      return true
    }
    #expect(Array(done.prefix(2)) == [6, 7])
    #expect(done.dropFirst(2).enumerated().allSatisfy { $1 == 5 + $0 % 3 })
    #expect(round.operations == done.count)
    #expect(round.nanoseconds > 0)
  }

  @Test func `the latencies include every operation`() throws {
    let round = Loop(timesEach: true).run(for: 100_000, over: [1]) { _ in true }
    let latencies = try #require(round.latencies)
    #expect(latencies.totalCount == UInt64(round.operations))
    var measurement = BenchMeasurement(.latency, .get, .ours)
    measurement.add(round)
    let metrics: [Metric] = [
      .p50Nanoseconds, .p90Nanoseconds, .p99Nanoseconds, .p999Nanoseconds, .maxNanoseconds,
    ]
    let percentiles = metrics.compactMap { measurement[$0] }
    #expect(percentiles.count == 5)
    #expect(percentiles == percentiles.sorted())
  }

  @Test func `every thread of a team works, and all latencies are kept`() {
    let round = ThreadTeam.run(4) { thread in
      Loop(timesEach: true).pass(over: [0, 1, 2]) { _ in thread != 0 }
    }
    #expect(round.operations == 12)
    #expect(round.successes == 9)
    #expect(round.latencies?.totalCount == 12)
  }

  @Test func `a failed operation that must succeed ends the measurement`() {
    struct Broken: BenchCache {
      func operation(_ action: Action) -> Operation? { { $0 != 1 } }
    }
    let filling = Filling(order: [0, 1, 2], sequences: [], valueSize: 1)
    let contest = Contest(
      entrants: [filling.entrant(.ours, by: .store, then: []) { _ in Broken() }], rounds: 1, seconds: 0.001,
      conditions: [:])
    #expect(throws: BenchError.self) { _ = try contest.run(ProgressLine(isShown: false)) }
  }

  @Test func `caches take turns, each in an empty directory of its own`() throws {
    final class Diary: Sendable {
      let names = Mutex<[String]>([])
      let directories = Recorder<String>()
    }
    struct Nothing: BenchCache {
      func operation(_ action: Action) -> Operation? { { _ in true } }
    }
    let diary = Diary()
    let filling = Filling(
      order: [0],
      sequences: [KeySequence(keys: 1, distribution: .uniform, exponent: 1, seed: 1, stream: 0, length: 8)],
      valueSize: 1)
    func entrant(_ name: Contender) -> Contest.Entrant {
      filling.entrant(name, by: .store, then: [.get]) { directory in
        diary.directories.add(directory)
        diary.names.withLock { names in
          if names.last != name.rawValue { names.append(name.rawValue) }
        }
        return Nothing()
      }
    }
    let contest = Contest(
      entrants: [entrant(.ours), entrant(.dictionary)], rounds: 2, seconds: 0.000_001, conditions: [:])
    let measurements = try contest.run(ProgressLine(isShown: false))
    #expect(measurements.map(\.action) == [.store, .get, .store, .get])
    #expect(measurements.allSatisfy { $0.byRound.count == 2 })
    // Ours, the other; then the other first, and ours.
    #expect(diary.names.withLock { $0 } == [Contender.ours, .dictionary, .ours].map(\.rawValue))
    let directories = diary.directories.all
    #expect(Set(directories).count == directories.count)
  }
}
