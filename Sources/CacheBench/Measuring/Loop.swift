import Histogram

/// The loops that are measured.
struct Loop: Sendable {
  var measuring: Measuring
  /// Operations between two looks at the clock, when throughput is measured.
  var batch = 16

  /// Does an operation on the keys of a sequence, over and over, for some time.
  ///
  /// Where the thread gets too little of a processor because others want it too, it goes on for up to three times as
  /// long, until it had as much as was asked for: few operations on caches gone cold tell little.
  ///
  /// - Parameter first: where in the sequence it begins.
  func run(
    for nanoseconds: UInt64, over indices: [UInt32], from first: Int = 0, _ operation: (Int) -> Bool
  ) -> Round {
    var round = Round()
    indices.withUnsafeBufferPointer { indices in
      guard !indices.isEmpty else { return }
      var position = first % indices.count
      let busy = MonotonicClock.ofThread
      let start = MonotonicClock.now
      var now = start
      var limit = nanoseconds
      func isOver() -> Bool {
        guard now - start >= limit else { return false }
        let had = MonotonicClock.ofThread - busy
        guard had < nanoseconds, now - start < 3 * nanoseconds else { return true }
        limit = now - start + (nanoseconds - had)
        return false
      }
      switch measuring {
      case .throughput:
        while !isOver() {
          for _ in 0..<batch {
            round.successes += operation(Int(indices[position])) ? 1 : 0
            position = position + 1 == indices.count ? 0 : position + 1
          }
          round.operations += batch
          now = MonotonicClock.now
        }
      case .latency:
        var histogram = Self.histogram()
        while !isOver() {
          let before = MonotonicClock.now
          round.successes += operation(Int(indices[position])) ? 1 : 0
          now = MonotonicClock.now
          histogram.record(min(now - before, Self.longest))
          round.operations += 1
          position = position + 1 == indices.count ? 0 : position + 1
        }
        round.latencies = histogram
      }
      round.nanoseconds = now - start
      round.processorNanoseconds = MonotonicClock.ofThread - busy
    }
    return round
  }

  /// Does an operation once on each of some keys.
  ///
  /// - Parameters:
  ///   - chunk: so many keys are prepared at a time, and then done.
  ///   - prepare: what has to be done before, and is not measured.
  func pass(
    over indices: ArraySlice<UInt32>, chunk: Int = 32, prepare: (Int) -> Void = { _ in },
    _ operation: (Int) -> Bool
  ) -> Round {
    var round = Round()
    var histogram = measuring == .latency ? Self.histogram() : nil
    var rest = indices
    while !rest.isEmpty {
      let keys = rest.prefix(max(1, chunk))
      rest = rest.dropFirst(keys.count)
      for key in keys { prepare(Int(key)) }
      let start = MonotonicClock.now
      for key in keys {
        let before = histogram == nil ? 0 : MonotonicClock.now
        round.successes += operation(Int(key)) ? 1 : 0
        if histogram != nil { histogram?.record(min(MonotonicClock.now - before, Self.longest)) }
      }
      round.nanoseconds += MonotonicClock.now - start
    }
    round.operations = indices.count
    round.latencies = histogram
    return round
  }

  /// A minute: what takes longer counts as that.
  private static let longest: UInt64 = 60_000_000_000

  static func histogram() -> Histogram<UInt64> {
    Histogram(highestTrackableValue: longest, numberOfSignificantValueDigits: .three)
  }
}
