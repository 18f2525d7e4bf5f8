import ArgumentParser

struct ReplayCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Hit ratios on a trace of requests: a file with 'key size' in each line.",
    discussion: """
      Each request that finds nothing stores what it asked for. The capacity is a share of the distinct keys of the trace \
      or, with real sizes, of their bytes. Exit status: 65 for a trace with a broken line, 66 for one that cannot be read.
      """)

  @Argument(help: "The trace.")
  var trace: String

  @Option(help: "The capacity, as a share of all; may be given more than once.")
  var capacity: [Double] = [0.02, 0.05, 0.1, 0.2, 0.4]

  @Option(help: "lru, s3fifo or exact-lru; may be given more than once; all unless given.")
  var eviction: [ReplayPolicy] = ReplayPolicy.allCases

  @Option(help: "unit: every entry counts the same; real: its bytes.")
  var sizes = ReplaySizes.unit

  @Option(help: "The shards of our store, a power of two; chosen by the store unless given.")
  var shards: Int?

  @Flag(help: "Print one JSON document.")
  var json = false

  func validate() throws {
    for share in capacity { try Limits.requireShare(share, "capacity") }
    guard capacity.count <= 100 else {
      throw ValidationError("--capacity is given \(capacity.count) times; give 100 at most")
    }
    try Limits.requireShards(shards)
  }

  func run() throws {
    let progress = ProgressLine()
    defer { progress.clear() }
    let trace = try InputError.reporting { try Trace(path: self.trace) }
    if sizes == .real {
      try Limits.requireMemory(
        Double(trace.distinctBytes) * (capacity.max() ?? 1) * 1.1, "--sizes real with this --capacity")
    }
    let replayer = Replayer(trace: trace, sizes: sizes, shards: shards)
    var report = Report(command: "replay", machine: .current, parameters: Parameters())
    for share in capacity {
      for policy in eviction {
        progress.show("\(trace.name): \(policy.title) at \(Format.percent(share))")
        report.replays.append(try replayer.run(policy, capacityShare: share))
      }
    }
    progress.clear()
    try report.print(asJSON: json)
  }
}
