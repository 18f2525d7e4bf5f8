// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation

/// The flags of all measurements in rounds.
package struct RoundOptions: ParsableArguments {
  @Option(help: "Seconds for each action of each cache, all rounds together.")
  package var seconds = 1.0
  @Option(help: "Number of rounds; in each, the caches take turns.")
  package var rounds = 5
  @Option(help: "Seed of keys and values; the same seed gives the same sequence.")
  package var seed: UInt64 = 1
  @Flag(help: "Print the result as one JSON document.")
  package var json = false

  package init() {}

  package func validate() throws {
    try Limits.require(rounds, "rounds", in: 1...1000)
    try Limits.require(
      seconds, "seconds", in: .leastNonzeroMagnitude...3600, "more than 0 and at most 3600")
  }

  /// The same flags for another command.
  package var arguments: [String] {
    ["--seconds", String(seconds), "--rounds", String(rounds), "--seed", String(seed)]
  }
}

/// Rejects flags, with messages that name the flag, its value and the allowed values.
package enum Limits {
  package static func require<Value: Comparable>(
    _ value: Value, _ name: String, in range: ClosedRange<Value>, _ hint: String? = nil
  ) throws {
    // NaN is in no range.
    guard range.contains(value) else {
      throw ValidationError(
        "--\(name): expected \(hint ?? "\(range.lowerBound) to \(range.upperBound)"), found \(value)")
    }
  }

  package static func requireShare(_ share: Double, _ name: String) throws {
    try require(
      share, name, in: .leastNonzeroMagnitude...1, "a share of more than 0 and at most 1 (0.1 is 10 %)"
    )
  }

  package static func requireShards(_ shards: Int?) throws {
    guard let shards, !(1...1024).contains(shards) || shards.nonzeroBitCount != 1 else { return }
    throw ValidationError("--shards: expected a power of two from 1 to 1024, found \(shards)")
  }

  /// Returns the value of a word.
  package static func choice<Value>(_ word: String, of names: KeyValuePairs<String, Value>) throws -> Value {
    guard let value = names.first(where: { $0.key == word })?.value else {
      throw ValidationError("expected one of \(names.map(\.key).joined(separator: ", ")), found '\(word)'")
    }
    return value
  }

  /// - Parameter bytes: the approximate memory of a run.
  package static func requireMemory(_ bytes: Double, _ what: String) throws {
    let available = Double(ProcessInfo.processInfo.physicalMemory) / 4 * 3
    guard bytes > available else { return }
    throw ValidationError(
      "\(what) needs \(Format.bytes.text(bytes)) of memory, and \(Format.bytes.text(available)) are available; "
        + "use fewer keys or smaller values")
  }

  /// - Parameter bytes: the approximate space of a run in the temporary directory.
  package static func requireDisk(_ bytes: Double, _ what: String) throws {
    let path = FileManager.default.temporaryDirectory.path
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: path)
    guard let free = (attributes?[.systemFreeSize] as? NSNumber)?.doubleValue, bytes > free else { return }
    throw ValidationError(
      "\(what) needs \(Format.bytes.text(bytes)) on disk, and \(path) has \(Format.bytes.text(free)); use less, or set "
        + "TMPDIR to another disk")
  }
}
