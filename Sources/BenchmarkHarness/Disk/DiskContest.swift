// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser

/// The flags of puts and gets on disk.
package struct DiskContestOptions: ParsableArguments {
  @Option(help: "Number of keys (default: enough for 64 MiB of values, at most 16384; 100000 for 'reopen').")
  package var keys: Int?
  @Option(
    name: .customLong("value-size"),
    help: "Bytes of each value; may be repeated (default: 1024, 16384, 65536 and 1048576).")
  package var givenSizes: [Int] = []
  @OptionGroup package var round: RoundOptions

  package init() {}

  package var valueSizes: [Int] { givenSizes.isEmpty ? [1 << 10, 16 << 10, 64 << 10, 1 << 20] : givenSizes }

  package func keys(ofSize size: Int) -> Int { keys ?? max(64, min(1 << 14, (64 << 20) / size)) }

  package func validate() throws {
    if let keys { try Limits.require(keys, "keys", in: 1...(1 << 24 - 2)) }
    for size in givenSizes { try Limits.require(size, "value-size", in: 1...(64 << 20)) }
    guard valueSizes.count <= 16 else {
      throw ValidationError("--value-size: expected at most 16 values, found \(valueSizes.count)")
    }
    for size in valueSizes {
      // Three copies: the puts of a round, the last data in the page cache, and a reserve.
      let keys = keys(ofSize: size)
      try Limits.requireDisk(3 * Double(keys) * Double(size), "--keys \(keys) with --value-size \(size)")
    }
  }
}

/// Puts and gets of the store on disk and of its yardsticks, in turns.
package struct DiskContest {
  package typealias Yardstick = (
    name: Contender,
    make: @Sendable (Dataset, _ directory: String, _ capacity: Int) throws -> any DiskCache
  )

  package static let rawFile: Yardstick = (
    .rawFile, { data, directory, _ in try RawFileCache(data, directory: directory) }
  )
  package static let files: Yardstick = (
    .files, { data, directory, _ in FilePerEntryCache(data, directory: directory) }
  )

  package static let note =
    "Nothing is synced. The store writes and reads key and head with each value, and verifies checksums; the raw file does "
    + "neither."

  package var options: DiskContestOptions
  package var yardsticks: [Yardstick]
  package var progress: ProgressLine

  package init(options: DiskContestOptions, yardsticks: [Yardstick], progress: ProgressLine) {
    (self.options, self.yardsticks, self.progress) = (options, yardsticks, progress)
  }

  /// - Parameter actions: `diskStore`, which is measured in any case, `diskGet` and `diskMixed`; nothing is measured without
  ///   any.
  package func run(_ actions: [Action], valueSize: Int) throws -> [Measurement] {
    guard !actions.isEmpty else { return [] }
    let (count, seed) = (options.keys(ofSize: valueSize), options.round.seed)
    progress.begin(
      "\(actions.map(\.rawValue).joined(separator: ", ")) with \(Format.count.text(count)) values of \(Format.bytes.text(valueSize))"
    )
    let data = try Dataset(count: count, valueSize: valueSize, seed: seed, .entries)
    // Nothing must be evicted, however often it is overwritten: the raw file and the files keep everything too.
    let capacity = max(256 << 20, 4 * count * (data.entryBytes + 4096))
    let filling = Filling(
      order: KeySequence.shuffle(keys: count, seed: seed),
      sequences: [KeySequence(keys: count, distribution: .zipf, exponent: 0.99, seed: seed, stream: 0)],
      valueSize: valueSize,
      // Our store syncs all of it when it is closed.
      mostPerRound: 1)
    let ours: Yardstick = (.ours, { try StoreOnDisk($0, capacity: $2, directory: $1 + "/store") })
    let entrants = ([ours] + yardsticks).map { name, make in
      filling.entrant(name, by: .diskStore, then: actions.filter { $0 != .diskStore }) {
        try make(data, $0, capacity)
      }
    }
    return try Contest(
      entrants: entrants, rounds: options.round.rounds, seconds: options.round.seconds, batch: 10,
      conditions: [.entries: Double(count), .valueBytes: Double(valueSize), .threads: 1]
    ).run(progress)
  }
}
