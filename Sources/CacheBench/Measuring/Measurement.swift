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
  /// The share of lookups that found something; `nil` for what does not look.
  var hitRatio: Double?
  var latency: Percentiles?
  var overhead: EntryOverhead?

  init(
    of action: Action, on cache: CacheName, rounds: [Round], in contest: Contest, overhead: EntryOverhead?
  ) {
    self.action = action
    self.cache = cache
    measuring = contest.measuring
    entries = contest.entries
    valueBytes = contest.valueSize
    threads = contest.threads
    let all = rounds.dropFirst().reduce(into: rounds.first ?? Round()) { $0.append($1) }
    operations = all.operations
    operationsPerSecondByRound = rounds.map(\.operationsPerSecond)
    operationsPerSecond = median(operationsPerSecondByRound) ?? 0
    hitRatio =
      action.onlyStores || all.operations == 0 ? nil : Double(all.successes) / Double(all.operations)
    latency = all.latencies.map { Percentiles($0) }
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
