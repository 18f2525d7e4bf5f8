// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness

@testable import CacheBenchServers

/// A report with a measurement of everything that has a target or a picture, from figures that were not measured.
enum SampleReport {
  static func make() -> Report {
    var report = Report(
      command: "targets", parameters: Parameters(keys: 200, valueBytes: 100, threads: 2, capacityShare: 0.1))
    let few: [Contender] = [.ours, .urlCache]
    report.measurements =
      [.ours, .oursS3FIFO, .dictionary, .nodes, .nsCache, .urlCache].map(memory)
      + [.getAndRead, .getByKey].flatMap { action in
        [.ours, .oursS3FIFO, .floor, .floorApart, .dictionary, .nodes, .nsCache].flatMap { timed(action, $0) }
      }
      + [.mixed, .churn].flatMap { action in
        [.ours, .oursS3FIFO, .nodes, .nsCache].flatMap { timed(action, $0, capacity: 20) }
      } + timed(.get, .ours) + timed(.decide, .ours) + timed(.judge, .ours)
      + [.get, .storeAgain].flatMap { action in few.flatMap { timed(action, $0) } }
      + timed(.storeAgain, .ours, entries: 800)
      + [.ours, .oursS3FIFO, .oursHyperbolic, .exactLRU, .exactS3FIFO, .gdsf, .beladySize].flatMap { policy in
        [0.05, 0.1, 0.2].map { replay(policy, $0) }
      }
    report.measurements += report.measurements.filter { $0.kind == .throughput }.ratios
    report.targets = report.memoryTargets
    return report
  }

  /// Throughput with one thread and with two, and latency.
  private static func timed(
    _ action: Action, _ contender: Contender, entries: Int = 200, capacity: Int? = nil
  ) -> [BenchMeasurement] {
    // Each contender has its own speed.
    let cost = 100 + 10 * UInt64(Contender.allCases.firstIndex(of: contender) ?? 0)
    func conditions(_ threads: Int) -> [Metric: Double] {
      var figures: [Metric: Double] = [
        .entries: Double(entries), .valueBytes: 100, .threads: Double(threads),
      ]
      figures[.capacityEntries] = capacity.map { Double($0) }
      return figures
    }
    func rounds(_ operations: Int) -> [Round] {
      (0..<2).map { _ in
        var round = Round(timesEach: false)
        (round.operations, round.successes) = (operations, operations)
        (round.nanoseconds, round.processorNanoseconds) = (1000 * cost, UInt64(operations) * cost)
        return round
      }
    }
    var latencies = Round(timesEach: true)
    (latencies.operations, latencies.successes, latencies.nanoseconds) = (1000, 1000, 1000 * cost)
    for number in 0..<1000 { latencies.record(cost + UInt64(number * number / 10_000)) }
    var all = [1, 2].map { BenchMeasurement(.throughput, action, contender, rounds: rounds(1000 * $0)) }
    all.append(BenchMeasurement(.latency, action, contender, rounds: [latencies]))
    for (index, threads) in [1, 2, 1].enumerated() { all[index].figures.merge(conditions(threads)) { $1 } }
    return all
  }

  private static func memory(_ contender: Contender) -> BenchMeasurement {
    BenchMeasurement(
      .memory, .occupy, contender,
      [
        .entries: 200, .keyBytes: 64, .valueBytes: 100, .allocatedBytes: 40_000, .residentBytes: 50_000,
        .allocatedBeyond: 36, .residentBeyond: 86,
      ])
  }

  private static func replay(_ policy: Contender, _ share: Double) -> BenchMeasurement {
    var one = BenchMeasurement(
      .replay, .replayUnits, policy,
      [
        .requests: 200, .distinctKeys: 37, .capacityShare: share, .capacity: 37 * share, .hits: 200 * share,
        .hitRatio: share, .byteHitRatio: share / 2, .seconds: 0.001,
      ])
    one.trace = "trace"
    return one
  }
}
