// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import Foundation

/// Measures everything that has a target, by `cache-bench` as a process.
struct TargetsCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "targets",
    abstract: "Measure the hot path, or the disk tier, against its targets, in a run of some minutes.")

  @Flag(help: "Measure the disk tier, instead of the hot path.")
  var disk = false
  @Option(help: "Trace file for the hit ratios, with 'key size' on each line.")
  var trace: String?
  @Option(help: "Number of keys (default: 1000000, or 100000 with --disk).")
  var keys: Int?
  @Option(help: "Maximum number of threads of the hot path, at least 2 (default: cores, at most 8).")
  var threads: Int?
  @Option(help: "Bytes of each body of the hot path.")
  var valueSize = 1024
  @Option(help: "Capacity of the disk tier that is always full, in bytes.")
  var capacity = 128 << 20
  @OptionGroup var program: BenchProgramOptions
  @OptionGroup var round: RoundOptions
  var json: Bool { round.json }

  func validate() throws {
    // One of the targets of the disk needs ten times as many.
    if let keys { try Limits.require(keys, "keys", in: 1...(disk ? 1_000_000 : 100_000_000)) }
    if let threads { try Limits.require(threads, "threads", in: 2...256) }
    try Limits.require(valueSize, "value-size", in: 1...(1 << 30))
    try Limits.require(capacity, "capacity", in: (1 << 20)...(1 << 40))
    if disk {
      guard trace == nil else { throw ValidationError("use either --disk or --trace") }
      let keys = keys ?? 100_000
      try Limits.requireDisk(20 * 1024 * Double(keys), "--disk with \(keys) keys")
    }
  }

  func report(_ progress: ProgressLine) throws -> Report {
    var report = disk ? try diskReport(progress) : try memoryReport(progress)
    report.command = "targets"
    report.measurements = report.measurements.filter { $0.kind != .ratio }
    report.measurements += report.measurements.ratios
    report.targets = disk ? report.diskTargets : report.memoryTargets
    return report
  }

  private func runner(_ progress: ProgressLine) throws -> ([String], _ flags: [String]) throws -> Report {
    let program = try program.program()
    return { words, flags in
      progress.show("cache-bench " + words.joined(separator: " "))
      return try program.report(words + flags)
    }
  }

  private func memoryReport(_ progress: ProgressLine) throws -> Report {
    let run = try runner(progress)
    let keys = keys ?? 1_000_000
    let few = min(Report.fewEntries, keys)
    let size = ["--value-size", String(valueSize)]
    // Some targets are for two threads.
    let flags = size + round.arguments + ["--keys", String(keys)]
    let threads = [
      "--threads", String(threads ?? max(2, min(8, ProcessInfo.processInfo.activeProcessorCount))),
    ]
    var report = try run(["workload"], flags + threads)
    report.measurements += try run(["workload", "get"], ["--no-body"] + flags + threads).measurements
    report.measurements += try run(["memory"], size + ["--keys", String(keys)]).measurements
    report.measurements += try run(["throughput"], size + round.arguments + ["--keys", String(few)])
      .measurements
    // Only for the growth.
    report.measurements += try run(["throughput"], size + round.arguments + ["--keys", String(4 * few)])
      .measurements.filter { $0.contender == .ours }
    report.notes.append(
      "Instructions, allocations and parsers are counted by 'make bench-instructions', not here.")
    if let trace {
      report.measurements += try run(["replay", trace], ["--capacity", "0.1", "--shards", "16"]).measurements
    } else {
      report.notes.append("To measure hit ratios on a trace, use --trace FILE.")
    }
    return report
  }

  private func diskReport(_ progress: ProgressLine) throws -> Report {
    let run = try runner(progress)
    let some = ["--keys", String(keys ?? 100_000)]
    let size = 16 << 10
    let contest = try DiskContestOptions.parse(
      ["--value-size", String(size)] + round.arguments + (keys == nil ? [] : some))
    let sqlite = try Limits.choice("sqlite", of: DiskContest.yardsticks)
    var report = try run(
      ["disk", "churn", "cold"],
      ["--value-size", String(size), "--capacity", String(capacity)] + round.arguments
        + (keys == nil ? [] : some))
    report.measurements += try DiskContest(
      options: contest,
      yardsticks: [DiskContest.rawFile, DiskContest.files] + (sqlite.name.isInstalled ? [sqlite] : []),
      progress: progress
    ).run([.diskStore, .diskGet], valueSize: size)
    // URLCache takes seconds for more entries.
    report.measurements += try run(
      ["throughput"],
      ["--tier", "both", "--keys", "100", "--disk-keys", String(min(100, keys ?? 100))] + round.arguments
    ).measurements.filter { [.diskGet, .diskStore].contains($0.action) }
    for (keys, size) in [(keys ?? 100_000, size), (10 * (keys ?? 100_000), 1024)] {
      report.measurements += try run(
        ["disk", "reopen"], ["--value-size", String(size), "--keys", String(keys)] + round.arguments
      ).measurements
    }
    report.notes.append(SQLite.note)
    return report
  }
}
