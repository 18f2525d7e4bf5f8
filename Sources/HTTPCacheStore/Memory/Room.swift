// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The room that one operation makes, which is memory for a new entry: bytes of the budget that it owns, and evicted
/// entries to free after the lock.
struct Room: ~Copyable {
  // The reference is not counted, not even during a call, which would be four atomic operations in an insert that
  // evicts. The tier that makes room owns the budget.
  private let budget: Unmanaged<ByteBudget>
  private let spares: Unmanaged<SpareBlocks>
  private(set) var held = 0
  /// Nearly always at most one entry, which then needs no array.
  private var garbage: Detached?
  private var moreGarbage: [EntryReference]?

  init(budget: ByteBudget, spares: SpareBlocks) {
    self.budget = .passUnretained(budget)
    self.spares = .passUnretained(spares)
  }

  deinit {
    // No other code owns the entries that an operation still has when it ends.
    garbage?.entry.release()
    if let moreGarbage { for entry in moreGarbage { entry.release() } }
  }

  /// Takes over a removed entry, with its reference and the bytes it occupied.
  @inline(__always)
  mutating func hold(_ detached: Detached?) {
    guard let detached else { return }
    held += detached.cost
    if garbage == nil {
      garbage = detached
    } else {
      if moreGarbage == nil { moreGarbage = [] }
      moreGarbage?.append(detached.entry)
    }
  }

  /// Reserves missing bytes, and returns whether this many are now owned.
  @inline(__always)
  mutating func secure(_ bytes: Int) -> Bool {
    if held >= bytes { return true }
    let missing = bytes - held
    guard budget._withUnsafeGuaranteedRef({ $0.reserve(missing) }) else { return false }
    held = bytes
    return true
  }

  mutating func dropGarbage() {
    if let garbage {
      // If this is the last reference, the next entry is most likely written to the memory that becomes free here.
      garbage.entry.prefetch(count: garbage.cost)
      spares._withUnsafeGuaranteedRef { $0.give(garbage.entry) }
    }
    garbage = nil
    guard let more = moreGarbage else { return }
    for entry in more { entry.release() }
    moreGarbage = nil
  }

  /// Returns the bytes to the budget that the tier does not keep.
  @inline(__always)
  mutating func close(keeping kept: Int = 0) {
    dropGarbage()
    let rest = held - kept
    if rest > 0 { budget._withUnsafeGuaranteedRef { $0.release(rest) } }
    held = 0
  }
}

/// An entry that was removed from its shard, with the table's reference, and the bytes it occupied there.
struct Detached: Sendable {
  let entry: EntryReference
  let cost: Int
}
