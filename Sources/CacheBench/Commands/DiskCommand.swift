// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser

/// The flags of `disk`.
struct DiskOptions: ParsableArguments {
  @Option(help: "Number of keys (default: enough for 64 MiB of values, at most 16384; 100000 for 'reopen').")
  var keys: Int?
  @Option(
    name: .customLong("value-size"),
    help: "Bytes of each value; may be repeated (default: 1024, 16384, 65536 and 1048576).")
  var givenSizes: [Int] = []
  @Option(
    name: .customLong("beside"),
    help: ArgumentHelp(
      "Yardstick for 'put', 'get' and 'mixed'; may be repeated (default: raw, files and sqlite).",
      discussion: "raw, files, sqlite, lmdb or rocksdb. The last three need a library of the system."),
    transform: { try Limits.choice($0, of: Contender.onDisk) })
  var givenYardsticks: [Contender] = []
  @Option(help: "Capacity of 'churn' in bytes.")
  var capacity = 128 << 20
  @Flag(
    help: "Measure the disk tier against its targets. Takes some minutes.")
  var targets = false
  @OptionGroup var round: RoundOptions

  var valueSizes: [Int] {
    if targets { return [16 << 10] }
    return givenSizes.isEmpty ? [1 << 10, 16 << 10, 64 << 10, 1 << 20] : givenSizes
  }

  var yardsticks: [Contender] { givenYardsticks.isEmpty ? [.rawFile, .files, .sqlite] : givenYardsticks }

  func keys(ofSize size: Int) -> Int { keys ?? max(64, min(1 << 14, (64 << 20) / size)) }

  func validate() throws {
    for yardstick in givenYardsticks where !yardstick.isInstalled {
      throw ValidationError(
        "--beside: the library of \(yardstick.rawValue) is not installed; install it, or remove the option"
      )
    }
    if let keys { try Limits.require(keys, "keys", in: 1...(1 << 24 - 2)) }
    // One of the targets needs ten times as many.
    if targets { try Limits.require(keys ?? 1, "keys", in: 1...1_000_000) }
    for size in givenSizes { try Limits.require(size, "value-size", in: 1...(64 << 20)) }
    try Limits.require(capacity, "capacity", in: (1 << 20)...(1 << 40))
    guard valueSizes.count <= 16 else {
      throw ValidationError("--value-size: expected at most 16 values, found \(valueSizes.count)")
    }
    for size in valueSizes {
      // Three copies: the puts of a round, the last data in the page cache, and a reserve.
      let keys = keys(ofSize: size)
      try Limits.requireDisk(3 * Double(keys) * Double(size), "--keys \(keys) with --value-size \(size)")
    }
    try Limits.requireDisk(Double(capacity), "--capacity \(capacity)")
    if targets {
      let keys = keys ?? 100_000
      try Limits.requireDisk(20 * 1024 * Double(keys), "--targets with \(keys) keys")
    }
  }

  /// The report that measurements are added to.
  var report: Report {
    let sqlite =
      Contender.sqlite.isInstalled
      ? "SQLite is the system's, version \((try? SQLite.version()) ?? "unknown"), with synchronous=OFF."
      : "SQLite is not measured, because libsqlite3 is not installed. On Debian, install libsqlite3-0."
    return Report(
      command: "disk",
      parameters: Parameters(
        diskKeys: keys, seconds: round.seconds, rounds: round.rounds, seed: round.seed,
        capacityBytes: capacity, diskValueBytes: valueSizes),
      notes: [
        "Nothing is synced. The store writes and reads key and head with each value, and verifies checksums; the raw file does "
          + "neither.", sqlite,
      ])
  }
}

struct DiskCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "disk",
    abstract:
      "Measure the store on disk, and compare it with a raw file, a file per entry and SQLite.",
    discussion: """
      put: new entries. get: stored entries, zipf, page cache warm. mixed: nine gets, and a put that replaces an entry. \
      churn: the store at its capacity, its share of live bytes, and the bytes written for each byte stored. cold: gets \
      with the page cache dropped. reopen: a process opens a directory that another process closed, or left behind when it \
      was killed. Nothing is synced. SQLite is measured if its library is installed; it has a write-ahead log and commits \
      64 puts at a time. All files are in the temporary directory (TMPDIR).
      """)

  @Argument(help: "Measurements to run.")
  var workloads: [DiskWorkload] = DiskWorkload.allCases

  @OptionGroup var options: DiskOptions
  var json: Bool { options.round.json }

  func report(_ progress: ProgressLine) throws -> Report {
    try DiskBench(options: options, progress: progress).run(workloads)
  }
}

/// The process that `disk reopen` starts. It fills a directory or opens it, and reports the cost. Then it waits until
/// it is told to close the directory, or is killed.
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
