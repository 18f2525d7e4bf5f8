import Synchronization

/// Caches that do the same workload in turns, slice by slice, so that what else the machine does meets all alike.
struct HotRace {
  var lanes: [HotLane]
  var options: HotOptions
  /// The most entries that a cache is to hold, where that is less than all.
  var capacityEntries: Int?
  /// What was counted before, in place of what the timed rounds find.
  var hitRatios: [Double?] = []

  /// - Parameter arrivals: keys for each of the threads.
  func run(
    _ measuring: Measuring, over arrivals: [Arrivals], _ progress: ProgressLine
  ) throws -> [Measurement] {
    let threads = arrivals.count
    for lane in lanes { lane.begin(arrivals) }
    let tracks = lanes.map { Track($0, arrivals) }
    var rounds = [[Round]](repeating: [], count: lanes.count)
    let slice = UInt64(max(1, options.seconds * 1e9 / Double(options.rounds)))
    for round in 0..<options.rounds {
      for offset in lanes.indices {
        // Who comes first changes.
        let number = (round + offset) % lanes.count
        let lane = lanes[number]
        progress.show(
          "\(lane.action.title), threads \(threads), \(measuring.rawValue), round \(round + 1) of "
            + "\(options.rounds): \(lane.name.title)")
        let result = tracks[number].run(slice, Loop(measuring: measuring))
        try check(result, lane)
        rounds[number].append(result)
      }
    }
    return lanes.indices.map { number in
      let lane = lanes[number]
      var measurement = Measurement(
        of: lane.action, on: lane.name, rounds: rounds[number], measuring: measuring, entries: options.keys,
        valueBytes: options.valueSize, threads: threads)
      if hitRatios.indices.contains(number), let counted = hitRatios[number] {
        measurement.hitRatio = counted
      }
      measurement.capacityEntries = capacityEntries
      return measurement
    }
  }

  private func check(_ round: Round, _ lane: HotLane) throws {
    guard let expected = lane.action.mustSucceed(isBounded: false) else { return }
    let failures = expected ? round.operations - round.successes : round.successes
    guard failures == 0 else {
      throw BenchError.failed(
        action: lane.action, cache: lane.name, failures: failures, operations: round.operations)
    }
  }

  /// The way of a cache through the keys: a round goes on where the one before it ended.
  private final class Track: Sendable {
    private let arrivals: [Arrivals]
    private let operations: [HotLane.Operation]
    private let done: Mutex<[Int]>

    init(_ lane: HotLane, _ arrivals: [Arrivals]) {
      self.arrivals = arrivals
      operations = arrivals.map { lane.operation($0) }
      done = Mutex([Int](repeating: 0, count: arrivals.count))
    }

    func run(_ slice: UInt64, _ loop: Loop) -> Round {
      ThreadTeam.run(arrivals.count) { [self] thread in
        let start = done.withLock { $0[thread] }
        let round = loop.run(
          for: slice, over: arrivals[thread].positions, from: start, operations[thread])
        done.withLock { $0[thread] += round.operations }
        return round
      }
    }
  }
}
