// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// The marks of a store: for each scope, by its hash, the number of its latest mark.
///
/// Marks and entries are numbered in one sequence. An entry is outdated in a scope if its id is less than the number of
/// the scope's mark: it was published before.
///
/// Every hit may need this check, so the common answers need no lock. An entry newer than all marks takes one load; one
/// newer than those of its stripe takes two more. Only an older entry looks up its scope under the lock.
final class ScopeMarks: Sendable {
  /// The marks as they are written to disk.
  struct Snapshot: Sendable, Equatable {
    var numbers: [UInt64: UInt64] = [:]
    /// Entries with a lower id are outdated in every scope.
    var floor: UInt64 = 0

    var isEmpty: Bool { numbers.isEmpty && floor == 0 }
    var latest: UInt64 { numbers.values.reduce(floor) { max($0, $1) } }

    mutating func add(_ other: Snapshot) {
      floor = max(floor, other.floor)
      numbers.merge(other.numbers) { max($0, $1) }
    }

    /// If there are more marks than the limit, turns the older half into one mark of everything.
    mutating func reduce(to limit: Int) {
      guard numbers.count > limit else { return }
      let ordered = numbers.values.sorted()
      let floor = max(floor, ordered[ordered.count - limit / 2 - 1])
      self.floor = floor
      numbers = numbers.filter { $1 > floor }
    }

    /// Drops the marks that no entry with this id or a greater one can need.
    mutating func drop(upTo id: UInt64) {
      numbers = numbers.filter { $1 > id }
      if floor <= id { floor = 0 }
    }
  }

  static let defaultLimit = 16_384

  private let state: Mutex<Snapshot>
  private let limit: Int
  /// The number of the latest mark; 0 without any, and the maximum while a mark is being added.
  private let latest: Atomic<UInt64>
  private let floor: Atomic<UInt64>
  /// For each stripe of hashes, the number of its latest mark.
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

  /// Adds a mark of some scopes, and returns its number.
  ///
  /// - Parameter take: takes the number from the sequence.
  func add(_ hashes: [UInt64], number take: () -> UInt64) -> UInt64 {
    state.withLock { state in
      // An insert that takes its id after our number must find the mark. An insert that sees this value waits for the
      // lock.
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

  /// Whether any mark is newer than an entry.
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
  /// An insert calls it after it has taken its id. A mark with a number below that id is then found. A mark with a
  /// higher number makes the entry outdated by itself.
  func isAnyMarked(_ hashes: [UInt64], since number: UInt64) -> Bool {
    guard !hashes.isEmpty, latest.load(ordering: .sequentiallyConsistent) >= number else { return false }
    return state.withLock { state in
      state.floor >= number || hashes.contains { state.numbers[$0].map { $0 >= number } ?? false }
    }
  }

  var snapshot: Snapshot { state.withLock { $0 } }
  /// Number of marks, including one for the floor.
  var count: Int { state.withLock { $0.numbers.count + ($0.floor > 0 ? 1 : 0) } }
}
