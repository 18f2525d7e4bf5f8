// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// What outdates entries of a store, those that are stored and those in flight: marks of scopes, and sweeps.
///
/// Marks, sweeps and entries are numbered in one sequence.
///
/// **A mark** outdates the entries of a scope whose ids are less than its number: they were published before. Every hit
/// may need this check, so the common answers need no lock. An entry newer than all marks takes one load; one newer than
/// those of its stripe takes two more. Only an older entry looks up its scope under the lock.
///
/// **A sweep** visits the stored entries itself. Here it leaves a *fence* before that: an insert or update in flight must not
/// bring back what the sweep removed. The sweep then visits each part of the store under the lock of that part. An insert
/// checks the fences under the same lock, immediately before it publishes. If the insert came to the lock first, the sweep
/// finds the published entry. If it came second, the lock made the fence visible.
///
/// # Why their number stays bounded
///
/// A mark is needed as long as an entry of its scope with a lower id is stored. The store does not know the scopes of its
/// entries: to keep them would take more memory than the marks, for each entry, and to know them after an opening, all
/// of the disk would be read. So the store *settles* marks instead, once they are many in proportion to its entries. It
/// passes over all entries, the caller says in which scopes each one is, and those that a mark outdates are removed. No
/// stored entry needs these marks any more. A pass is made after as many marks as a quarter of the entries, so a mark
/// costs four visits at most, whatever the number of entries. Nothing is outdated that no mark names. A lookup that runs
/// beside the end of a pass notices it by ``passes``.
///
/// A fetch that began before a mark or a sweep may still bring what they outdate. So fences and settled marks are kept,
/// without the disk, until no ``RemovalToken`` is older than they are. Each mark and each sweep ends an *epoch*. A token refers
/// to the epoch that it was taken in, so an epoch without other references has no tokens.
final class Invalidations: Sendable {
  private struct Fence: Sendable {
    let number: UInt64
    let covers: CacheStore.Coverage
  }

  private struct State: Sendable {
    /// The marks that stored entries may need.
    var marks: Marks
    /// How many of them the last pass left.
    var left = 0
    /// Settled marks, which only fetches in flight may need.
    var settled: [UInt64: UInt64] = [:]
    /// The greatest number among the settled ones.
    var lastSettled: UInt64 = 0
    /// Oldest first.
    var fences: [Fence] = []
    /// Everything in flight that began at or before this number is kept out.
    var floor: UInt64 = 0
    /// The number of the latest mark.
    var lastMark: UInt64
  }

  /// Maximum number of settled marks that are kept for fetches in flight: 5 MB. If more scopes are marked during one
  /// fetch, its response is not stored.
  static let mostSettled = 1 << 17
  /// Maximum number of fences, some MB. After more sweeps during one fetch, its response is not stored.
  static let mostFences = 1 << 16

  let hasher: KeyHasher
  private let state: Mutex<State>
  private let epochs = Mutex(Epochs())
  /// The number of the latest mark that a stored entry may need; 0 without any, and the maximum while a mark is being
  /// added.
  private let latestMark: Atomic<UInt64>
  /// The number of the latest mark or fence so far; the maximum while one is being added.
  private let latest: Atomic<UInt64>
  /// ``Marks/floor``.
  private let markFloor: Atomic<UInt64>
  /// Number of passes that have dropped marks.
  private let passCount = Atomic<UInt64>(0)
  /// For each stripe of hashes, the number of its latest mark.
  private let stripes = StripedMaxima()

  init(_ marks: Marks = Marks(), hasher: KeyHasher) {
    self.hasher = hasher
    let number = marks.latest
    state = Mutex(State(marks: marks, lastMark: number))
    latestMark = Atomic(number)
    latest = Atomic(number)
    markFloor = Atomic(marks.floor)
    for (hash, number) in marks.numbers { stripes.raise(for: hash, to: number) }
  }

  /// Adds a mark of some scopes, by their hashes, and returns its number.
  ///
  /// - Parameter take: takes the number from the sequence.
  func mark(_ hashes: [UInt64], number take: () -> UInt64) -> UInt64 {
    add { state in
      latestMark.store(.max, ordering: .sequentiallyConsistent)
      let number = take()
      for hash in hashes {
        state.marks.numbers[hash] = number
        stripes.raise(for: hash, to: number)
      }
      state.lastMark = number
      latestMark.store(number, ordering: .sequentiallyConsistent)
      return number
    }
  }

  /// Adds the fence of a sweep, and returns its number.
  ///
  /// - Parameter take: takes the number from the sequence.
  func fence(_ covers: @escaping CacheStore.Coverage, number take: () -> UInt64) -> UInt64 {
    add { state in
      let number = take()
      if state.fences.count == Self.mostFences {
        state.floor = max(state.floor, state.fences[Self.mostFences / 2 - 1].number)
        state.fences.removeFirst(Self.mostFences / 2)
      }
      state.fences.append(Fence(number: number, covers: covers))
      return number
    }
  }

  private func add(_ change: (inout State) -> UInt64) -> UInt64 {
    let number = state.withLock { state in
      // An insert that takes its id after our number must find the mark; a sweep skips it, so it must find the fence. An
      // insert that sees this value waits for the lock.
      latest.store(.max, ordering: .sequentiallyConsistent)
      let number = change(&state)
      latest.store(number, ordering: .sequentiallyConsistent)
      return number
    }
    // What is in flight began after this number.
    let oldest = epochs.withLock { $0.begin(at: number) }
    state.withLock { state in
      let unneeded = state.fences.prefix { $0.number <= oldest }.count
      if unneeded > 0 { state.fences.removeFirst(unneeded) }
      // All or none, because each mark asks.
      if oldest >= state.lastSettled { state.settled = [:] }
    }
    return number
  }

  // MARK: Stored entries

  /// Number of passes so far. A lookup that began before a pass was over may have found an entry that the pass removed, and
  /// whose mark is gone. So the number is read before the lookup, and compared after the check.
  @inline(__always)
  var passes: UInt64 { passCount.load(ordering: .acquiring) }

  /// Whether any mark is newer than an entry.
  @inline(__always)
  func mayBeMarked(_ id: UInt64) -> Bool { id < latestMark.load(ordering: .acquiring) }

  /// Whether an entry of this scope is older than its mark.
  func isMarked(_ id: UInt64, hash: UInt64) -> Bool {
    if id < markFloor.load(ordering: .sequentiallyConsistent) { return true }
    guard id < stripes.bound(for: hash) else { return false }
    return state.withLock { id < max($0.marks.floor, $0.marks.numbers[hash] ?? 0) }
  }

  // MARK: In flight

  /// The epoch of a token that is taken now. The token's number must be read afterwards.
  var epoch: Epoch { epochs.withLock { $0.current } }

  /// Whether there was any mark or sweep since a place in the sequence, or one is being added.
  func isAny(since number: UInt64) -> Bool { latest.load(ordering: .sequentiallyConsistent) >= number }

  /// Whether a mark or a sweep outdates something that began at a place in the sequence.
  ///
  /// An insert calls it after it has taken its id. A mark with a number below that id is then found. A mark with a
  /// higher number makes the entry outdated by itself.
  ///
  /// - Parameter key: `nil` checks only the scopes.
  func keepsOut(_ key: StoreKey?, in scopes: [StoreScope], since number: UInt64) -> Bool {
    guard isAny(since: number) else { return false }
    let hashes = scopes.map(hash)
    let fences: [Fence]? = state.withLock { state in
      let isMarked =
        state.floor >= number || !hashes.isEmpty && state.marks.floor >= number
        || hashes.contains { max(state.marks.numbers[$0] ?? 0, state.settled[$0] ?? 0) >= number }
      return isMarked ? nil : state.fences
    }
    // Outside of the lock, because comparing keys may take long.
    guard let newer = fences?.reversed().prefix(while: { $0.number >= number }) else { return true }
    guard let key else { return newer.contains { $0.covers(nil, scopes) } }
    return key.bytes.withUnsafeBytes { bytes in newer.contains { $0.covers(bytes, scopes) } }
  }

  /// Whether a sweep may concern something that began at a place in the sequence.
  func isSwept(since number: UInt64) -> Bool {
    guard isAny(since: number) else { return false }
    return state.withLock { max($0.floor, $0.fences.last?.number ?? 0) >= number }
  }

  func hash(_ scope: StoreScope) -> UInt64 { hasher.checksum(scope.bytes) }

  // MARK: Settling

  /// The number of the latest mark: a pass over the entries that begins now settles all marks up to it.
  var lastMark: UInt64 { state.withLock { $0.lastMark } }

  /// Drops marks after a pass over all stored entries.
  ///
  /// - Parameters:
  ///   - number: the last mark when the pass began.
  ///   - needed: hashes of scopes whose marks are needed further on.
  func settle(upTo number: UInt64) {
    let oldest = epochs.withLock { $0.oldest }
    state.withLock { state in
      // Before any mark is gone.
      passCount.add(1, ordering: .sequentiallyConsistent)
      for (hash, mark) in state.marks.numbers where mark <= number {
        state.marks.numbers[hash] = nil
        state.settled[hash] = mark
        state.lastSettled = max(state.lastSettled, mark)
      }
      if state.marks.floor <= number { state.marks.floor = 0 }
      markFloor.store(state.marks.floor, ordering: .sequentiallyConsistent)
      latestMark.store(state.marks.latest, ordering: .sequentiallyConsistent)
      state.left = state.marks.numbers.count
      state.settled = state.settled.filter { $1 > oldest }
      guard state.settled.count > Self.mostSettled else { return }
      let numbers = state.settled.values.sorted()
      let bound = numbers[numbers.count - Self.mostSettled / 2]
      state.settled = state.settled.filter { $1 > bound }
      state.floor = max(state.floor, bound)
    }
  }

  /// The marks that stored entries may need.
  var marks: Marks { state.withLock { $0.marks } }
  /// Their number, including one for the floor.
  var markCount: Int { state.withLock { $0.marks.numbers.count + ($0.marks.floor > 0 ? 1 : 0) } }
  /// Their number without those that the last pass left.
  var unsettledCount: Int { state.withLock { max(0, $0.marks.numbers.count - $0.left) } }
  /// Number of settled marks that are kept for fetches in flight.
  var settledCount: Int { state.withLock { $0.settled.count } }
  var fenceCount: Int { state.withLock { $0.fences.count } }
}

extension Invalidations {
  /// Marks as they are written to disk: for each scope, by its hash, the number of its latest mark.
  struct Marks: Sendable, Equatable {
    var numbers: [UInt64: UInt64] = [:]
    /// Entries with a lower id are outdated in every scope. Only earlier versions wrote it.
    var floor: UInt64 = 0

    var isEmpty: Bool { numbers.isEmpty && floor == 0 }
    var latest: UInt64 { numbers.values.reduce(floor) { max($0, $1) } }

    mutating func add(_ other: Marks) {
      floor = max(floor, other.floor)
      numbers.merge(other.numbers) { max($0, $1) }
    }

    /// Drops the marks that no entry with this id or a greater one can need.
    mutating func drop(upTo id: UInt64) {
      numbers = numbers.filter { $1 > id }
      if floor <= id { floor = 0 }
    }
  }

  /// A part of the sequence of numbers. All are equal: they are no part of a token's value.
  final class Epoch: Sendable, Hashable {
    /// All tokens of the epoch have a higher number.
    fileprivate let start: UInt64

    fileprivate init(start: UInt64) {
      self.start = start
    }

    static func == (_: Epoch, _: Epoch) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
  }

  /// Knows how old the oldest token in use is.
  struct Epochs: Sendable {
    private(set) var current = Epoch(start: 0)
    /// Earlier epochs that may have tokens, oldest first.
    private var earlier: [Epoch] = []
    /// The number of earlier epochs at which those without tokens are dropped.
    private var limit = 64

    /// Begins another epoch after a number was taken for a mark or a fence.
    ///
    /// - Returns: a number that all tokens in use exceed, and that marks and fences must exceed to be needed.
    mutating func begin(at number: UInt64) -> UInt64 {
      if !isKnownUniquelyReferenced(&current) { earlier.append(current) }
      current = Epoch(start: number)
      prune()
      return earlier.first?.start ?? number
    }

    /// The number that ``begin(at:)`` would return.
    var oldest: UInt64 {
      mutating get {
        prune()
        if let first = earlier.first { return first.start }
        return isKnownUniquelyReferenced(&current) ? .max : current.start
      }
    }

    /// Drops epochs without tokens at the beginning, and elsewhere once there are many.
    private mutating func prune() {
      var unused = 0
      while unused < earlier.count, isKnownUniquelyReferenced(&earlier[unused]) { unused += 1 }
      earlier.removeFirst(unused)
      guard earlier.count > limit else { return }
      var kept: [Epoch] = []
      for index in earlier.indices where !isKnownUniquelyReferenced(&earlier[index]) {
        kept.append(earlier[index])
      }
      earlier = kept
      limit = max(64, 2 * kept.count)
    }
  }
}
