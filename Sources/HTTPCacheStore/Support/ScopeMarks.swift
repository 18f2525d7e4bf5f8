// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// The marks of a store: for each scope, by its hash, the number of its latest mark.
///
/// Marks and entries are numbered in one sequence. An entry is outdated in a scope if its id is less than the number of
/// the scope's mark: it was published before.
///
/// Every hit may need this check, so the common answers need no lock. An entry newer than all marks takes one load; one
/// newer than those of its stripe takes two more. Only an older entry looks up its scope under the lock.
///
/// # Why the number of marks stays bounded
///
/// A mark is needed as long as an entry of its scope with a lower id is stored. The store does not know the scopes of its
/// entries: to keep them would take more memory than the marks, for each entry, and to know them after an opening, all
/// of the disk would be read. So the store *settles* marks instead, once they are many in proportion to its entries. It
/// passes over all entries, the caller says in which scopes each one is, and those that a mark outdates are removed. No
/// stored entry needs these marks any more. A pass is made after as many marks as a quarter of the entries, so a mark
/// costs four visits at most, whatever the number of entries. Nothing is outdated that no mark names. A lookup that runs
/// beside the end of a pass notices it by ``passes``.
///
/// A fetch that began before a mark may still bring an entry of its scope. So settled marks are kept apart, without the
/// disk, until no ``RemovalToken`` is older than they are (`OutstandingTokens`).
final class ScopeMarks: Sendable {
  /// The marks as they are written to disk.
  struct Snapshot: Sendable, Equatable {
    var numbers: [UInt64: UInt64] = [:]
    /// Entries with a lower id are outdated in every scope. Only earlier versions wrote it.
    var floor: UInt64 = 0

    var isEmpty: Bool { numbers.isEmpty && floor == 0 }
    var latest: UInt64 { numbers.values.reduce(floor) { max($0, $1) } }

    mutating func add(_ other: Snapshot) {
      floor = max(floor, other.floor)
      numbers.merge(other.numbers) { max($0, $1) }
    }

    /// Drops the marks that no entry with this id or a greater one can need.
    mutating func drop(upTo id: UInt64) {
      numbers = numbers.filter { $1 > id }
      if floor <= id { floor = 0 }
    }
  }

  private struct State: Sendable {
    /// The marks that stored entries may need.
    var marks: Snapshot
    /// How many of them the last pass left.
    var left = 0
    /// Settled marks, which only fetches in flight may need.
    var settled: [UInt64: UInt64] = [:]
    /// The greatest number among the settled ones.
    var lastSettled: UInt64 = 0
    /// Everything in flight that began at or before this number is kept out, whatever its scopes.
    var floorInFlight: UInt64 = 0
    /// The number of the latest mark.
    var last: UInt64
  }

  /// Maximum number of settled marks that are kept for fetches in flight: 5 MB. If more scopes are marked during one
  /// fetch, its response is not stored.
  static let mostSettled = 1 << 17

  private let state: Mutex<State>
  /// The number of the latest mark that a stored entry may need; 0 without any, and the maximum while a mark is being
  /// added.
  private let latest: Atomic<UInt64>
  /// The same of all marks so far.
  private let last: Atomic<UInt64>
  private let floor: Atomic<UInt64>
  /// Number of passes that have dropped marks.
  private let passCount = Atomic<UInt64>(0)
  /// For each stripe of hashes, the number of its latest mark.
  private let stripes = StripedMaxima()

  init(_ initial: Snapshot = Snapshot()) {
    let number = initial.latest
    state = Mutex(State(marks: initial, last: number))
    latest = Atomic(number)
    last = Atomic(number)
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
      last.store(.max, ordering: .sequentiallyConsistent)
      let number = take()
      for hash in hashes {
        state.marks.numbers[hash] = number
        stripes.raise(for: hash, to: number)
      }
      state.last = number
      latest.store(number, ordering: .sequentiallyConsistent)
      last.store(number, ordering: .sequentiallyConsistent)
      return number
    }
  }

  /// Number of passes so far. A lookup that began before a pass was over may have found an entry that the pass removed, and
  /// whose mark is gone. So the number is read before the lookup, and compared after the check.
  @inline(__always)
  var passes: UInt64 { passCount.load(ordering: .acquiring) }

  /// Whether any mark is newer than an entry.
  @inline(__always)
  func mayBeMarked(_ id: UInt64) -> Bool { id < latest.load(ordering: .acquiring) }

  /// Whether an entry of this scope is older than its mark.
  func isMarked(_ id: UInt64, hash: UInt64) -> Bool {
    if id < floor.load(ordering: .sequentiallyConsistent) { return true }
    guard id < stripes.bound(for: hash) else { return false }
    return state.withLock { id < max($0.marks.floor, $0.marks.numbers[hash] ?? 0) }
  }

  /// Whether one of these scopes was marked at or after a place in the sequence.
  ///
  /// An insert calls it after it has taken its id. A mark with a number below that id is then found. A mark with a
  /// higher number makes the entry outdated by itself.
  func isAnyMarked(_ hashes: [UInt64], since number: UInt64) -> Bool {
    guard !hashes.isEmpty, last.load(ordering: .sequentiallyConsistent) >= number else { return false }
    return state.withLock { state in
      state.marks.floor >= number || state.floorInFlight >= number
        || hashes.contains { hash in
          max(state.marks.numbers[hash] ?? 0, state.settled[hash] ?? 0) >= number
        }
    }
  }

  // MARK: Settling

  /// The number of the latest mark: a pass over the entries that begins now settles all marks up to it.
  var lastNumber: UInt64 { state.withLock { $0.last } }

  /// Drops marks after a pass over all stored entries.
  ///
  /// - Parameters:
  ///   - number: the last mark when the pass began.
  ///   - needed: hashes of scopes whose marks are needed further on.
  ///   - oldest: no fetch in flight needs marks up to this number.
  func settle(upTo number: UInt64, except needed: Set<UInt64>, noTokenBefore oldest: UInt64) {
    state.withLock { state in
      // Before any mark is gone.
      passCount.add(1, ordering: .sequentiallyConsistent)
      for (hash, mark) in state.marks.numbers where mark <= number && !needed.contains(hash) {
        state.marks.numbers[hash] = nil
        state.settled[hash] = mark
        state.lastSettled = max(state.lastSettled, mark)
      }
      if state.marks.floor <= number { state.marks.floor = 0 }
      floor.store(state.marks.floor, ordering: .sequentiallyConsistent)
      latest.store(state.marks.latest, ordering: .sequentiallyConsistent)
      state.left = state.marks.numbers.count
      forget(&state, noTokenBefore: oldest)
      guard state.settled.count > Self.mostSettled else { return }
      let numbers = state.settled.values.sorted()
      let bound = numbers[numbers.count - Self.mostSettled / 2]
      state.settled = state.settled.filter { $1 > bound }
      state.floorInFlight = max(state.floorInFlight, bound)
    }
  }

  /// Drops settled marks that no fetch in flight needs.
  func forget(noTokenBefore oldest: UInt64) {
    state.withLock { state in
      // All or none, because each mark asks.
      if oldest >= state.lastSettled { forget(&state, noTokenBefore: oldest) }
    }
  }

  private func forget(_ state: inout State, noTokenBefore oldest: UInt64) {
    guard !state.settled.isEmpty else { return }
    state.settled = oldest >= state.lastSettled ? [:] : state.settled.filter { $1 > oldest }
  }

  /// The marks that stored entries may need.
  var snapshot: Snapshot { state.withLock { $0.marks } }
  /// Their number, including one for the floor.
  var count: Int { state.withLock { $0.marks.numbers.count + ($0.marks.floor > 0 ? 1 : 0) } }
  /// Their number without those that the last pass left.
  var unsettledCount: Int { state.withLock { max(0, $0.marks.numbers.count - $0.left) } }
  /// Number of settled marks that are kept for fetches in flight.
  var settledCount: Int { state.withLock { $0.settled.count } }
}
