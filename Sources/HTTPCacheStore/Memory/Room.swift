// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The room that one operation is making: bytes that it holds of the budget, and entries to free after the lock.
struct Room: ~Copyable {
  // Not counted, not even while it is asked, which would be four atomic operations in an insert that evicts: the tier that
  // makes room owns the budget.
  private let budget: Unmanaged<ByteBudget>
  private(set) var held = 0
  /// Nearly always one at the most, which then needs no array.
  private var garbage: Detached?
  private var moreGarbage: [EntryReference]?
  private var next: EntryReference?

  init(budget: ByteBudget) {
    self.budget = .passUnretained(budget)
  }

  deinit {
    // What an operation holds when it ends is nobody's.
    garbage?.entry.release()
    if let moreGarbage { for entry in moreGarbage { entry.release() } }
  }

  /// Takes over an entry that was taken out, with its reference and the bytes it occupied.
  @inline(__always)
  mutating func hold(_ detached: Detached?) {
    guard let detached else { return }
    held += detached.cost
    next = detached.next
    if garbage == nil {
      garbage = detached
    } else {
      if moreGarbage == nil { moreGarbage = [] }
      moreGarbage?.append(detached.entry)
    }
  }

  /// Whether this much is held, after reserving what is missing.
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
      // Where nobody else has it, what is stored next is most likely written to the memory that becomes free here.
      garbage.entry.prefetch(count: garbage.cost)
      garbage.entry.release()
    }
    garbage = nil
    guard let more = moreGarbage else { return }
    for entry in more { entry.release() }
    moreGarbage = nil
  }

  /// Gives back what is held beyond what the tier now keeps.
  @inline(__always)
  mutating func close(keeping kept: Int = 0) {
    dropGarbage()
    let rest = held - kept
    if rest > 0 { budget._withUnsafeGuaranteedRef { $0.release(rest) } }
    held = 0
    // At the very end: the next atomic operation waits until it is known where in memory this is.
    next?.prefetchHeader()
  }
}

/// An entry that was taken out of its shard, with the table's reference, and what it occupied there in bytes.
struct Detached: Sendable {
  let entry: EntryReference
  let cost: Int
  /// What goes next, as far as is known: nobody's, and good only for asking for its memory.
  var next: EntryReference?
}
