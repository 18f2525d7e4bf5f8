// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// Remembers sweeps: an insert or update in flight during a sweep must not bring back what the sweep removed. A fence is
/// kept as long as a ``RemovalToken`` is older (`OutstandingTokens`), and keeps out only what it names.
///
/// A sweep adds its fence first, and then visits each part of the store under the lock of that part. An insert checks
/// the fences under the same lock, immediately before it publishes. If the insert came to the lock first, the sweep
/// finds the published entry. If it came second, the lock made the fence visible.
final class PurgeFences: Sendable {
  private struct Fence: Sendable {
    let number: UInt64
    let covers: CacheStore.Coverage
  }

  private struct State: Sendable {
    /// Oldest first.
    var fences: [Fence] = []
    /// Everything that began before this number is kept out.
    var floor: UInt64 = 0
  }

  /// Maximum number of fences, some MB. After more sweeps during one fetch, its response is kept out in any case.
  static let limit = 1 << 16

  private let state = Mutex(State())
  /// The number of the latest fence; the greatest number while a fence is being added.
  private let latest = Atomic<UInt64>(0)

  /// Adds a fence, and returns its number.
  ///
  /// - Parameter take: takes the number from the sequence of ids.
  func add(_ covers: @escaping CacheStore.Coverage, number take: () -> UInt64) -> UInt64 {
    state.withLock { state in
      // The sweep skips entries whose ids were taken after its number, so their inserts must find the fence. An insert that
      // sees this value waits for the lock.
      latest.store(.max, ordering: .sequentiallyConsistent)
      let number = take()
      if state.fences.count == Self.limit {
        state.floor = state.fences[Self.limit / 2 - 1].number
        state.fences.removeFirst(Self.limit / 2)
      }
      state.fences.append(Fence(number: number, covers: covers))
      latest.store(number, ordering: .sequentiallyConsistent)
      return number
    }
  }

  /// Drops fences that nothing in flight needs.
  ///
  /// - Parameter oldest: what is in flight began after this number.
  func drop(noTokenBefore oldest: UInt64) {
    state.withLock { state in
      let count = state.fences.prefix { $0.number <= oldest }.count
      if count > 0 { state.fences.removeFirst(count) }
    }
  }

  var count: Int { state.withLock { $0.fences.count } }

  /// Whether any fence was added since a place in the sequence, or is being added.
  func isAny(since number: UInt64) -> Bool { latest.load(ordering: .sequentiallyConsistent) >= number }

  /// Whether a fence keeps out something that began at a place in the sequence.
  ///
  /// - Parameter key: `nil` checks only scopes.
  func keepsOut(_ key: StoreKey?, scopes: [StoreScope], since number: UInt64) -> Bool {
    guard latest.load(ordering: .sequentiallyConsistent) >= number else { return false }
    // Outside of the lock, because comparing keys may take long.
    let state = state.withLock { $0 }
    if state.floor >= number { return true }
    return state.fences.reversed().prefix { $0.number >= number }.contains { $0.covers(key, scopes) }
  }
}
