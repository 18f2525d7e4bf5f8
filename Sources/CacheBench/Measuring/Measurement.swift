import Histogram

/// What came of one action on one cache, over all rounds.
struct Measurement: Codable, Sendable {
  var action: Action
  var cache: CacheName
  var measuring: Measuring
  var entries: Int
  var valueBytes: Int
  var threads: Int
  var operations: Int
  /// The median of the rounds.
  var operationsPerSecond: Double
  var operationsPerSecondByRound: [Double]
  /// The share of lookups that found something; `nil` for what does not look. Of `mixed` in a workload, the share over
  /// one pass through the keys before anything is timed, so that it does not depend on how far the time reached.
  var hitRatio: Double?
  /// Nanoseconds of the processor's time for one operation, the median of the rounds.
  ///
  /// On a machine that others use too, it tells more than the wall clock.
  var processorNanoseconds: Double?
  /// The most entries that the cache was to hold, where that was less than all.
  var capacityEntries: Int?
  var latency: Percentiles?
  var latencyCurve: [LatencyPoint]?
  var overhead: EntryOverhead?

  init(
    of action: Action, on cache: CacheName, rounds: [Round], measuring: Measuring, entries: Int,
    valueBytes: Int, threads: Int, overhead: EntryOverhead? = nil
  ) {
    self.action = action
    self.cache = cache
    self.measuring = measuring
    self.entries = entries
    self.valueBytes = valueBytes
    self.threads = threads
    let all = rounds.dropFirst().reduce(into: rounds.first ?? Round()) { $0.append($1) }
    operations = all.operations
    operationsPerSecondByRound = rounds.map(\.operationsPerSecond)
    operationsPerSecond = median(operationsPerSecondByRound) ?? 0
    hitRatio =
      action.onlyStores || all.operations == 0 ? nil : Double(all.successes) / Double(all.operations)
    let busy = rounds.compactMap { round -> Double? in
      guard round.processorNanoseconds > 0, round.operations > 0 else { return nil }
      return Double(round.processorNanoseconds) / Double(round.operations)
    }
    processorNanoseconds = measuring == .throughput ? median(busy) : nil
    latency = all.latencies.map { Percentiles($0) }
    latencyCurve = all.latencies.map { LatencyPoint.curve(of: $0) }
    self.overhead = overhead
  }

  /// Nanoseconds for one operation: the median latency where each was timed, else wall clock by operations.
  var nanoseconds: Double {
    if let latency { return Double(latency.p50Nanoseconds) }
    return operationsPerSecond > 0 ? 1e9 / operationsPerSecond : 0
  }
}

/// Nanoseconds that so many percent of the operations took at most.
struct Percentiles: Codable, Hashable, Sendable {
  var p50Nanoseconds: UInt64
  var p90Nanoseconds: UInt64
  var p99Nanoseconds: UInt64
  var p999Nanoseconds: UInt64
  var maxNanoseconds: UInt64

  init(_ histogram: Histogram<UInt64>) {
    p50Nanoseconds = histogram.valueAtPercentile(50)
    p90Nanoseconds = histogram.valueAtPercentile(90)
    p99Nanoseconds = histogram.valueAtPercentile(99)
    p999Nanoseconds = histogram.valueAtPercentile(99.9)
    maxNanoseconds = histogram.max
  }
}

/// A point of a distribution of latencies: so many percent took at most so long.
struct LatencyPoint: Codable, Hashable, Sendable {
  var percent: Double
  var nanoseconds: UInt64

  private static let percents = [
    0.0, 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.98, 99.99,
  ]

  static func curve(of histogram: Histogram<UInt64>) -> [LatencyPoint] {
    percents.map { LatencyPoint(percent: $0, nanoseconds: histogram.valueAtPercentile($0)) }
  }
}
