import ArgumentParser

struct Quick: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "A short run of everything: throughput, latency, and requests end to end. Takes under a minute."
  )

  @Flag(help: "Print one JSON document.")
  var json = false

  func run() async throws {
    let interruption = Interruption()
    defer { interruption.stop() }
    let progress = ProgressLine()
    defer { progress.clear() }
    // Parsed, not made: only parsing gives a property wrapper its default.
    let options = try StoreOptions.parse(["--tier", "both", "--seconds", "0.4"])
    let throughput = StoreBench(options: options, measuring: .throughput, progress: progress)
    let latency = StoreBench(options: options, measuring: .latency, progress: progress)
    let measurements = try throughput.run() + latency.run()
    let requests = 300
    let session = try await SessionBench(
      requests: requests, valueSize: options.valueSize, progress: progress
    ).run()
    var parameters = Parameters(options)
    parameters.requests = requests
    let report = Report(
      command: "quick", machine: .current, parameters: parameters, measurements: measurements,
      ratios: Ratio.all(of: measurements).filter { $0.measuring == .throughput }, session: session,
      notes: throughput.notes)
    progress.clear()
    try report.print(asJSON: json)
  }
}
