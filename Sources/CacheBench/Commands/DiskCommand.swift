// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser

/// The flags of `disk`.
struct DiskOptions: ParsableArguments {
  @Option(help: "Number of keys (default: for 64 MiB of values, at most 16384; for 'reopen' 100000).")
  var keys: Int?
  @Option(
    name: .customLong("value-size"),
    help: "Bytes of each value; may be given more than once (default: 1024, 16384, 65536 and 1048576).")
  var givenSizes: [Int] = []
  @Option(
    name: .customLong("beside"),
    help: ArgumentHelp(
      "A yardstick of 'put', 'get' and 'mixed'; may be given more than once (default: raw, files and sqlite).",
      discussion: "raw, files, sqlite, lmdb or rocksdb, the last three where the system has their library."),
    transform: { try Limits.choice($0, of: Contender.onDisk) })
  var givenYardsticks: [Contender] = []
  @Option(help: "Bytes that 'churn' may occupy.")
  var capacity = 128 << 20
  @Flag(
    help: "Measure what the targets of the disk tier are set for, and whether they are met; some minutes.")
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
        "--beside: the system does not have the library of \(yardstick.rawValue); install it, or leave it out"
      )
    }
    if let keys { try Limits.require(keys, "keys", in: 1...(1 << 24 - 2)) }
    // One of the targets needs ten times as many.
    if targets { try Limits.require(keys ?? 1, "keys", in: 1...1_000_000) }
    for size in givenSizes { try Limits.require(size, "value-size", in: 1...(64 << 20)) }
    try Limits.require(capacity, "capacity", in: (1 << 20)...(1 << 40))
    guard valueSizes.count <= 16 else {
      throw ValidationError("--value-size is given \(valueSizes.count) times; give 16 at most")
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
      : "SQLite is left out: the system has no libsqlite3. Install libsqlite3-0, or its equivalent here."
    return Report(
      command: "disk",
      parameters: Parameters(
        diskKeys: keys, seconds: round.seconds, rounds: round.rounds, seed: round.seed,
        capacityBytes: capacity, diskValueBytes: valueSizes),
      notes: [
        "Nothing is synced. Ours writes and reads key and head with each value, and verifies checksums; the raw file does "
          + "neither.", sqlite,
      ])
  }
}

struct DiskCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "disk",
    abstract:
      "put, get, mixed, churn, cold and reopen on disk, beside a raw file, a file per entry and SQLite.",
    discussion: """
      put: new entries. get: stored entries, zipf, page cache warm. mixed: nine gets, and a put that replaces an entry. \
      churn: our store at its capacity, what of it is of use and what is written for it. cold: gets with the page cache \
      dropped. reopen: a process opens what another closed, or left behind when it was killed. Nothing is synced; SQLite, \
      where the library is installed, has a write-ahead log and commits 64 puts at a time. All is done in the temporary \
      directory (TMPDIR).
      """)

  @Argument(help: "What to measure.")
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
