// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation

/// The flags of all measurements in rounds.
struct RoundOptions: ParsableArguments {
  @Option(help: "Seconds for each action of each cache, all rounds together.")
  var seconds = 1.0
  @Option(help: "Number of rounds; in each, the caches take turns.")
  var rounds = 5
  @Option(help: "Seed of keys and values; the same seed gives the same sequence.")
  var seed: UInt64 = 1
  @Flag(help: "Print the result as one JSON document.")
  var json = false

  func validate() throws {
    try Limits.require(rounds, "rounds", in: 1...1000)
    try Limits.require(
      seconds, "seconds", in: .leastNonzeroMagnitude...3600, "more than 0 and at most 3600")
  }

  /// The same flags for another command.
  var arguments: [String] {
    ["--seconds", String(seconds), "--rounds", String(rounds), "--seed", String(seed)]
  }
}

/// The flags of all measurements in memory.
struct RunOptions: ParsableArguments {
  @Option(help: "Number of keys, of 64 bytes each (default: 10000; 1000000 for 'workload' and 'targets').")
  var keys: Int?
  @Option(
    help:
      "Threads (default: 1). 'workload' and 'targets' measure with 1, 2, 4… up to this (default: cores, at most 8)."
  )
  var threads: Int?
  @Option(help: "Bytes of each body.")
  var valueSize = 1024
  @Option(help: "Distribution of the requested keys.")
  var distribution = Distribution.zipf
  @Option(help: "Exponent of the zipf distribution.")
  var zipfExponent = 0.99
  @OptionGroup var round: RoundOptions

  static let mostBytes = 1 << 30
  static let mostKeys = 100_000_000

  func validate() throws {
    if let keys { try Limits.require(keys, "keys", in: 1...Self.mostKeys) }
    if let threads { try Limits.require(threads, "threads", in: 1...256) }
    try Limits.require(valueSize, "value-size", in: 1...Self.mostBytes)
    try Limits.require(
      zipfExponent, "zipf-exponent", in: .leastNonzeroMagnitude...10,
      "more than 0 and at most 10 (instead of 0, use --distribution uniform)")
  }

  func sequence(keys: Int, stream: Int, length: Int = KeySequence.defaultLength) -> KeySequence {
    KeySequence(
      keys: keys, distribution: distribution, exponent: zipfExponent, seed: round.seed, stream: stream,
      length: length)
  }

  func parameters(keys: Int, threads: Int) -> Parameters {
    Parameters(
      keys: keys, valueBytes: valueSize, distribution: distribution,
      zipfExponent: distribution == .zipf ? zipfExponent : nil, threads: threads, seconds: round.seconds,
      rounds: round.rounds, seed: round.seed)
  }

  func contest(
    _ entrants: [Contest.Entrant], _ kind: Measurement.Kind, keys: Int, threads: Int, capacity: Int? = nil
  ) -> Contest {
    var conditions: [Metric: Double] = [
      .entries: Double(keys), .valueBytes: Double(valueSize), .threads: Double(threads),
    ]
    conditions[.capacityEntries] = capacity.map(Double.init)
    return Contest(
      entrants: entrants, kind: kind, rounds: round.rounds, seconds: round.seconds, conditions: conditions)
  }
}

/// Rejects flags, with messages that name the flag, its value and the allowed values.
enum Limits {
  static func require<Value: Comparable>(
    _ value: Value, _ name: String, in range: ClosedRange<Value>, _ hint: String? = nil
  ) throws {
    // NaN is in no range.
    guard range.contains(value) else {
      throw ValidationError(
        "--\(name): expected \(hint ?? "\(range.lowerBound) to \(range.upperBound)"), found \(value)")
    }
  }

  static func requireShare(_ share: Double, _ name: String) throws {
    try require(
      share, name, in: .leastNonzeroMagnitude...1, "a share of more than 0 and at most 1 (0.1 is 10 %)"
    )
  }

  static func requireShards(_ shards: Int?) throws {
    guard let shards, !(1...1024).contains(shards) || shards.nonzeroBitCount != 1 else { return }
    throw ValidationError("--shards: expected a power of two from 1 to 1024, found \(shards)")
  }

  /// Returns the value of a word.
  static func choice<Value>(_ word: String, of names: KeyValuePairs<String, Value>) throws -> Value {
    guard let value = names.first(where: { $0.key == word })?.value else {
      throw ValidationError("expected one of \(names.map(\.key).joined(separator: ", ")), found '\(word)'")
    }
    return value
  }

  /// - Parameter bytes: the approximate memory of a run.
  static func requireMemory(_ bytes: Double, _ what: String) throws {
    let available = Double(ProcessInfo.processInfo.physicalMemory) / 4 * 3
    guard bytes > available else { return }
    throw ValidationError(
      "\(what) needs \(Format.bytes.text(bytes)) of memory, and \(Format.bytes.text(available)) are available; "
        + "use fewer keys or smaller values")
  }

  /// - Parameter bytes: the approximate space of a run in the temporary directory.
  static func requireDisk(_ bytes: Double, _ what: String) throws {
    let path = FileManager.default.temporaryDirectory.path
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: path)
    guard let free = (attributes?[.systemFreeSize] as? NSNumber)?.doubleValue, bytes > free else { return }
    throw ValidationError(
      "\(what) needs \(Format.bytes.text(bytes)) on disk, and \(path) has \(Format.bytes.text(free)); use less, or set "
        + "TMPDIR to another disk")
  }
}
