import ArgumentParser
import Foundation

/// The flags of `disk`.
struct DiskOptions: ParsableArguments {
  @Option(
    help:
      "The number of keys; what makes 64 MiB of values, 16,384 at most, unless given. Of 'reopen': 100,000.")
  var keys: Int?

  @Option(
    name: .customLong("value-size"),
    help: "The bytes of each value; may be given more than once; 1024, 16384, 65536 and 1048576 unless given."
  )
  var givenSizes: [Int] = []

  @Option(
    name: .customLong("beside"),
    help:
      "A yardstick of 'put', 'get' and 'mixed'; may be given more than once; raw, files and sqlite unless given. lmdb and rocksdb where the system has their library."
  )
  var givenYardsticks: [DiskYardstick] = []

  @Option(help: "The bytes that 'churn' may occupy.")
  var capacity = 128 << 20

  @Option(help: "The seconds to measure each workload of each cache for, all rounds together.")
  var seconds = 1.0

  @Option(help: "The rounds in which the caches take turns.")
  var rounds = 5

  @Option(help: "The seed of keys and values; the same seed, the same sequence.")
  var seed: UInt64 = 1

  @Flag(
    help: "Measure what the targets of the disk tier are set for, and say whether they are met; some minutes."
  )
  var targets = false

  @Flag(help: "Print one JSON document.")
  var json = false

  var valueSizes: [Int] {
    if !givenSizes.isEmpty { return givenSizes }
    return targets ? [16 << 10] : [1 << 10, 16 << 10, 64 << 10, 1 << 20]
  }

  var yardsticks: [DiskYardstick] { givenYardsticks.isEmpty ? DiskYardstick.usual : givenYardsticks }

  func keys(ofSize size: Int) -> Int { keys ?? max(64, min(1 << 14, (64 << 20) / size)) }

  func validate() throws {
    for yardstick in givenYardsticks where !yardstick.isThere {
      throw ValidationError(
        "--beside \(yardstick.rawValue): the system does not have its library; install it, or leave it out")
    }
    if let keys { try Limits.require(keys, "keys", in: 1...(1 << 24 - 2)) }
    // Of the targets, one is for ten times as many.
    if targets { try Limits.require(keys ?? 1, "keys", in: 1...1_000_000) }
    for size in givenSizes { try Limits.require(size, "value-size", in: 1...(64 << 20)) }
    try Limits.require(capacity, "capacity", in: (1 << 20)...(1 << 40))
    try Limits.require(rounds, "rounds", in: 1...1000)
    try Limits.requireSeconds(seconds)
    guard valueSizes.count <= 16 else {
      throw ValidationError("--value-size is given \(valueSizes.count) times; give 16 at most")
    }
    for size in valueSizes {
      // Three copies: the puts of a round, what the page cache has of the last, and room to breathe.
      let keys = keys(ofSize: size)
      try Limits.requireDisk(3 * Double(keys) * Double(size), "--keys \(keys) with --value-size \(size)")
    }
    try Limits.requireDisk(Double(capacity), "--capacity \(capacity)")
    if targets {
      let keys = keys ?? 100_000
      try Limits.requireDisk(20 * 1024 * Double(keys), "--targets with \(keys) keys")
    }
  }
}

struct DiskCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "disk",
    abstract:
      "put, get, mixed, churn, cold and reopen on disk, beside a raw file, a file per entry and SQLite.",
    discussion: """
      put: what is not there yet. get: what is there, zipf, page cache warm. mixed: nine gets, and a put in place of what is \
      there. churn: our store at its capacity, what of it is of use and what is written for it. cold: gets with the page \
      cache dropped. reopen: a process opens what another closed, or was killed over. Nobody syncs; SQLite, where the \
      library is installed, has a write-ahead log and commits 64 puts at a time. All is done in the temporary directory \
      (TMPDIR).
      """)

  @Argument(help: "put, get, mixed, churn, cold or reopen; all of them unless given.")
  var workloads: [DiskWorkload] = DiskWorkload.allCases

  @OptionGroup var options: DiskOptions

  func run() throws {
    let interruption = Interruption()
    defer { interruption.stop() }
    let progress = ProgressLine()
    defer { progress.clear() }
    let bench = DiskBench(options: options, progress: progress)
    let report = try options.targets ? bench.targets() : bench.run(workloads)
    progress.clear()
    try report.print(asJSON: options.json)
  }
}

/// The process that `disk reopen` starts: it fills a directory or opens it, tells what that took, and waits to be told
/// to close it, or to be killed.
struct DiskChildCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "disk-child", shouldDisplay: false)

  @Argument var directory: String
  @Option var fill = 0
  @Option var valueSize = 1024
  @Option var capacity = 1 << 30

  func run() throws {
    try DiskChild.run(directory: directory, fill: fill, valueSize: valueSize, capacity: capacity)
  }
}
