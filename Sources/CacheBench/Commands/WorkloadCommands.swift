// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import Foundation

/// The flags of the workloads in memory.
struct WorkloadOptions: ParsableArguments {
  @Option(help: "Number of keys, of 64 bytes each.")
  var keys = 1_000_000
  @Option(
    name: .customLong("threads"),
    help: "Maximum number of threads: measures with 1, 2, 4… up to it (default: cores, at most 8).")
  var maximumThreads: Int?
  @Option(help: "Capacity of 'mixed' and 'churn', as a share of the keys.")
  var capacity = 0.1
  @Option(help: "Number of shards of the store, a power of two (default: chosen by the store).")
  var shards: Int?
  @OptionGroup var run: RunOptions

  var threads: Int { maximumThreads ?? min(8, max(1, ProcessInfo.processInfo.activeProcessorCount)) }
  var seed: UInt64 { run.round.seed }
  var capacityEntries: Int { max(1, Int(Double(keys) * capacity)) }

  /// 1, 2, 4… and the maximum.
  var threadCounts: [Int] {
    sequence(first: 1) { $0 * 2 }.prefix { $0 < threads } + [threads]
  }

  func validate() throws {
    try RunOptions.require(keys: keys, threads: threads)
    try Limits.requireShards(shards)
    try Limits.requireShare(capacity, "capacity")
    guard keys >= threads else {
      throw ValidationError(
        "--threads \(threads) needs at least as many keys, found \(keys); increase --keys")
    }
    // The bodies of all keys once, more bodies for the capacity of each of four caches, and keys and tables.
    let perKey = Double(run.valueSize) * (1 + 4 * capacity) + 1500 + 150 * Double(threads)
    try Limits.requireMemory(perKey * Double(keys), "--keys \(keys) with --value-size \(run.valueSize)")
  }

  var parameters: Parameters {
    var parameters = run.parameters(keys: keys, threads: threads)
    (parameters.capacityShare, parameters.shards) = (capacity, shards)
    return parameters
  }
}

struct WorkloadCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "workload",
    abstract:
      "Measure the store in memory with a million keys, and compare it with the floor and other yardsticks.",
    discussion: """
      get: lookups that all find an entry and read a byte of its body. mixed: nine lookups, which store the key on a miss, \
      and one store, at a capacity of a tenth of the keys. churn: stores of new entries, each of which evicts another. \
      decide: a lookup with the decision to serve the entry, compared with the lookup alone. judge: the decision whether and \
      how long to store a new response of ten fields. Throughput is measured with 1, \
      2, 4… threads, latency with one.
      """)

  @Argument(help: "Workloads to run.")
  var workloads: [Workload] = Workload.allCases
  @Flag(
    name: .customLong("no-body"),
    help: "In 'get', do not read the bodies, so that only the table is measured.")
  var leavesBody = false
  @OptionGroup var options: WorkloadOptions
  var json: Bool { options.run.round.json }

  func report(_ progress: ProgressLine) throws -> Report {
    let bench = WorkloadBench(options: options, readsBody: !leavesBody, progress: progress)
    let measurements = try workloads.flatMap { try bench.run($0) }
    return Report(
      command: "workload", parameters: options.parameters,
      measurements: measurements + measurements.filter { $0.kind == .throughput }.ratios,
      notes: WorkloadBench.notes(workloads))
  }
}

struct MemoryCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "memory",
    abstract:
      "Measure the bytes of an entry in addition to its key and value, by malloc and by the growth of the process."
  )

  @Option(help: "Number of entries, with keys of 64 bytes.")
  var keys = 1_000_000
  @Option(help: "Bytes of each value.")
  var valueSize = 1024
  @Flag(help: "Print the result as one JSON document.")
  var json = false

  func validate() throws {
    try Limits.require(keys, "keys", in: 1...RunOptions.mostKeys)
    try Limits.require(valueSize, "value-size", in: 1...RunOptions.mostBytes)
    try Limits.requireMemory(
      Double(keys) * (Double(valueSize) + 500), "--keys \(keys) with --value-size \(valueSize)")
  }

  func report(_ progress: ProgressLine) throws -> Report {
    var report = Report(command: "memory", parameters: Parameters(keys: keys, valueBytes: valueSize))
    report.measurements = try MemoryBench(keys: keys, valueSize: valueSize, progress: progress).run()
    report.notes = [
      "malloc's figure includes its headers and padding. Each value is an array, whose header of 32 bytes counts as "
        + "overhead for all caches. The entries of URLCache include a response without fields."
    ]
    if keys > FoundationCache.mostKeys {
      report.notes.append(
        "URLCache is not measured: filling it with more than \(FoundationCache.mostKeys) keys takes too long."
      )
    }
    return report
  }
}

struct ReplayCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract:
      "Measure hit ratios on a trace of requests: a file with 'key size' on each line, or a generated trace.",
    discussion: """
      Each miss stores its key. The capacity is a share of the distinct keys of the trace or, with real sizes, of their \
      bytes. The policies lru, s3fifo and hyperbolic are those of the store. The others are exact models, for comparison: \
      exact-lru; exact-s3fifo, as published; gdsf (Greedy-Dual-Size-Frequency), which aims at hits by requests; \
      belady-size, which knows the future and evicts the entry with the greatest size × distance to its next request. \
      Exit status: 65 for a trace with an invalid line, 66 for one that cannot be read.
      """)

  @Argument(help: "Trace file.")
  var trace: String?
  @Option(
    help: """
      Generate the trace instead of reading a file: zipf (fixed popularity), web (the same, and as many requests for keys \
      that are requested only once), shifting-zipf (popularity changes), scan (a hot set, and scans of other keys) or loop \
      (repeated passes over ranges of keys).
      """)
  var generated: TracePattern?
  @Option(help: "Number of requests in a generated trace.")
  var requests = 200_000
  @Option(help: "Number of keys in a generated trace; 'web' has others in addition.")
  var keys = 20_000
  @Option(help: "Seed of a generated trace; the same seed gives the same requests.")
  var seed: UInt64 = 1
  @Option(help: "Capacity as a share of all keys or bytes; may be repeated.")
  var capacity: [Double] = [0.02, 0.05, 0.1, 0.2, 0.4]
  @Option(
    help: """
      Eviction policy: \(Replayer.policies.map(\.key).joined(separator: ", ")); may be repeated (default: all).
      """,
    transform: { try Limits.choice($0, of: Replayer.policies) })
  var eviction: [Contender] = Replayer.policies.map(\.value)
  @Option(
    help: "Sizes of the entries: unit (all count the same) or real (their bytes) (default: unit).",
    transform: { try Limits.choice($0, of: Replayer.sizes) })
  var sizes = Action.replayUnits
  @Option(help: "Number of shards of the store, a power of two (default: chosen by the store).")
  var shards: Int?
  @Flag(help: "Print the result as one JSON document.")
  var json = false

  func validate() throws {
    guard (trace == nil) != (generated == nil) else {
      throw ValidationError("use either a trace file or --generated")
    }
    try Limits.require(requests, "requests", in: 1...100_000_000)
    try Limits.require(keys, "keys", in: 1...RunOptions.mostKeys)
    if generated != nil {
      try Limits.requireMemory(100 * (Double(requests) + Double(keys)), "--requests with --keys")
    }
    for share in capacity { try Limits.requireShare(share, "capacity") }
    guard capacity.count <= 100 else {
      throw ValidationError("--capacity: expected at most 100 values, found \(capacity.count)")
    }
    try Limits.requireShards(shards)
  }

  func report(_ progress: ProgressLine) throws -> Report {
    let trace = try requestedTrace()
    if sizes == .replayBytes {
      try Limits.requireMemory(
        Double(trace.distinctBytes) * (capacity.max() ?? 1) * 1.1, "--sizes real with this --capacity")
    }
    let replayer = Replayer(trace: trace, sizes: sizes, shards: shards)
    var report = Report(command: "replay")
    for share in capacity {
      for policy in eviction {
        progress.show("\(trace.name): \(policy.policy) at \(Format.share.text(share))")
        report.measurements.append(try replayer.run(policy, capacityShare: share))
      }
    }
    return report
  }

  private func requestedTrace() throws -> Trace {
    if let generated {
      return TraceGenerator(pattern: generated, keys: keys, requests: requests, seed: seed).trace
    }
    return try FileError.reporting { try Trace(path: trace ?? "") }
  }
}
