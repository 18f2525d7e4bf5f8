// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness

/// The flags of `disk`.
struct DiskBenchOptions: ParsableArguments {
  fileprivate static let known: KeyValuePairs<String, Contender> = ["raw": .rawFile, "files": .files]

  @Option(
    name: .customLong("beside"),
    help: ArgumentHelp(
      "Yardstick for 'put', 'get' and 'mixed'; may be repeated (default: raw and files).",
      discussion: "raw or files. 'cache-bench-servers databases' compares with SQLite, LMDB and RocksDB."),
    transform: { try Limits.choice($0, of: DiskBenchOptions.known) })
  var givenYardsticks: [Contender] = []
  @Option(help: "Capacity of 'churn' in bytes.")
  var capacity = 128 << 20
  @OptionGroup var contest: DiskContestOptions

  var yardsticks: [DiskContest.Yardstick] {
    [DiskContest.rawFile, DiskContest.files].filter {
      givenYardsticks.isEmpty || givenYardsticks.contains($0.name)
    }
  }

  func validate() throws {
    try Limits.require(capacity, "capacity", in: (1 << 20)...(1 << 40))
    try Limits.requireDisk(Double(capacity), "--capacity \(capacity)")
  }

  /// The report that measurements are added to.
  var report: Report {
    Report(
      command: "disk",
      parameters: Parameters(
        diskKeys: contest.keys, seconds: contest.round.seconds, rounds: contest.round.rounds,
        seed: contest.round.seed, capacityBytes: capacity, diskValueBytes: contest.valueSizes),
      notes: [DiskContest.note])
  }
}

struct DiskCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "disk",
    abstract:
      "Measure the store on disk, and compare it with a raw file and a file per entry.",
    discussion: """
      put: new entries. get: stored entries, zipf, page cache warm. mixed: nine gets, and a put that replaces an entry. \
      churn: the store at its capacity, its share of live bytes, and the bytes written for each byte stored. cold: gets \
      with the page cache dropped. reopen: a process opens a directory that another process closed, or left behind when it \
      was killed. Nothing is synced. All files are in the temporary directory (TMPDIR).
      """)

  @Argument(help: "Measurements to run.")
  var workloads: [DiskWorkload] = DiskWorkload.allCases

  @OptionGroup var options: DiskBenchOptions
  var json: Bool { options.contest.round.json }

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
