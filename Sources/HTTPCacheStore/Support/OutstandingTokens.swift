// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// Knows how old the oldest ``RemovalToken`` in use is, so that marks and fences are kept only as long as an insert with
/// such a token may come.
///
/// Each mark and each fence ends an epoch. A token refers to the epoch that it was taken in, so an epoch without other
/// references has no tokens.
final class OutstandingTokens: Sendable {
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

  private struct State: Sendable {
    var current = Epoch(start: 0)
    /// Earlier epochs that may have tokens, oldest first.
    var earlier: [Epoch] = []
    /// The number of earlier epochs at which those without tokens are dropped.
    var limit = 64

    /// Drops epochs without tokens at the beginning, and elsewhere once there are many.
    mutating func prune() {
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

  private let state = Mutex(State())

  /// The epoch of a token that is taken now. The token's number must be read afterwards.
  var current: Epoch { state.withLock { $0.current } }

  /// Begins another epoch after a number was taken for a mark or a fence.
  ///
  /// - Returns: a number that all tokens in use exceed, and that marks and fences must exceed to be needed.
  func begin(at number: UInt64) -> UInt64 {
    state.withLock { state in
      if !isKnownUniquelyReferenced(&state.current) { state.earlier.append(state.current) }
      state.current = Epoch(start: number)
      state.prune()
      return state.earlier.first?.start ?? number
    }
  }

  /// The number that ``begin(at:)`` would return.
  var oldest: UInt64 {
    state.withLock { state in
      state.prune()
      if let first = state.earlier.first { return first.start }
      return isKnownUniquelyReferenced(&state.current) ? .max : state.current.start
    }
  }
}
