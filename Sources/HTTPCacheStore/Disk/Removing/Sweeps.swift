// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The sweeps in progress, and the entries on disk that they may have missed. The catalog's lock guards them.
///
/// A sweep visits the disk first, and then what memory alone holds. Meanwhile a pin can write an entry of memory to the
/// disk, to a place that the sweep has passed. Such an entry is older than the sweep.
struct Sweeps: Sendable {
  private(set) var count = 0
  /// The number of the latest sweep: see ``Sweeper/Sweep/number``.
  private var number: UInt64 = 0
  /// The hashes of their keys, by their ids.
  private(set) var missed: [UInt64: UInt64] = [:]

  mutating func begin(_ number: UInt64) {
    count += 1
    self.number = max(self.number, number)
  }

  mutating func end() {
    count -= 1
    if count == 0 { self = Sweeps() }
  }

  /// Records that an entry was added to the index.
  mutating func add(_ id: UInt64, hash: UInt64) {
    if id < number { missed[id] = hash }
  }
}
