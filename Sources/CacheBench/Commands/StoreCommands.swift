// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness

/// The flags of `throughput` and `latency`.
struct StoreOptions: ParsableArguments {
  @Option(help: "Number of keys, of 64 bytes each.")
  var keys = 10_000
  @Option(help: "Number of threads.")
  var threads = 1
  @Option(
    help: "Tiers to measure: memory, or both memory and disk. The disk tier is in a temporary directory.")
  var tier = TierChoice.memory
  @Option(help: "Number of entries on disk, with --tier both.")
  var diskKeys = 100
  @Option(
    help:
      "Capacity of the store in memory, in bytes (default: unlimited). Adds the measurement 'get, or store'.")
  var capacity: Int?
  @OptionGroup var run: RunOptions

  var includesURLCache: Bool { keys <= FoundationCache.mostKeys }
  var includesURLCacheOnDisk: Bool { diskKeys <= FoundationCache.mostKeysOnDisk }

  func validate() throws {
    try RunOptions.require(keys: keys, threads: threads)
    try Limits.require(diskKeys, "disk-keys", in: 1...1_000_000)
    if let capacity { try Limits.require(capacity, "capacity", in: 1...(1 << 40)) }
    for (keys, name, forFoundation) in [
      (keys, "keys", includesURLCache), (tier == .both ? diskKeys : 1, "disk-keys", includesURLCacheOnDisk),
    ] {
      try Limits.requireMemory(
        Dataset.footprint(keys: keys, valueSize: run.valueSize, forFoundation: forFoundation),
        "--\(name) \(keys) with --value-size \(run.valueSize)")
    }
  }

  var parameters: Parameters {
    var parameters = run.parameters(keys: keys, threads: threads)
    (parameters.diskKeys, parameters.tier) = (tier == .both ? diskKeys : nil, tier)
    parameters.capacityBytes = capacity
    return parameters
  }
}

/// `throughput` and `latency`, which differ in how they read the clock.
protocol StoreCommand: BenchCommand {
  static var kind: Measurement.Kind { get }
  var options: StoreOptions { get }
}

extension StoreCommand {
  var json: Bool { options.run.round.json }

  func report(_ progress: ProgressLine) throws -> Report {
    try StoreBench(options: options, kind: Self.kind, progress: progress).report()
  }
}

struct Throughput: StoreCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measure the operations per second of the store and of the yardsticks.")
  static let kind = Measurement.Kind.throughput
  @OptionGroup var options: StoreOptions
}

struct Latency: StoreCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measure the latency of single operations of the store and of the yardsticks, in percentiles."
  )
  static let kind = Measurement.Kind.latency
  @OptionGroup var options: StoreOptions
}

struct Session: BenchCommand {
  static let configuration = CommandConfiguration(
    abstract:
      "Measure requests through a URLSession to a server on loopback: plain, cached, validated and stale.",
    discussion: """
      The command also measures the least that a URLProtocol costs, and long content through a URLSession and through \
      HTTPCacheSession.bytes. Processor times are those of the process. For long content, the server's is left out.
      """)

  @Option(help: "Number of requests of each kind.")
  var requests = 500
  @Option(help: "Bytes of each body.")
  var valueSize = 1024
  @Option(help: "Number of transfers of long content of each kind; 0 for none.")
  var transfers = 7
  @Option(help: "Bytes of the long content.")
  var transferSize = 200_000_000
  @Flag(help: "Print the result as one JSON document.")
  var json = false

  func validate() throws {
    try Limits.require(requests, "requests", in: 1...1_000_000)
    try Limits.require(valueSize, "value-size", in: 1...(16 << 20))
    try Limits.require(transfers, "transfers", in: 0...10_000)
    try Limits.require(transferSize, "transfer-size", in: 1...(1 << 30))
  }

  func report(_ progress: ProgressLine) async throws -> Report {
    var report = Report(
      command: "session", parameters: Parameters(valueBytes: valueSize, requests: requests))
    report.measurements = try await SessionBench(
      requests: requests, valueSize: valueSize, progress: progress
    ).run()
    if transfers > 0 {
      report.measurements += try await TransferBench(
        transfers: transfers, size: transferSize, progress: progress
      ).run()
      report.notes.append("Long content has \(Format.count.text(transferSize)) bytes.")
    }
    report.targets = report.sessionTargets
    return report
  }
}

struct Quick: BenchCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measure throughput, latency and requests end to end in a short run, of less than a minute."
  )

  @Flag(help: "Print the result as one JSON document.")
  var json = false

  func report(_ progress: ProgressLine) async throws -> Report {
    // Parsed, not made: only parsing gives a property wrapper its default.
    let options = try StoreOptions.parse(["--tier", "both", "--seconds", "0.4"])
    var report = try StoreBench(options: options, kind: .throughput, progress: progress).report()
    report.command = "quick"
    report.measurements += try StoreBench(options: options, kind: .latency, progress: progress).run()
    report.parameters.requests = 300
    report.measurements += try await SessionBench(
      requests: 300, valueSize: options.run.valueSize, progress: progress
    ).run()
    return report
  }
}

struct HashCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "hash",
    abstract: "Measure XXH3 of 16 bytes to 64 KiB, in Swift and by libxxhash, in nanoseconds per hash.",
    discussion: """
      The store hashes keys and records. On Linux, it uses libxxhash if the package is built with it. Otherwise it uses its \
      own XXH3 in Swift. Without libxxhash, only the hash in Swift is measured.
      """)

  @OptionGroup var round: RoundOptions
  var json: Bool { round.json }

  func report(_ progress: ProgressLine) throws -> Report {
    let measurements = try HashBench(options: round, progress: progress).run()
    return Report(
      command: "hash",
      parameters: Parameters(seconds: round.seconds, rounds: round.rounds, seed: round.seed),
      measurements: measurements + measurements.ratios)
  }
}
