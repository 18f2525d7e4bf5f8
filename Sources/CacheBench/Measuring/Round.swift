import Histogram

/// What one round of one operation gave, on one thread or all.
struct Round: Sendable {
  var operations = 0
  /// Operations that found, or stored, what they were to.
  var successes = 0
  /// Wall clock, in nanoseconds.
  var nanoseconds: UInt64 = 0
  /// What the threads had a processor for, all together; 0 where it was not measured.
  var processorNanoseconds: UInt64 = 0
  /// Nanoseconds of each operation, where each was timed.
  var latencies: Histogram<UInt64>?

  var operationsPerSecond: Double {
    nanoseconds == 0 ? 0 : Double(operations) * 1e9 / Double(nanoseconds)
  }

  /// Adds what another thread did in the same time.
  mutating func join(_ other: Round) {
    operations += other.operations
    successes += other.successes
    nanoseconds = max(nanoseconds, other.nanoseconds)
    processorNanoseconds += other.processorNanoseconds
    addLatencies(of: other)
  }

  /// Adds what was done afterwards.
  mutating func append(_ other: Round) {
    operations += other.operations
    successes += other.successes
    nanoseconds += other.nanoseconds
    processorNanoseconds += other.processorNanoseconds
    addLatencies(of: other)
  }

  private mutating func addLatencies(of other: Round) {
    guard let others = other.latencies else { return }
    guard var own = latencies else {
      latencies = others
      return
    }
    latencies = nil
    for value in others.recordedValues() { own.record(value.value, count: value.count) }
    latencies = own
  }
}

/// How an operation is measured.
enum Measuring: String, Codable, Sendable {
  /// Many operations between two looks at the clock.
  case throughput
  /// A look at the clock before and after each.
  case latency
}
