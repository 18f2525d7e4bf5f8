// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheStore

/// The order in which the variants under each key were last used, for keys with several, so that the number of variants
/// of one key is bounded, and the one used least recently gives way.
///
/// It is in memory only, and itself bounded: beyond its capacity it forgets the keys that were used least recently. What
/// it does not know of is still found, and known again when it is used.
final class VariantOrder: Sendable {
  /// A variant, and where it is stored.
  struct Variant: Hashable, Sendable {
    let id: VariantID
    /// Whether it is stored under a key of its own (``VariantIndex``).
    let isApart: Bool
  }

  private struct Family: Sendable {
    /// The nonce of the index that the variants apart are found by; `nil` without an index.
    var nonce: UInt64?
    /// Whether no variant apart is unknown here.
    var isWhole: Bool
    /// The variants; the value says whether one is apart.
    var members = RecencyMap<VariantID, Bool>()

    init(_ known: KnownVariants) {
      nonce = known.index?.nonce
      isWhole = known.index == nil
      for own in known.own { members.set(own, to: false) }
    }

    mutating func follow(_ index: VariantIndex, isNew: Bool) {
      guard index.nonce != nonce else { return }
      // Another index leads to none of the variants that were apart before.
      for (id, isApart) in members.mostRecent() where isApart { members.remove(id) }
      (nonce, isWhole) = (index.nonce, isNew)
    }
  }

  private struct State: Sendable {
    var families = RecencyMap<UInt64, Family>()
    /// The number of members of all families.
    var count = 0
  }

  /// Maximum number of variants of one key.
  let maximum: Int
  private let capacity: Int
  private let state = Mutex(State())

  /// - Parameters:
  ///   - maximum: maximum number of variants of one key.
  ///   - memoryCapacity: the bytes of memory that the store may use. One variant for each 2 KiB, and at least 4,096, are
  ///     remembered: with about 100 bytes each, that is a twentieth of them.
  init(maximum: Int, memoryCapacity: Int) {
    self.maximum = max(1, maximum)
    capacity = max(4096, memoryCapacity / 2048)
  }

  /// The number of variants that are remembered.
  var count: Int { state.withLock { $0.count } }

  /// Records that a response was used.
  func use(_ ids: [VariantID], under key: UInt64, _ known: KnownVariants) {
    state.withLock { state in
      change(key, known, &state) { family in
        for id in ids where !family.members.use(id) {
          family.members.set(id, to: !known.own.contains(id))
        }
      }
    }
  }

  /// Records that a response is going to be stored.
  ///
  /// - Parameters:
  ///   - index: the index that leads to it, if it is stored apart.
  ///   - isNew: whether that index was made just now, so that it leads to nothing else.
  /// - Returns: the variants that must give way, with the nonce of those apart.
  func add(
    _ id: VariantID, under key: UInt64, _ known: KnownVariants, apartBy index: VariantIndex?, isNew: Bool
  ) -> (evicted: [Variant], nonce: UInt64?) {
    state.withLock { state in
      change(key, known, &state) { family in
        if let index { family.follow(index, isNew: isNew) }
        family.members.set(id, to: index != nil)
        var evicted: [Variant] = []
        while family.members.count > maximum, let least = family.members.leastRecent,
          let isApart = family.members.remove(least)
        {
          evicted.append(Variant(id: least, isApart: isApart))
        }
        return (evicted, family.nonce)
      }
    }
  }

  /// Returns the variants of a key that were used most recently; none if they are not known.
  func mostRecent(_ count: Int, under key: UInt64) -> [Variant] {
    state.withLock { state in
      state.families[key]?.members.mostRecent(count).map { Variant(id: $0.key, isApart: $0.value) } ?? []
    }
  }

  /// Returns all variants that an index leads to; `nil` if some of them may be unknown.
  func all(apartBy index: VariantIndex, under key: UInt64) -> [VariantID]? {
    state.withLock { state in
      guard let family = state.families[key], family.nonce == index.nonce, family.isWhole else { return nil }
      return family.members.mostRecent().filter(\.value).map(\.key)
    }
  }

  /// Forgets the variants of a key that was removed.
  ///
  /// - Returns: those that were apart, and the nonce of their index.
  func forget(_ key: UInt64) -> (apart: [VariantID], nonce: UInt64)? {
    state.withLock { state in
      guard let family = state.families.remove(key) else { return nil }
      state.count -= family.members.count
      return family.nonce.map { (family.members.mostRecent().filter(\.value).map(\.key), $0) }
    }
  }

  private func change<Result>(
    _ key: UInt64, _ known: KnownVariants, _ state: inout State, _ body: (inout Family) -> Result
  ) -> Result {
    if !state.families.contains(key) {
      let family = Family(known)
      state.count += family.members.count
      state.families.set(key, to: family)
    }
    var difference = 0
    let result = state.families.update(key) { family in
      let before = family.members.count
      defer { difference = family.members.count - before }
      return body(&family)
    }
    state.count += difference
    while state.count > capacity, state.families.count > 1, let least = state.families.leastRecent,
      let forgotten = state.families.remove(least)
    {
      state.count -= forgotten.members.count
    }
    guard let result else { preconditionFailure("a family that was just added is missing") }
    return result
  }
}
