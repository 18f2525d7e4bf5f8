// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// What was swept lately, and when: an insert or update that was under way then must not bring back what the sweep took away.
///
/// A sweep adds its fence first, and then goes through each part of the store under the lock of that part. An insert asks
/// for fences under the same lock, immediately before it publishes. If it came to the lock first, the sweep finds what it
/// published; if it came second, the lock made the fence visible.
final class PurgeFences: Sendable {
  /// What a fence keeps out.
  enum Extent: Sendable {
    case keys(@Sendable (StoreKey) -> Bool)
    /// Entries of a scope, by its hash.
    case scope(UInt64)
  }

  private struct Fence: Sendable {
    let number: UInt64
    let extent: Extent
  }

  private struct State: Sendable {
    var fences: [Fence] = []
    /// What began before this number is kept out, whatever it is.
    var floor: UInt64 = 0
  }

  /// The most that are remembered: what began before the oldest of so many is kept out in any case.
  static let limit = 64

  private let state = Mutex(State())
  /// The number of the latest.
  private let latest = Atomic<UInt64>(0)

  /// Adds a fence, and gives its number.
  ///
  /// - Parameter take: takes the number from the sequence of ids.
  func add(_ extent: Extent, number take: () -> UInt64) -> UInt64 {
    state.withLock { state in
      let number = take()
      if state.fences.count == Self.limit { state.floor = state.fences.removeFirst().number }
      state.fences.append(Fence(number: number, extent: extent))
      latest.store(number, ordering: .sequentiallyConsistent)
      return number
    }
  }

  /// Whether something is kept out that began at a place in the sequence.
  ///
  /// - Parameter key: `nil` asks for scopes alone.
  func keepsOut(_ key: StoreKey?, scopes: [UInt64], since number: UInt64) -> Bool {
    guard latest.load(ordering: .sequentiallyConsistent) >= number else { return false }
    // To compare keys may take its time.
    let state = state.withLock { $0 }
    if state.floor >= number { return true }
    return state.fences.contains { fence in
      guard fence.number >= number else { return false }
      switch fence.extent {
      case .keys(let isMeant): return key.map(isMeant) ?? false
      case .scope(let hash): return scopes.contains(hash)
      }
    }
  }
}
