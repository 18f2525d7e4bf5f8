// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// Counters that say whether a key changed since a moment, without memory per key.
///
/// Keys share 1,024 stripes by hash, and one epoch counts changes of all keys at once. A moment that is still current
/// proves that the key did not change. One key should not pay for changes of another. So a stripe remembers, in
/// addition to its count, which keys its last two changes concerned, by other bits of the hash. A moment is still
/// current if at most these two came since, and neither concerned the key. Without that, five clients that remove one
/// key after the other cause the refusal of six in a thousand concurrent stores.
final class StripedCounters: Sendable {
  struct Moment: Sendable, Hashable {
    let stripe: UInt64
    let epoch: UInt64
  }

  private let stripes = Stripes()
  private let epoch = Atomic<UInt64>(0)

  func moment(for hash: UInt64) -> Moment {
    Moment(
      stripe: stripes[hash].pointee.load(ordering: .sequentiallyConsistent),
      epoch: epoch.load(ordering: .sequentiallyConsistent))
  }

  func isCurrent(_ moment: Moment, for hash: UInt64) -> Bool {
    let now = self.moment(for: hash)
    guard now.epoch == moment.epoch else { return false }
    switch UInt32(truncatingIfNeeded: now.stripe >> 32) &- UInt32(truncatingIfNeeded: moment.stripe >> 32) {
    case 0: return true
    case 1: return last(of: now.stripe) != tag(hash)
    case 2: return last(of: now.stripe) != tag(hash) && lastButOne(of: now.stripe) != tag(hash)
    default: return false
    }
  }

  /// From the top of a stripe: 32 bits that count its changes, then the tags of the last but one and of the last
  /// change.
  func advance(for hash: UInt64) {
    let stripe = stripes[hash]
    var old = stripe.pointee.load(ordering: .sequentiallyConsistent)
    while true {
      let changed = ((old >> 32) &+ 1) << 32 | last(of: old) << 16 | tag(hash)
      let result = stripe.pointee.compareExchange(
        expected: old, desired: changed, ordering: .sequentiallyConsistent)
      if result.exchanged { return }
      old = result.original
    }
  }

  /// Bits of a hash that do not choose its stripe.
  private func tag(_ hash: UInt64) -> UInt64 { hash >> 34 & 0xFFFF }

  private func last(of stripe: UInt64) -> UInt64 { stripe & 0xFFFF }

  private func lastButOne(of stripe: UInt64) -> UInt64 { stripe >> 16 & 0xFFFF }

  func advanceAll() {
    epoch.add(1, ordering: .sequentiallyConsistent)
  }
}

/// The greatest number given for each key, or for another key of its stripe: sometimes too great, never too small.
struct StripedMaxima: ~Copyable, Sendable {
  private let stripes = Stripes()

  func raise(for hash: UInt64, to number: UInt64) {
    stripes[hash].pointee.max(number, ordering: .sequentiallyConsistent)
  }

  func bound(for hash: UInt64) -> UInt64 {
    stripes[hash].pointee.load(ordering: .sequentiallyConsistent)
  }
}

/// 1,024 words, each for the keys of some hashes.
// Unchecked because of the pointer: it is set once, and what it points to are atomics.
private struct Stripes: ~Copyable, @unchecked Sendable {
  private static let count = 1024
  private let words: UnsafeMutablePointer<Atomic<UInt64>>

  init() {
    words = .allocate(capacity: Self.count)
    for index in 0..<Self.count { (words + index).initialize(to: Atomic(0)) }
  }

  deinit {
    words.deinitialize(count: Self.count)
    words.deallocate()
  }

  // Uses neither the bits of the shard (the top) nor those of the table (the bottom), so that a hot shard spreads over
  // all stripes.
  subscript(hash: UInt64) -> UnsafeMutablePointer<Atomic<UInt64>> {
    words + (Int(truncatingIfNeeded: hash >> 24) & (Self.count - 1))
  }
}
