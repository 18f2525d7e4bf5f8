// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// All results of a run, as `--json` prints them. Units are in the names.
struct Report: Codable, Sendable {
  /// Increases when a field changes its meaning or is removed.
  static let currentFormat = 3

  var format = Report.currentFormat
  var command: String
  var machine = Machine()
  var parameters = Parameters()
  var measurements: [Measurement] = []
  var targets: [Target] = []
  var notes: [String] = []

  func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  /// The report as tables.
  var text: String {
    var lines = ["cache-bench \(command)"] + about
    if !machine.isOptimized { lines.append(Self.warning) }
    var parts = [lines.map { Printable.text($0) }.joined(separator: "\n") + "\n"]
    parts += (tables + (targets.isEmpty ? [] : [targetTable])).map(\.text)
    let notes = allNotes
    if !notes.isEmpty { parts.append(notes.map { "- " + Printable.text($0) }.joined(separator: "\n") + "\n") }
    return parts.joined(separator: "\n")
  }

  static let warning = "This is a debug build: its figures are meaningless."

  /// The subject of the measurement, and the machine.
  var about: [String] {
    var lines = [
      "\(machine.processor ?? machine.architecture), \(machine.cores) cores, "
        + "\(Format.bytes.text(Double(machine.memoryBytes))), \(machine.operatingSystem), Swift \(machine.swiftCompiler)"
    ]
    if let sizes = parameters.diskValueBytes {
      lines.append(
        "values of \(sizes.map { Format.bytes.text($0) }.joined(separator: ", ")) on disk, zipf 0.99, seed "
          + "\(parameters.seed ?? 1)")
    }
    guard let keys = parameters.keys else { return lines }
    let parts = [
      "\(Format.count.text(keys)) keys in memory",
      parameters.diskKeys.map { "\(Format.count.text($0)) on disk" },
      parameters.valueBytes.map { "bodies of \(Format.count.text($0)) bytes" },
      parameters.zipfExponent.map { "zipf \($0)" } ?? parameters.distribution?.rawValue,
      parameters.threads.map { "threads \($0)" },
      parameters.capacityShare.map { "capacity for \(Format.share.mark($0)) where bounded" },
      parameters.seed.map { "seed \($0)" },
    ]
    return lines + [parts.compactMap { $0 }.joined(separator: ", ")]
  }

  var allNotes: [String] {
    var notes = notes
    if measurements.contains(where: { $0[.target] != nil }) {
      notes.append("Targets are for 10,000 entries of 1 KiB in memory and 100 on disk, on one thread.")
    }
    if measurements.contains(where: { $0.action == .store && $0.kind != .ratio }) {
      notes.append(
        "'store' fills an empty cache with bodies that are in the processor's cache, as if they had just arrived. "
          + "Only HTTPCacheEngine copies bodies, and only those of at most 4 KiB.")
    }
    return notes
  }
}

/// The parameters of a run.
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
  /// Requests of each kind of `session`.
  var requests: Int?
  /// The capacity of `mixed` and `churn` as a share of all keys.
  var capacityShare: Double?
  /// `nil` if the store chooses.
  var shards: Int?
  /// The sizes given to `disk`.
  var diskValueBytes: [Int]?
}

/// The machine of the measurement.
struct Machine: Codable, Hashable, Sendable {
  var processor = Machine.processorName
  var cores = ProcessInfo.processInfo.activeProcessorCount
  var memoryBytes = ProcessInfo.processInfo.physicalMemory
  var operatingSystem = ProcessInfo.processInfo.operatingSystemVersionString
  var architecture = Machine.builtArchitecture
  var swiftCompiler = Machine.compiler
  /// Whether the compiler optimised; figures of a debug build mean nothing.
  var isOptimized = Machine.optimized
  /// The cost of reading the clock.
  var clockNanoseconds = MonotonicClock.cost()

  private static var processorName: String? {
    let lines = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8).split(separator: "\n")
    let line = lines?.first { $0.hasPrefix("model name") }
    return line?.split(separator: ":", maxSplits: 1).last.map { $0.trimmingCharacters(in: .whitespaces) }
  }

  #if compiler(>=6.5)
    private static let compiler = "6.5 or later"
  #elseif compiler(>=6.4)
    private static let compiler = "6.4"
  #elseif compiler(>=6.3)
    private static let compiler = "6.3"
  #else
    private static let compiler = "6.2"
  #endif

  #if arch(x86_64)
    private static let builtArchitecture = "x86_64"
  #elseif arch(arm64)
    private static let builtArchitecture = "arm64"
  #else
    private static let builtArchitecture = "unknown"
  #endif

  #if DEBUG
    static let optimized = false
  #else
    static let optimized = true
  #endif
}
