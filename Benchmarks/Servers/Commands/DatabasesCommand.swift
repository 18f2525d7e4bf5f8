// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness

/// The workloads of `databases`.
enum DatabaseWorkload: String, CaseIterable, Sendable, ExpressibleByArgument {
  /// Puts of new entries.
  case put
  /// Gets, page cache warm.
  case get
  /// Nine gets and a put that replaces an entry.
  case mixed

  fileprivate var action: Action {
    switch self {
    case .put: .diskStore
    case .get: .diskGet
    case .mixed: .diskMixed
    }
  }
}

/// `cache-bench-servers databases`.
struct DatabasesCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "databases",
    abstract: "Measure the store on disk, and compare it with SQLite, LMDB and RocksDB.",
    discussion: """
      put: new entries. get: stored entries, zipf, page cache warm. mixed: nine gets, and a put that replaces an entry. \
      Nothing is synced. SQLite has a write-ahead log, and commits 64 puts at a time. The libraries of the system are opened \
      at run time. All files are in the temporary directory (TMPDIR).
      """)

  @Argument(help: "Measurements to run.")
  var workloads: [DatabaseWorkload] = DatabaseWorkload.allCases
  @Option(
    name: .customLong("beside"),
    help: ArgumentHelp(
      "Database or other yardstick; may be repeated (default: sqlite).",
      discussion: "sqlite, lmdb or rocksdb, which need a library of the system, or raw or files."),
    transform: {
      _ = try Limits.choice($0, of: DiskContest.yardsticks)
      return $0
    })
  var beside = ["sqlite"]
  @OptionGroup var options: DiskContestOptions
  var json: Bool { options.round.json }

  func yardsticks() throws -> [DiskContest.Yardstick] {
    try beside.map { try Limits.choice($0, of: DiskContest.yardsticks) }
  }

  func validate() throws {
    for yardstick in try yardsticks() where !yardstick.name.isInstalled {
      throw ValidationError(
        "--beside: the library of \(yardstick.name.rawValue) is not installed; install it, or use another yardstick"
      )
    }
  }

  func report(_ progress: ProgressLine) throws -> Report {
    let contest = DiskContest(options: options, yardsticks: try yardsticks(), progress: progress)
    var report = Report(
      command: "databases",
      parameters: Parameters(
        diskKeys: options.keys, seconds: options.round.seconds, rounds: options.round.rounds,
        seed: options.round.seed, diskValueBytes: options.valueSizes),
      notes: [DiskContest.note])
    for size in options.valueSizes {
      report.measurements += try contest.run(workloads.map(\.action), valueSize: size)
    }
    report.measurements += report.measurements.ratios
    if beside.contains("sqlite") { report.notes.append(SQLite.note) }
    return report
  }
}

extension SQLite {
  /// Its version and settings, or that it is missing.
  static var note: String {
    library.isInstalled
      ? "SQLite is the system's, version \((try? version()) ?? "unknown"), with synchronous=OFF."
      : "SQLite is not measured, because libsqlite3 is not installed. On Debian, install libsqlite3-0."
  }
}
