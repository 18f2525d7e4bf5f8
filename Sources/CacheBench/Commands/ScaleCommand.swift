// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness

struct ScaleCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "scale",
    abstract:
      "Measure the store with more and more entries, and the memory that is left at the end.",
    discussion: """
      In turns: an insert into a store that has room, a lookup of any entry, an insert that evicts, a purge by prefix that \
      selects 100 entries, and the removal of everything. All figures are processor time: of one thread in memory. On disk, \
      it is that of the process, whose other thread writes, and the opening of the directory is measured too. Files are in \
      the temporary directory and stay in the page cache: ten million entries need 7 GB of both.
      """)

  @Option(help: "Number of entries; may be repeated.")
  var keys = [10_000, 100_000, 1_000_000]
  @Option(help: "Bytes of each body.")
  var valueSize = 100
  @Option(help: "Number of lookups, and of inserts that evict; a multiple of 100.")
  var operations = 1_000_000
  @Option(help: "Eviction policy: lru or s3fifo.", transform: { try Limits.choice($0, of: Self.policies) })
  var eviction = Contender.oursS3FIFO
  @Option(help: "Tiers to measure: memory, or both.")
  var tier = TierChoice.memory
  @Flag(help: "Print the result as one JSON document.")
  var json = false

  private static let policies: KeyValuePairs<String, Contender> = ["lru": .ours, "s3fifo": .oursS3FIFO]

  func validate() throws {
    try Limits.require(operations, "operations", in: 100...100_000_000)
    guard operations.isMultiple(of: 100) else {
      throw ValidationError("--operations: expected a multiple of 100, found \(operations)")
    }
    try Limits.require(valueSize, "value-size", in: 1...RunOptions.mostBytes)
    for count in keys {
      // With fewer, S3-FIFO would not keep the last hundred, which the purge selects.
      try Limits.require(count, "keys", in: 10_000...RunOptions.mostKeys)
      guard count.isMultiple(of: 100) else {
        throw ValidationError("--keys: expected a multiple of 100, found \(count)")
      }
      try Limits.requireMemory(
        Double(count) * (Double(valueSize) + 600), "--keys \(count) with --value-size \(valueSize)")
    }
  }

  func report(_ progress: ProgressLine) throws -> Report {
    let bench = ScaleBench(
      valueSize: valueSize, eviction: eviction, operations: operations, progress: progress)
    var report = Report(command: "scale", parameters: Parameters(valueBytes: valueSize, threads: 1))
    report.measurements = try keys.flatMap { try bench.run($0) }
    if tier == .both { report.measurements += try keys.flatMap { try bench.runOnDisk($0) } }
    return report
  }
}
