// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// The marks of a store: of each scope, by its hash, the number of its latest mark.
///
/// Marks and entries are numbered in one sequence. An entry is outdated in a scope if its id is less than the number of
/// the scope's mark: it was published before.
///
/// Every hit may have to ask, so the common answers need no lock: an entry newer than all marks takes one load, one
/// newer than those of its stripe takes two more. Only an entry older than those looks its scope up under the lock.
final class ScopeMarks: Sendable {
  /// As they are written to disk.
  struct Snapshot: Sendable, Equatable {
    var numbers: [UInt64: UInt64] = [:]
    /// What has a lower id is outdated in every scope.
    var floor: UInt64 = 0

    var isEmpty: Bool { numbers.isEmpty && floor == 0 }
    var latest: UInt64 { numbers.values.reduce(floor) { max($0, $1) } }

    mutating func add(_ other: Snapshot) {
      floor = max(floor, other.floor)
      numbers.merge(other.numbers) { max($0, $1) }
    }

    /// Where there are more than the limit, the older half becomes one mark of everything.
    mutating func reduce(to limit: Int) {
      guard numbers.count > limit else { return }
      let ordered = numbers.values.sorted()
      let floor = max(floor, ordered[ordered.count - limit / 2 - 1])
      self.floor = floor
      numbers = numbers.filter { $1 > floor }
    }

    /// Drops what no entry can need whose id is this or greater.
    mutating func drop(upTo id: UInt64) {
      numbers = numbers.filter { $1 > id }
      if floor <= id { floor = 0 }
    }
  }

  static let defaultLimit = 16_384

  private let state: Mutex<Snapshot>
  private let limit: Int
  /// The number of the latest mark, 0 without any, and the greatest there is while one is being added.
  private let latest: Atomic<UInt64>
  private let floor: Atomic<UInt64>
  /// Of each stripe of hashes, the number of its latest mark.
  private let stripes = StripedMaxima()

  init(_ initial: Snapshot = Snapshot(), limit: Int = defaultLimit) {
    var initial = initial
    initial.reduce(to: limit)
    self.limit = limit
    state = Mutex(initial)
    latest = Atomic(initial.latest)
    floor = Atomic(initial.floor)
    for (hash, number) in initial.numbers { stripes.raise(for: hash, to: number) }
  }

  /// Adds a mark of some scopes.
  ///
  /// - Parameter take: takes its number from the sequence.
  func add(_ hashes: [UInt64], number take: () -> UInt64) -> UInt64 {
    state.withLock { state in
      // An insert that takes its id after this takes our number must find the mark. Whoever sees this waits for the lock.
      latest.store(.max, ordering: .sequentiallyConsistent)
      let number = take()
      for hash in hashes {
        state.numbers[hash] = number
        stripes.raise(for: hash, to: number)
      }
      state.reduce(to: limit)
      floor.store(state.floor, ordering: .sequentiallyConsistent)
      latest.store(number, ordering: .sequentiallyConsistent)
      return number
    }
  }

  /// Whether there is any mark newer than an entry.
  @inline(__always)
  func mayBeMarked(_ id: UInt64) -> Bool { id < latest.load(ordering: .acquiring) }

  /// Whether an entry of this scope is older than its mark.
  func isMarked(_ id: UInt64, hash: UInt64) -> Bool {
    if id < floor.load(ordering: .sequentiallyConsistent) { return true }
    guard id < stripes.bound(for: hash) else { return false }
    return state.withLock { id < max($0.floor, $0.numbers[hash] ?? 0) }
  }

  /// Whether one of these scopes was marked at or after a place in the sequence.
  ///
  /// An insert asks it after it has taken its id. A mark with a lower number than that id is then found, and one with a
  /// higher number makes the entry outdated by itself.
  func isAnyMarked(_ hashes: [UInt64], since number: UInt64) -> Bool {
    guard !hashes.isEmpty, latest.load(ordering: .sequentiallyConsistent) >= number else { return false }
    return state.withLock { state in
      state.floor >= number || hashes.contains { state.numbers[$0].map { $0 >= number } ?? false }
    }
  }

  var snapshot: Snapshot { state.withLock { $0 } }
  /// How many there are, one for the floor included.
  var count: Int { state.withLock { $0.numbers.count + ($0.floor > 0 ? 1 : 0) } }
}
