import ArgumentParser

struct Session: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Requests through a URLSession to a server on loopback: plain, cached, validated and stale.")

  @Option(help: "The requests of each kind.")
  var requests = 500

  @Option(help: "The bytes of each body.")
  var valueSize = 1024

  @Flag(help: "Print one JSON document.")
  var json = false

  func validate() throws {
    guard (1...1_000_000).contains(requests) else {
      throw ValidationError("--requests is \(requests); give 1 to 1000000")
    }
    guard (1...(16 << 20)).contains(valueSize) else {
      throw ValidationError("--value-size is \(valueSize); give 1 to \(16 << 20)")
    }
  }

  func run() async throws {
    let interruption = Interruption()
    defer { interruption.stop() }
    let progress = ProgressLine()
    defer { progress.clear() }
    let bench = SessionBench(requests: requests, valueSize: valueSize, progress: progress)
    let scenarios = try await bench.run()
    let report = Report(
      command: "session", machine: .current,
      parameters: Parameters(requests: requests, valueBytes: valueSize),
      session: scenarios, targets: Scenario.targets(of: scenarios))
    progress.clear()
    try report.print(asJSON: json)
  }
}
