// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheStore

/// The measurements of `hash`: XXH3 in Swift, compared with libxxhash if the package has it.
struct HashBench {
  var options: RoundOptions
  var progress: ProgressLine

  func run() throws -> [Measurement] {
    try [16, 64, 1 << 10, 64 << 10].flatMap { length in
      let bytes = Bodies(size: length, seed: options.seed).fresh()
      // Use the result, so that the compiler does not remove the hash.
      let inSwift: Operation = { seed in
        bytes.withUnsafeBytes { SwiftXXH3.hash($0, seed: UInt64(seed)) } != 0
      }
      let byLibrary: Operation = { seed in
        bytes.withUnsafeBytes { XXH3.hash($0, seed: UInt64(seed)) } != 0
      }
      func entrant(_ name: Contender, _ hash: @escaping Operation) -> Contest.Entrant {
        Contest.Entrant(name, .hash, Track([(positions: Array(0..<1024), operation: hash)]))
      }
      let library = XXH3.usesLibrary ? [entrant(.libraryHash, byLibrary)] : []
      // Many hashes between two readings of the clock, which takes longer than the hash of a few bytes.
      return try Contest(
        entrants: [entrant(.swiftHash, inSwift)] + library, rounds: options.rounds, seconds: options.seconds,
        batch: 1024, conditions: [.valueBytes: Double(length), .threads: 1]
      ).run(progress)
    }
  }
}
