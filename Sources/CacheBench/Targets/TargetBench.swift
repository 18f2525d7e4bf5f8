import ArgumentParser

/// Measures everything that a target is set for and this program can measure.
struct TargetBench {
  var options: HotOptions
  /// The trace of the hit ratios; those are left out without one.
  var trace: Trace?
  var progress: ProgressLine

  /// Entries of the comparison with URLCache.
  static let fewEntries = 10_000

  func run() throws -> Report {
    var options = options
    // Some targets are for two.
    options.threads = max(2, options.threads)
    let hot = HotBench(options: options, progress: progress)
    var report = Report(command: "targets", machine: .current, parameters: Parameters(options))
    let count = min(Self.fewEntries, options.keys)
    report.memory = try MemoryBench(keys: options.keys, valueSize: options.valueSize, progress: progress)
      .run()
    report.measurements = try hot.run(Workload.allCases) + hot.judge() + few(count)
    // For the growth alone.
    let more = try few(4 * count).filter { $0.cache == .ours }
    report.measurements += more
    if let trace {
      let replayer = Replayer(trace: trace, sizes: .unit, shards: 16)
      report.replays = try ReplayPolicy.allCases.map { try replayer.run($0, capacityShare: 0.1) }
    }
    report.ratios = Ratio.all(of: report.measurements).filter { $0.measuring == .throughput }
    report.targets = TargetTable(report: report).rows
    report.notes =
      HotBench.notes(Workload.allCases) + [
        "Instructions, allocations and the parsers are measured in Benchmarks, and not here."
      ]
    if trace == nil { report.notes.append("The hit ratios on a trace are measured with --trace FILE.") }
    return report
  }

  private func few(_ keys: Int) throws -> [Measurement] {
    let some = try StoreOptions.parse([
      "--keys", String(keys), "--value-size", String(options.valueSize), "--seconds",
      String(options.seconds), "--rounds", String(options.rounds), "--seed", String(options.seed),
    ])
    return try StoreBench(
      options: some, measuring: .throughput, progress: progress, only: [.get, .storeAgain]
    ).run()
  }
}
