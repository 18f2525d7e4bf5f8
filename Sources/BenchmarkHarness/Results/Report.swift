// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation

/// All results of a run, as `--json` prints them. Units are in the names.
package struct Report: Codable, Sendable {
  /// Increases when a field changes its meaning or is removed.
  package static let currentFormat = 3

  package var format = Report.currentFormat
  package var command: String
  package var machine = Machine()
  package var parameters: Parameters
  package var measurements: [Measurement]
  package var targets: [Target] = []
  package var notes: [String]

  package init(
    command: String, parameters: Parameters = Parameters(), measurements: [Measurement] = [],
    notes: [String] = []
  ) {
    (self.command, self.parameters) = (command, parameters)
    (self.measurements, self.notes) = (measurements, notes)
  }

  package func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  /// The report as tables.
  package var text: String {
    var lines = ["\(OwnProgram.name) \(command)"] + about
    lines.append(machine.isOptimized ? "release build" : Self.warning)
    var parts = [lines.map { Printable.text($0) }.joined(separator: "\n") + "\n"]
    parts += (tables + (targets.isEmpty ? [] : [targetTable])).map(\.text)
    let notes = allNotes
    if !notes.isEmpty { parts.append(notes.map { "- " + Printable.text($0) }.joined(separator: "\n") + "\n") }
    return parts.joined(separator: "\n")
  }

  package static let warning = "This is a debug build: compare its figures only with each other."

  /// The subject of the measurement, and the machine.
  package var about: [String] {
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

  package var allNotes: [String] {
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

/// The tiers to measure.
package enum TierChoice: String, CaseIterable, Codable, Sendable, ExpressibleByArgument {
  case memory, both
}

/// The parameters of a run.
package struct Parameters: Codable, Hashable, Sendable {
  package var keys: Int?
  package var diskKeys: Int?
  package var valueBytes: Int?
  package var distribution: Distribution?
  package var zipfExponent: Double?
  package var threads: Int?
  package var seconds: Double?
  package var rounds: Int?
  package var seed: UInt64?
  package var tier: TierChoice?
  package var capacityBytes: Int?
  /// Requests of each kind of `session`.
  package var requests: Int?
  /// The capacity of `mixed` and `churn` as a share of all keys.
  package var capacityShare: Double?
  /// `nil` if the store chooses.
  package var shards: Int?
  /// The sizes given to `disk`.
  package var diskValueBytes: [Int]?

  package init(
    keys: Int? = nil, diskKeys: Int? = nil, valueBytes: Int? = nil, distribution: Distribution? = nil,
    zipfExponent: Double? = nil, threads: Int? = nil, seconds: Double? = nil, rounds: Int? = nil,
    seed: UInt64? = nil, tier: TierChoice? = nil, capacityBytes: Int? = nil, requests: Int? = nil,
    capacityShare: Double? = nil, shards: Int? = nil, diskValueBytes: [Int]? = nil
  ) {
    (self.keys, self.diskKeys, self.valueBytes) = (keys, diskKeys, valueBytes)
    (self.distribution, self.zipfExponent, self.threads) = (distribution, zipfExponent, threads)
    (self.seconds, self.rounds, self.seed) = (seconds, rounds, seed)
    (self.tier, self.capacityBytes, self.requests) = (tier, capacityBytes, requests)
    (self.capacityShare, self.shards, self.diskValueBytes) = (capacityShare, shards, diskValueBytes)
  }
}

/// The machine of the measurement.
package struct Machine: Codable, Hashable, Sendable {
  package var processor = Machine.processorName
  package var cores = ProcessInfo.processInfo.activeProcessorCount
  package var memoryBytes = ProcessInfo.processInfo.physicalMemory
  package var operatingSystem = ProcessInfo.processInfo.operatingSystemVersionString
  package var architecture = Machine.builtArchitecture
  package var swiftCompiler = Machine.compiler
  /// Whether the compiler optimised; figures of a debug build mean nothing.
  package var isOptimized = Machine.optimized
  /// The cost of reading the clock.
  package var clockNanoseconds = MonotonicClock.cost()

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
    package static let optimized = false
  #else
    package static let optimized = true
  #endif
}
