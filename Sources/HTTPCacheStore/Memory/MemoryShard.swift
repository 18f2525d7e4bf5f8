import Synchronization

/// One part of memory: everything in it happens under its one lock.
struct MemoryShard: ~Copyable {
  let state: Mutex<MemoryShardState>

  init(policy: EvictionPolicy) {
    state = Mutex(MemoryShardState(policy: policy))
  }
}

/// The entries of a shard: slots, a table that finds the slots of a key, and the order of their eviction.
struct MemoryShardState: ~Copyable, Sendable {
  private var slots = MemorySlots()
  private var table = KeyTable()
  private var order: EvictionOrder
  private(set) var count = 0
  private(set) var hits = 0
  private(set) var misses = 0
  private(set) var evictions = 0

  init(policy: EvictionPolicy) {
    order = EvictionOrder(policy)
  }

  /// Slots that are held, free ones among them.
  var slotCount: Int { slots.count }

  // MARK: Finding

  /// The entries of a key, newest first, each counted as used, and whether they are all that the store has.
  @inline(__always)
  mutating func use(_ key: UnsafeRawBufferPointer, tag: UInt32) -> (entries: StoredEntries, isComplete: Bool)?
  {
    let run = table.run(of: tag)
    guard run.count == 1 else { return run.isEmpty ? nil : useAny(of: run, key) }
    let index = table[run.lowerBound]
    guard let entry = entry(index, ifOf: key) else { return nil }
    order.use(index, count: count, in: slots)
    hits &+= 1
    return (StoredEntries(StoredEntry(entry, tier: .memory)), slots[index].standing.isComplete)
  }

  /// Of several with the same tag: variants, or other keys.
  @inline(never)
  private mutating func useAny(
    of run: KeyTable.Run, _ key: UnsafeRawBufferPointer
  ) -> (entries: StoredEntries, isComplete: Bool)? {
    let found = variants(of: run, key)
    guard !found.isEmpty else { return nil }
    hits += 1
    var entries = StoredEntries()
    for index in found {
      order.use(index, count: count, in: slots)
      if let entry = slots[index].entry { entries.append(StoredEntry(entry, tier: .memory)) }
    }
    return (entries, slots[found.first].standing.isComplete)
  }

  mutating func countMiss() { misses &+= 1 }

  @inline(__always)
  private func entry(_ index: Int32, ifOf key: UnsafeRawBufferPointer) -> PackedEntry? {
    // The one reference that a hit takes is taken first: the compiler takes another to compare what it does not hold.
    guard let entry = slots[index].entry, entry.hasKey(key) else { return nil }
    return entry
  }

  private func variants(of run: KeyTable.Run, _ key: UnsafeRawBufferPointer) -> Variants {
    var found = Variants()
    for position in run where entry(table[position], ifOf: key) != nil { found.append(table[position]) }
    if found.count > 1 { found.sort { (slots[$0].entry?.id ?? 0) > (slots[$1].entry?.id ?? 0) } }
    return found
  }

  /// The slots of a key's variants, the one with the greatest id first.
  func variants(of key: UnsafeRawBufferPointer, tag: UInt32) -> Variants {
    variants(of: table.run(of: tag), key)
  }

  func entry(_ index: Int32) -> PackedEntry? { slots[index].entry }

  private func cost(of entry: PackedEntry) -> Int { order.policy.cost(of: entry) }

  func isComplete(_ index: Int32) -> Bool { slots[index].standing.isComplete }

  /// Sets the mark of all variants of a key.
  func setComplete(_ variants: Variants, _ isComplete: Bool) {
    for index in variants { slots[index].standing.isComplete = isComplete }
  }

  // MARK: Adding and removing

  /// Adds an entry, as one that was just used.
  ///
  /// - Parameter replaced: the standing of the entry that it takes the place of.
  mutating func add(
    _ entry: PackedEntry, tag: UInt32, cost: Int, isComplete: Bool, replacing replaced: MemorySlot.Standing?
  ) {
    let index = slots.add(MemorySlot(entry: entry, tag: tag, standing: .init()))
    order.add(index, cost: cost, replacing: replaced, in: slots)
    slots[index].standing.isComplete = isComplete
    table.insert(tag, slot: index)
    count += 1
  }

  /// Puts an entry in the place of another of the same key, variant and id, and counts it as used.
  mutating func replace(_ index: Int32, with entry: PackedEntry, cost: Int) -> (
    entry: PackedEntry, cost: Int
  )? {
    guard let old = slots[index].entry else { return nil }
    let oldCost = self.cost(of: old)
    order.change(index, cost: oldCost, to: cost, in: slots)
    order.use(index, count: count, in: slots)
    slots[index].entry = entry
    return (old, oldCost)
  }

  /// Takes an entry out. The caller drops it after the lock.
  mutating func detach(_ index: Int32, isEvicted: Bool = false) -> (entry: PackedEntry, cost: Int)? {
    guard let entry = slots[index].entry else { return nil }
    let cost = cost(of: entry)
    table.remove(slots[index].tag, slot: index)
    order.remove(index, cost: cost, isEvicted: isEvicted, in: slots)
    _ = slots.remove(index)
    count -= 1
    return (entry, cost)
  }

  func standing(_ index: Int32) -> MemorySlot.Standing { slots[index].standing }

  /// Takes out the entry that goes first, to make room; `nil` when there is none but the one excepted.
  mutating func evictNext(except kept: Int32 = MemorySlot.none) -> (entry: PackedEntry, cost: Int)? {
    order.victim(except: kept, in: slots).flatMap { evict($0) }
  }

  /// Takes out an entry to make room; what is left of its key is no longer complete.
  mutating func evict(_ index: Int32) -> (entry: PackedEntry, cost: Int)? {
    let tag = slots[index].tag
    guard let (entry, cost) = detach(index, isEvicted: true) else { return nil }
    evictions += 1
    let run = table.run(of: tag)
    if !run.isEmpty {
      entry.block.key.withUnsafeBytes { setComplete(variants(of: run, $0), false) }
    }
    return (entry, cost)
  }

  /// The slots of the entries stored at or after a time.
  func slots(since time: Int64) -> [Int32] {
    (0..<Int32(slots.count)).filter { index in slots[index].entry.map { $0.storedAt >= time } ?? false }
  }

  /// Takes everything out. The caller drops it after the lock.
  mutating func removeAll(into all: inout MemorySlots) {
    swap(&all, &slots)
    table.removeAll()
    order.removeAll()
    count = 0
  }

  /// Gives back the memory of slots that are free, once they are half of those that are held and worth it.
  ///
  /// An entry's share of the slots goes back to the budget when it is taken out; were they kept at their greatest, many
  /// small entries and then a few large ones would occupy more than the capacity. Call it last: slots change places.
  ///
  /// - Complexity: O(slots), but only after half of them were taken out.
  @inline(__always)
  mutating func compactIfSparse() {
    if slots.count >= 256, count * 2 < slots.count { compact() }
  }

  private mutating func compact() {
    let numbers = slots.compact()
    for index in 0..<Int32(slots.count) {
      let (newer, older) = (slots[index].newer, slots[index].older)
      if newer != MemorySlot.none { slots[index].newer = numbers[Int(newer)] }
      if older != MemorySlot.none { slots[index].older = numbers[Int(older)] }
    }
    order.renumber(numbers)
    table.compact { numbers[Int($0)] }
  }
}
