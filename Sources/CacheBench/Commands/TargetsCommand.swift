import ArgumentParser

struct TargetsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "targets",
    abstract: "What the hot path is to reach, and whether it does: all of it in one run of a few minutes.")

  @Option(help: "A trace of which the hit ratios are measured, with 'key size' in each line.")
  var trace: String?

  @OptionGroup var options: HotOptions

  func run() throws {
    let interruption = Interruption()
    defer { interruption.stop() }
    let progress = ProgressLine()
    defer { progress.clear() }
    let trace = try InputError.reporting { try self.trace.map { try Trace(path: $0) } }
    let report = try TargetBench(options: options, trace: trace, progress: progress).run()
    progress.clear()
    try report.print(asJSON: options.json)
  }
}
