import Synchronization

/// One part of memory: everything in it happens under its one lock.
///
/// An object of its own, larger than two cache lines, so that the locks of two shards never share one.
final class MemoryShard: Sendable {
  let state = Mutex(MemoryShardState())
}

/// The entries of a shard: a slab of slots, a table that finds a key's first slot, a chain through the variants of a
/// key, and one list through all slots in the order of their last use.
struct MemoryShardState {
  private(set) var slots: ContiguousArray<MemorySlot> = []
  private var table = KeyTable()
  private var freeSlot = MemorySlot.none
  private var newest = MemorySlot.none
  private(set) var oldest = MemorySlot.none
  private(set) var count = 0
  var hits = 0
  var evictions = 0

  // MARK: Finding

  @inline(__always)
  func find(_ key: StoreKey, hash: UInt64) -> Int32? {
    table.find(hash) { slot in
      slots[Int(slot)].hash == hash && slots[Int(slot)].entry.hasKey(key)
    }?.slot
  }

  func find(_ variant: VariantID, from first: Int32) -> Int32? {
    var slot = first
    while slot != MemorySlot.none {
      if slots[Int(slot)].variant == variant { return slot }
      slot = slots[Int(slot)].nextVariant
    }
    return nil
  }

  /// The entries of a key, newest first; each counts as used.
  @inline(__always)
  mutating func use(from first: Int32) -> StoredEntries {
    promote(first)
    var entries = StoredEntries(slots[Int(first)].storedEntry)
    var slot = slots[Int(first)].nextVariant
    while slot != MemorySlot.none {
      promote(slot)
      entries.append(slots[Int(slot)].storedEntry)
      slot = slots[Int(slot)].nextVariant
    }
    return entries
  }

  func isComplete(_ first: Int32) -> Bool { slots[Int(first)].isComplete }

  mutating func setComplete(_ first: Int32, _ isComplete: Bool) {
    slots[Int(first)].isComplete = isComplete
  }

  func variantCount(from first: Int32) -> Int {
    var count = 0
    var slot = first
    while slot != MemorySlot.none {
      count += 1
      slot = slots[Int(slot)].nextVariant
    }
    return count
  }

  /// The variant of a key with the lowest id.
  func lastVariant(from first: Int32) -> Int32 {
    var slot = first
    while slots[Int(slot)].nextVariant != MemorySlot.none { slot = slots[Int(slot)].nextVariant }
    return slot
  }

  // MARK: Adding and removing

  /// Adds an entry as the most recently used.
  mutating func add(_ new: MemorySlot, to first: Int32?) {
    let index: Int32
    if freeSlot != MemorySlot.none {
      index = freeSlot
      freeSlot = slots[Int(index)].older
      slots[Int(index)] = new
    } else {
      index = Int32(slots.count)
      slots.append(new)
    }
    count += 1
    linkAsNewest(index)
    if let first {
      chain(index, to: first)
    } else {
      table.insert(new.hash, slot: index, slots: slots)
    }
  }

  private mutating func chain(_ index: Int32, to first: Int32) {
    let id = slots[Int(index)].id
    guard slots[Int(first)].id > id else {
      slots[Int(index)].nextVariant = first
      slots[Int(index)].isComplete = slots[Int(first)].isComplete
      redirect(first, to: index)
      return
    }
    var before = first
    while case let next = slots[Int(before)].nextVariant, next != MemorySlot.none, slots[Int(next)].id > id {
      before = next
    }
    slots[Int(index)].nextVariant = slots[Int(before)].nextVariant
    slots[Int(before)].nextVariant = index
  }

  private mutating func redirect(_ first: Int32, to other: Int32) {
    guard let (position, _) = table.find(slots[Int(first)].hash, where: { $0 == first }) else { return }
    table.redirect(position: position, to: other)
  }

  /// Takes a slot's entry out. The caller drops the entry after the lock.
  mutating func detach(_ index: Int32) -> PackedEntry {
    unlink(index)
    unchain(index)
    var entry = PackedEntry.empty
    swap(&entry, &slots[Int(index)].entry)
    slots[Int(index)].id = 0
    slots[Int(index)].older = freeSlot
    freeSlot = index
    count -= 1
    return entry
  }

  private mutating func unchain(_ index: Int32) {
    let hash = slots[Int(index)].hash
    let next = slots[Int(index)].nextVariant
    var before = MemorySlot.none
    let found = table.find(hash) { first in
      before = MemorySlot.none
      var slot = first
      while slot != MemorySlot.none, slot != index {
        before = slot
        slot = slots[Int(slot)].nextVariant
      }
      return slot == index
    }
    guard let found else { return }
    if before != MemorySlot.none {
      slots[Int(before)].nextVariant = next
    } else if next != MemorySlot.none {
      slots[Int(next)].isComplete = slots[Int(index)].isComplete
      table.redirect(position: found.position, to: next)
    } else {
      table.remove(position: found.position, slots: slots)
    }
  }

  /// Takes out the entry used least recently to make room; what is left of its key is no longer complete.
  mutating func evictOldest() -> (entry: PackedEntry, cost: Int)? {
    guard oldest != MemorySlot.none else { return nil }
    return evict(oldest)
  }

  mutating func evict(_ index: Int32) -> (entry: PackedEntry, cost: Int) {
    let hash = slots[Int(index)].hash
    let cost = slots[Int(index)].cost
    let entry = detach(index)
    if let rest = table.find(hash, where: { slots[Int($0)].entry.key == entry.key }) {
      slots[Int(rest.slot)].isComplete = false
    }
    evictions += 1
    return (entry, cost)
  }

  /// Takes everything out.
  mutating func removeAll() -> ContiguousArray<MemorySlot> {
    let all = slots
    slots = []
    table.removeAll()
    freeSlot = MemorySlot.none
    newest = MemorySlot.none
    oldest = MemorySlot.none
    count = 0
    return all
  }

  /// Gives back the memory of slots that are free, once they are most of a slab that is worth it.
  ///
  /// An entry's share of the slab goes back to the budget when it is taken out; were the slab kept at its greatest, many
  /// small entries and then a few large ones would occupy more than the capacity. Call it last: slots change places.
  ///
  /// - Complexity: O(slots), but only after three quarters of them were taken out.
  @inline(__always)
  mutating func compactIfSparse() {
    if slots.count >= 256, count * 4 < slots.count { compact() }
  }

  private mutating func compact() {
    var places = ContiguousArray(repeating: MemorySlot.none, count: slots.count)
    var kept = ContiguousArray<MemorySlot>()
    kept.reserveCapacity(count)
    var slot = oldest
    while slot != MemorySlot.none {
      places[Int(slot)] = Int32(kept.count)
      kept.append(slots[Int(slot)])
      slot = slots[Int(slot)].newer
    }
    var isChained = ContiguousArray(repeating: false, count: kept.count)
    for index in kept.indices {
      kept[index].older = Int32(index) - 1  // `none` of the first.
      kept[index].newer = index + 1 < kept.count ? Int32(index) + 1 : MemorySlot.none
      let next = kept[index].nextVariant
      guard next != MemorySlot.none else { continue }
      kept[index].nextVariant = places[Int(next)]
      isChained[Int(places[Int(next)])] = true
    }
    slots = kept
    freeSlot = MemorySlot.none
    oldest = kept.isEmpty ? MemorySlot.none : 0
    newest = Int32(kept.count) - 1
    table.removeAll()
    for index in slots.indices where !isChained[index] {
      table.insert(slots[index].hash, slot: Int32(index), slots: slots)
    }
  }

  // MARK: Recency

  @inline(__always)
  mutating func promote(_ index: Int32) {
    guard newest != index else { return }
    unlink(index)
    linkAsNewest(index)
  }

  private mutating func linkAsNewest(_ index: Int32) {
    slots[Int(index)].newer = MemorySlot.none
    slots[Int(index)].older = newest
    if newest != MemorySlot.none { slots[Int(newest)].newer = index }
    newest = index
    if oldest == MemorySlot.none { oldest = index }
  }

  private mutating func unlink(_ index: Int32) {
    let newer = slots[Int(index)].newer
    let older = slots[Int(index)].older
    if newer != MemorySlot.none { slots[Int(newer)].older = older } else { newest = older }
    if older != MemorySlot.none { slots[Int(older)].newer = newer } else { oldest = newer }
  }
}
