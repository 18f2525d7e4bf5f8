/// The targets of the hot path, each with what a report has of it.
struct TargetTable {
  var report: Report

  var rows: [TargetResult] {
    getRows + fewRows + decideRows + mixedRows + memoryRows + churnRows + replayRows
  }

  // MARK: The rows

  private var getRows: [TargetResult] {
    let ours = find(.getByKey, .ours)
    let floor = find(.getByKey, .floor)
    let ours2 = find(.getByKey, .ours, threads: 2)
    let floor2 = find(.getByKey, .floor, threads: 2)
    let dictionary2 = find(.getByKey, .dictionary, threads: 2)
    // The floor's key is in its table, and ours with the body: who reads that has the second wait for memory anyway. What
    // a table must cost whose entries have to outlive their places shows the floor with its entries apart.
    let (oursRead, floorRead) = (find(.getAndRead, .ours), find(.getAndRead, .floor))
    let read = times(floorRead, asFastAs: oursRead).map { times in
      "; with a byte of the body read \(Format.times(times)), \(pair(oursRead, floorRead) ?? "")"
    }
    let apart = times(find(.getByKey, .floorApart), asFastAs: ours).map {
      "; against the floor with its entries apart \(Format.times($0))"
    }
    let floorGain = gain(floor2, over: floor)
    return [
      TargetResult(
        what: "get, 1 thread: time against the floor", bound: .atMost, limit: 1.25, unit: .times,
        figure: times(floor, asFastAs: ours),
        note: (pair(ours, floor) ?? "") + (apart ?? "") + (read ?? "")),
      TargetResult(
        what: "get, 2 threads: throughput against 1 thread", bound: .atLeast,
        limit: min(1.8, max(1.2, floorGain ?? 1.8)),
        unit: .times,
        // Where the floor gains next to nothing, others had the second processor.
        figure: floorGain.map { $0 < 1.2 } == true ? nil : gain(ours2, over: ours),
        note: floorGain.map {
          "the floor gains \(Format.times($0)); by the processor's time: \(gainIfAlone(ours2, ours)), the floor "
            + gainIfAlone(floor2, floor)
        }),
      TargetResult(
        what: "get, 2 threads: throughput against a locked Dictionary", bound: .atLeast, limit: 3,
        unit: .times,
        figure: gain(ours2, over: dictionary2)),
    ]
  }

  private var fewRows: [TargetResult] {
    let few = min(TargetBench.fewEntries, report.parameters.keys ?? TargetBench.fewEntries)
    func some(_ action: Action, _ cache: CacheName, _ entries: Int) -> Measurement? {
      report.measurements.first { $0.action == action && $0.cache == cache && $0.entries == entries }
    }
    let store = some(.storeAgain, .ours, few)
    let more = some(.storeAgain, .ours, 4 * few)
    // The lookup from the request is in `decide` too, at another number of entries unless there are few keys.
    let get = report.measurements.last {
      $0.action == .get && $0.cache == .ours && $0.entries == few && $0.measuring == .throughput
    }
    return [
      TargetResult(
        what: "get at \(Format.count(few)), key built from the request: speed against URLCache",
        bound: .atLeast, limit: 8, unit: .times, figure: times(get, asFastAs: some(.get, .urlCache, few)),
        note: pair(get, some(.get, .urlCache, few))),
      TargetResult(
        what: "store at \(Format.count(few)): speed against URLCache", bound: .atLeast, limit: 25,
        unit: .times,
        figure: times(store, asFastAs: some(.storeAgain, .urlCache, few)),
        note: pair(store, some(.storeAgain, .urlCache, few))),
      TargetResult(
        what: "store: time at \(Format.count(4 * few)) entries against \(Format.count(few))", bound: .atMost,
        limit: 2, unit: .times, figure: times(store, asFastAs: more),
        note: "4.00x if it grew with the count; more misses of the processor's cache count too"),
    ]
  }

  private var decideRows: [TargetResult] {
    let decide = find(.decide, .ours)
    let get = report.measurements.first {
      $0.action == .get && $0.cache == .ours && $0.entries == decide?.entries && $0.measuring == .throughput
    }
    let judge = find(.judge, .ours)
    var more: Double?
    if let decide, let get { more = Self.cost(decide) - Self.cost(get) }
    return [
      TargetResult(
        what: "decide: time against get alone", bound: .atMost, limit: 1.2, unit: .times,
        figure: times(get, asFastAs: decide), note: pair(decide, get)),
      TargetResult(
        what: "decide: time beyond get alone", bound: .atMost, limit: 60, unit: .nanoseconds, figure: more),
      TargetResult(
        what: "judging a new response of 10 fields", bound: .atMost, limit: 500, unit: .nanoseconds,
        figure: judge.map(Self.cost)),
    ]
  }

  private var mixedRows: [TargetResult] {
    let lru = find(.mixed, .ours)
    let s3fifo = find(.mixed, .oursS3FIFO)
    let latency = report.measurements.first {
      $0.action == .mixed && $0.cache == .ours && $0.measuring == .latency
    }?.latency
    var tail: Double?
    if let latency, latency.p50Nanoseconds > 0 {
      tail = Double(latency.p999Nanoseconds) / Double(latency.p50Nanoseconds)
    }
    return [
      TargetResult(
        what: "mixed, S3-FIFO: throughput against LRU", bound: .atLeast, limit: 0.9, unit: .times,
        figure: times(s3fifo, asFastAs: lru), note: pair(s3fifo, lru)),
      TargetResult(
        what: "mixed, S3-FIFO: hit ratio", bound: .atLeast, limit: 0.795, unit: .share,
        figure: s3fifo?.hitRatio, note: lru?.hitRatio.map { "LRU \(Format.percent($0))" }),
      TargetResult(
        what: "mixed: p99.9 against p50", bound: .atMost, limit: 20, unit: .times, figure: tail,
        note: latency.map {
          "\(Format.duration(Double($0.p999Nanoseconds))) and \(Format.duration(Double($0.p50Nanoseconds)))"
        }),
    ]
  }

  private var memoryRows: [TargetResult] {
    let ours = report.memory.first { $0.cache == .ours }
    return [
      TargetResult(
        what: "bytes of an entry beyond key and value, by malloc", bound: .atMost, limit: 64, unit: .bytes,
        figure: ours?.allocatedBeyond,
        note: ours?.residentBeyond.map { "by growth of the process \(Format.bytes($0))" })
    ]
  }

  private var churnRows: [TargetResult] {
    let (ours, nodes) = (find(.churn, .ours), find(.churn, .nodes))
    return [
      TargetResult(
        what: "churn: throughput against an LRU of nodes, locked", bound: .atLeast, limit: 3, unit: .times,
        figure: times(ours, asFastAs: nodes), note: pair(ours, nodes))
    ]
  }

  private var replayRows: [TargetResult] {
    func ratio(_ policy: ReplayPolicy) -> Double? {
      report.replays.first { $0.policy == policy }?.hitRatio
    }
    let (lru, exact, s3fifo) = (ratio(.lru), ratio(.exactLRU), ratio(.s3fifo))
    var below: Double?
    if let lru, let exact { below = abs(exact - lru) }
    return [
      TargetResult(
        what: "hit ratio on the trace, LRU: distance from exact LRU", bound: .atMost, limit: 0.005,
        unit: .points,
        figure: below, note: lru.map { "\(Format.percent($0)), exact \(exact.map(Format.percent) ?? "")" }),
      TargetResult(
        what: "hit ratio on the trace, S3-FIFO: distance from 58.1 % (of web07)", bound: .atMost,
        limit: 0.007,
        unit: .points, figure: s3fifo.map { max(0, 0.581 - $0) }, note: s3fifo.map(Format.percent)),
    ]
  }

  // MARK: Figures

  private func find(_ action: Action, _ cache: CacheName, threads: Int = 1) -> Measurement? {
    report.measurements.first {
      $0.action == action && $0.cache == cache && $0.threads == threads && $0.measuring == .throughput
    }
  }

  /// By the processor's time on one thread, and by the wall clock on more.
  private func times(_ one: Measurement?, asFastAs other: Measurement?) -> Double? {
    guard let one, let other else { return nil }
    return Ratio(of: one, to: other)?.timesAsFast
  }

  /// By the wall clock.
  private func gain(_ one: Measurement?, over other: Measurement?) -> Double? {
    guard let one, let other, other.operationsPerSecond > 0 else { return nil }
    return one.operationsPerSecond / other.operationsPerSecond
  }

  /// What two threads would gain if each had a processor for itself; what waits for a lock is not seen in it.
  private func gainIfAlone(_ two: Measurement?, _ one: Measurement?) -> String {
    guard let two = two?.processorNanoseconds, let one = one?.processorNanoseconds, two > 0 else {
      return "?"
    }
    return Format.times(2 * one / two)
  }

  private func pair(_ one: Measurement?, _ other: Measurement?) -> String? {
    guard let one, let other else { return nil }
    return "\(Format.duration(Self.cost(one))) and \(Format.duration(Self.cost(other)))"
  }

  private static func cost(_ one: Measurement) -> Double { one.processorNanoseconds ?? one.nanoseconds }
}
