// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// Everything that a run found, as `--json` prints it. Units are in the names.
struct Report: Codable, Sendable {
  /// Grows when a field changes its meaning or is removed.
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

  static let warning = "This is a debug build: the figures mean nothing."

  /// What was measured, and on which machine.
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
    var parts = ["\(Format.count.text(keys)) keys in memory"]
    if let diskKeys = parameters.diskKeys { parts.append("\(Format.count.text(diskKeys)) on disk") }
    if let bytes = parameters.valueBytes { parts.append("bodies of \(Format.count.text(bytes)) bytes") }
    if let distribution = parameters.distribution {
      parts.append(parameters.zipfExponent.map { "zipf \($0)" } ?? distribution.rawValue)
    }
    if let threads = parameters.threads { parts.append("threads \(threads)") }
    if let share = parameters.capacityShare {
      parts.append("room for \(Format.share.mark(share)) where it is bounded")
    }
    if let seed = parameters.seed { parts.append("seed \(seed)") }
    lines.append(parts.joined(separator: ", "))
    return lines
  }

  var allNotes: [String] {
    var notes = notes
    if measurements.contains(where: { $0[.target] != nil }) {
      notes.append("Targets are for 10,000 entries of 1 KiB in memory and 100 on disk, on one thread.")
    }
    if measurements.contains(where: { $0.action == .store && $0.kind != .ratio }) {
      notes.append(
        "'store' fills an empty cache with bodies that are in the processor's cache, as when they have just arrived. "
          + "Only our store copies them, and only those of 4 KiB or less.")
    }
    return notes
  }
}

/// What was asked for.
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
  /// Where the store does not choose.
  var shards: Int?
  /// The sizes that `disk` was asked for.
  var diskValueBytes: [Int]?
}
