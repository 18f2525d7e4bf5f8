import ArgumentParser

struct WorkloadCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "workload",
    abstract:
      "get, mixed, churn and decide in memory, at a million keys, beside the floor and other yardsticks.",
    discussion: """
      get: lookups, all of which find something. mixed: nine lookups that store what they do not find, and a store, at a \
      capacity of a tenth of the keys. churn: stores of what is not there, each of which evicts something. decide: a lookup \
      with the decision to serve what it found, against the lookup alone. Throughput with 1, 2, 4… threads, latency with one.
      """)

  @Argument(help: "get, mixed, churn or decide; all of them unless given.")
  var workloads: [Workload] = Workload.allCases

  @OptionGroup var options: HotOptions

  func run() throws {
    let progress = ProgressLine()
    defer { progress.clear() }
    let measurements = try HotBench(options: options, progress: progress).run(workloads)
    let report = Report(
      command: "workload", machine: .current, parameters: Parameters(options), measurements: measurements,
      ratios: Ratio.all(of: measurements).filter { $0.measuring == .throughput },
      notes: HotBench.notes(workloads))
    progress.clear()
    try report.print(asJSON: options.json)
  }
}
