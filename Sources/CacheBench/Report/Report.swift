import Foundation

/// Everything that a run found, as `--json` prints it. Units are in the names.
struct Report: Codable, Sendable {
  /// Grows when a field changes its meaning or goes away.
  static let currentFormat = 2

  var format = Report.currentFormat
  var command: String
  var machine: Machine
  var parameters: Parameters
  var measurements: [Measurement] = []
  var ratios: [Ratio] = []
  var session: [Scenario] = []
  var replays: [Replay] = []
  var memory: [MemoryFigure] = []
  /// What `disk` found beyond its measurements.
  var disk: DiskReport?
  var targets: [TargetResult] = []
  var notes: [String] = []

  func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  func print(asJSON: Bool) throws {
    let text = asJSON ? try json() : self.text
    FileHandle.standardOutput.write(Data((text.hasSuffix("\n") ? text : text + "\n").utf8))
  }
}

/// What was asked for.
struct Parameters: Codable, Hashable, Sendable {
  var keys: Int?
  var diskKeys: Int?
  var valueBytes: Int?
  var distribution: Distribution?
  var zipfExponent: Double?
  var threads: Int?
  var seconds: Double?
  var rounds: Int?
  var seed: UInt64?
  var tier: TierChoice?
  var capacityBytes: Int?
  /// Requests of each scenario of `session`.
  var requests: Int?
  /// What the capacity of `mixed` and `churn` is of all keys.
  var capacityShare: Double?
  /// Where something else than the store's own choice.
  var shards: Int?
  /// The sizes that `disk` was asked for, and of how many keys, where that was said.
  var diskValueBytes: [Int]?

  init() {}

  init(_ options: StoreOptions) {
    keys = options.keys
    diskKeys = options.tier == .both ? options.diskKeys : nil
    valueBytes = options.valueSize
    distribution = options.distribution
    zipfExponent = options.distribution == .zipf ? options.zipfExponent : nil
    threads = options.threads
    seconds = options.seconds
    rounds = options.rounds
    seed = options.seed
    tier = options.tier
    capacityBytes = options.capacity
  }

  init(_ options: HotOptions) {
    keys = options.keys
    valueBytes = options.valueSize
    distribution = options.distribution
    zipfExponent = options.distribution == .zipf ? options.zipfExponent : nil
    threads = options.threads
    seconds = options.seconds
    rounds = options.rounds
    seed = options.seed
    capacityShare = options.capacity
    shards = options.shards
  }

  init(_ options: DiskOptions) {
    diskKeys = options.keys
    diskValueBytes = options.valueSizes
    seconds = options.seconds
    rounds = options.rounds
    seed = options.seed
    capacityBytes = options.capacity
  }

  init(requests: Int, valueBytes: Int) {
    self.requests = requests
    self.valueBytes = valueBytes
  }
}
