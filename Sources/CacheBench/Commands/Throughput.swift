import ArgumentParser

struct Throughput: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Operations per second of the store, and of the yardsticks beside it.")

  @OptionGroup var options: StoreOptions

  func run() throws {
    try StoreCommand.run("throughput", options, .throughput)
  }
}

struct Latency: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "How long single operations of the store take, in percentiles, and of the yardsticks beside it."
  )

  @OptionGroup var options: StoreOptions

  func run() throws {
    try StoreCommand.run("latency", options, .latency)
  }
}

/// What the two have in common.
enum StoreCommand {
  static func run(_ name: String, _ options: StoreOptions, _ measuring: Measuring) throws {
    let interruption = Interruption()
    defer { interruption.stop() }
    let progress = ProgressLine()
    defer { progress.clear() }
    let bench = StoreBench(options: options, measuring: measuring, progress: progress)
    let measurements = try bench.run()
    let report = Report(
      command: name, machine: .current, parameters: Parameters(options), measurements: measurements,
      ratios: Ratio.all(of: measurements), notes: bench.notes)
    progress.clear()
    try report.print(asJSON: options.json)
  }
}
