// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness

/// The flags of all measurements in memory.
struct RunOptions: ParsableArguments {
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
    try Limits.require(valueSize, "value-size", in: 1...Self.mostBytes)
    try Limits.require(
      zipfExponent, "zipf-exponent", in: .leastNonzeroMagnitude...10,
      "more than 0 and at most 10 (instead of 0, use --distribution uniform)")
  }

  static func require(keys: Int, threads: Int) throws {
    try Limits.require(keys, "keys", in: 1...mostKeys)
    try Limits.require(threads, "threads", in: 1...256)
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
