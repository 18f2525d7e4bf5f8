import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The memory tier: shards by the key's hash, one budget over all of them.
///
/// Room is made in the own shard first, at the least recently used end, and in the others only when that is not enough;
/// never are two shards locked at once. Bytes of evicted entries pass to the insert that evicted them without going
/// through the budget, so no other thread can take them away and no insert waits for another. What is evicted or
/// replaced is freed after the lock.
final class MemoryTier: Sendable {
  /// Where an entry is placed, and on what condition.
  enum Purpose: Equatable {
    /// A new entry; it replaces the one of its variant unless that is newer.
    case insert
    /// New metadata; it replaces the entry with the same id unless that has newer metadata, and nothing otherwise.
    case update
  }

  private let shards: [MemoryShard]
  private let shardShift: UInt64
  private let budget: ByteBudget
  private let capacity: Mutex<Int>
  private let maximumVariants: Int
  private let hasDisk: Bool

  init(capacity: Int, shardCount: Int?, maximumVariants: Int, hasDisk: Bool) {
    let count = shardCount ?? Self.defaultShardCount(capacity: capacity)
    shards = (0..<count).map { _ in MemoryShard() }
    shardShift = UInt64(64 - count.trailingZeroBitCount)
    budget = ByteBudget(limit: capacity)
    self.capacity = Mutex(capacity)
    self.maximumVariants = maximumVariants
    self.hasDisk = hasDisk
  }

  /// A shard per MiB, at most 64: recency is kept per shard, so shards with few entries would cost hits.
  static func defaultShardCount(capacity: Int) -> Int {
    var count = 1
    while count < 64, count * 2 <= capacity >> 20 { count *= 2 }
    return count
  }

  @inline(__always)
  private func shard(_ hash: UInt64) -> MemoryShard {
    // A smart shift: with one shard it shifts everything out.
    shards[Int(truncatingIfNeeded: hash >> shardShift)]
  }

  // MARK: Finding

  /// The entries of a key in memory, each counted as used.
  func entries(for key: StoreKey, hash: UInt64) -> ResidentLookup {
    shard(hash).state.withLock { state in
      guard let first = state.find(key, hash: hash) else {
        return ResidentLookup(entries: StoredEntries(), isComplete: !hasDisk)
      }
      state.hits += 1
      return ResidentLookup(entries: state.use(from: first), isComplete: !hasDisk || state.isComplete(first))
    }
  }

  /// Records that memory holds all variants of a key, if it does hold these and nothing changed since.
  func markComplete(_ key: StoreKey, hash: UInt64, ids: [UInt64], unless isStale: () -> Bool) {
    shard(hash).state.withLock { state in
      guard !isStale(), let first = state.find(key, hash: hash) else { return }
      var held: Set<UInt64> = []
      var slot = first
      while slot != MemorySlot.none {
        held.insert(state.slots[Int(slot)].id)
        slot = state.slots[Int(slot)].nextVariant
      }
      if held.isSuperset(of: ids) { state.setComplete(first, true) }
    }
  }

  /// Records that the store has variants of a key that memory does not hold.
  func markIncomplete(_ key: StoreKey, hash: UInt64) {
    shard(hash).state.withLock { state in
      if let first = state.find(key, hash: hash) { state.setComplete(first, false) }
    }
  }

  // MARK: Adding

  /// Adds or replaces an entry.
  ///
  /// - Parameters:
  ///   - new: the slot, with everything but its cost and its links.
  ///   - isComplete: whether the store has no other variant; asked under the shard's lock when the key is new to memory.
  ///   - objection: asked under the shard's lock, where a removal that came first has left its mark.
  /// - Returns: why the entry was not placed, or `nil` when it was.
  func place(
    _ new: MemorySlot, key: StoreKey, purpose: Purpose = .insert, isComplete: () -> Bool = { false },
    objection: () -> RefusalReason? = { nil }
  ) -> RefusalReason? {
    var new = new
    new.cost = new.entry.cost
    guard new.cost <= budget.limit else { return .tooLarge }
    var room = Room(budget: budget)
    // What another thread has reserved and not yet added cannot be evicted; it can a moment later.
    for _ in 0..<4 {
      let result = attempt(
        &new, key: key, purpose: purpose, room: &room, isComplete: isComplete, objection: objection)
      room.dropGarbage()
      switch result {
      case .placed:
        room.close(keeping: new.cost)
        return nil
      case .refused(let reason):
        room.close()
        return reason
      case .needsRoom:
        evictElsewhere(than: new.hash, need: new.cost, room: &room)
      }
    }
    room.close()
    return .noRoom
  }

  private enum Attempt {
    case placed
    case refused(RefusalReason)
    /// The shard is empty, and there is still no room.
    case needsRoom
  }

  private func attempt(
    _ new: inout MemorySlot, key: StoreKey, purpose: Purpose, room: inout Room, isComplete: () -> Bool,
    objection: () -> RefusalReason?
  ) -> Attempt {
    shard(new.hash).state.withLock { state in
      defer { state.compactIfSparse() }
      if purpose == .update { return update(&new, key: key, room: &room, state: &state) }
      new.isComplete = false
      if let reason = objection() { return .refused(reason) }
      let first = state.find(key, hash: new.hash)
      if let first, let found = state.find(new.variant, from: first) {
        guard state.slots[Int(found)].id < new.id else { return .refused(.superseded) }
        let cost = state.slots[Int(found)].cost
        room.hold(state.detach(found), cost: cost)
      } else if let first, state.variantCount(from: first) >= maximumVariants {
        let (entry, cost) = state.evict(state.lastVariant(from: first))
        room.hold(entry, cost: cost)
      }
      while !room.secure(new.cost) {
        guard let (entry, cost) = state.evictOldest() else { return .needsRoom }
        room.hold(entry, cost: cost)
      }
      new.isComplete = isComplete()
      state.add(new, to: state.find(key, hash: new.hash))
      return .placed
    }
  }

  /// Puts an entry in the place of the same one with older metadata.
  ///
  /// That one stays until there is room: it is never out while the shard's lock is not held, when a removal would miss
  /// it.
  private func update(
    _ new: inout MemorySlot, key: StoreKey, room: inout Room, state: inout MemoryShardState
  ) -> Attempt {
    guard let first = state.find(key, hash: new.hash), let found = state.find(new.variant, from: first),
      case let old = state.slots[Int(found)], old.id == new.id, old.revision < new.revision
    else { return .refused(.superseded) }
    state.promote(found)
    while !room.secure(new.cost - old.cost) {
      guard state.oldest != found, let (entry, cost) = state.evictOldest() else { return .needsRoom }
      room.hold(entry, cost: cost)
    }
    // Asked only now: what was evicted may have been another variant.
    if let first = state.find(key, hash: new.hash) { new.isComplete = state.isComplete(first) }
    room.hold(state.detach(found), cost: old.cost)
    state.add(new, to: state.find(key, hash: new.hash))
    return .placed
  }

  private func evictElsewhere(than hash: UInt64, need: Int, room: inout Room) {
    let own = Int(truncatingIfNeeded: hash >> shardShift)
    for step in 1..<max(shards.count, 1) where room.held < need {
      shards[(own + step) & (shards.count - 1)].state.withLock { state in
        defer { state.compactIfSparse() }
        while !room.secure(need), let (entry, cost) = state.evictOldest() {
          room.hold(entry, cost: cost)
        }
      }
      room.dropGarbage()
    }
  }

  /// Replaces the metadata of the entry with this id. `false` when memory does not hold it.
  func updateMetadata(
    of id: UInt64, key: StoreKey, hash: UInt64, metadata: [UInt8], storedAt: Int64, revision: UInt64
  ) -> Bool {
    let old = shard(hash).state.withLock { state -> MemorySlot? in
      guard let first = state.find(key, hash: hash) else { return nil }
      var slot = first
      while slot != MemorySlot.none, state.slots[Int(slot)].id != id {
        slot = state.slots[Int(slot)].nextVariant
      }
      return slot == MemorySlot.none ? nil : state.slots[Int(slot)]
    }
    guard var new = old else { return false }
    new.entry = new.entry.replacingMetadata(metadata)
    new.storedAt = storedAt
    new.revision = revision
    new.nextVariant = MemorySlot.none
    let refusal = place(new, key: key, purpose: .update)
    if let refusal, refusal != .superseded {
      remove(key, hash: hash, variant: new.variant, olderThan: id + 1)
      markIncomplete(key, hash: hash)
    }
    return refusal == nil
  }

  // MARK: Removing

  /// Removes one variant of a key, or all; of a variant only what is older than `id`, when given.
  func remove(_ key: StoreKey, hash: UInt64, variant: VariantID? = nil, olderThan id: UInt64 = .max) {
    var room = Room(budget: budget)
    shard(hash).state.withLock { state in
      defer { state.compactIfSparse() }
      guard let first = state.find(key, hash: hash) else { return }
      var slot = first
      while slot != MemorySlot.none {
        let this = slot
        slot = state.slots[Int(this)].nextVariant
        let found = (variant: state.slots[Int(this)].variant, id: state.slots[Int(this)].id)
        guard variant == nil || found.variant == variant, found.id < id else { continue }
        let cost = state.slots[Int(this)].cost
        room.hold(state.detach(this), cost: cost)
      }
    }
    room.close()
  }

  func removeAll() {
    for shard in shards {
      var all = shard.state.withLock { $0.removeAll() }
      // A free slot costs nothing: its cost went back when it was detached.
      var bytes = 0
      for slot in all where slot.id != 0 { bytes += slot.cost }
      all = []
      budget.release(bytes)
    }
  }

  func removeAll(since time: Int64) {
    for shard in shards {
      var room = Room(budget: budget)
      shard.state.withLock { state in
        defer { state.compactIfSparse() }
        for index in state.slots.indices where state.slots[index].id != 0 {
          guard state.slots[index].storedAt >= time else { continue }
          let cost = state.slots[index].cost
          room.hold(state.detach(Int32(index)), cost: cost)
        }
      }
      room.close()
    }
  }

  // MARK: Size

  /// Changes the capacity and evicts, turn about, what is above it.
  func setCapacity(_ bytes: Int) {
    capacity.withLock { capacity in
      // A lower capacity is shown only once it is kept.
      if bytes > capacity { capacity = bytes }
      budget.setLimit(bytes)
      while budget.excess > 0 {
        var isEmpty = true
        for shard in shards where budget.excess > 0 {
          var room = Room(budget: budget)
          shard.state.withLock { state in
            defer { state.compactIfSparse() }
            if let (entry, cost) = state.evictOldest() { room.hold(entry, cost: cost) }
          }
          isEmpty = isEmpty && room.held == 0
          room.close()
        }
        // The rest is reserved by inserts that are under way. They wait for nothing; one may yet add its entry.
        if isEmpty { sched_yield() }
      }
      capacity = bytes
    }
  }

  var limit: Int { capacity.withLock { $0 } }
  var bytes: Int { budget.used }
  var count: Int { shards.reduce(0) { $0 + $1.state.withLock { $0.count } } }
  /// Slots that are held, free ones among them.
  var slotCount: Int { shards.reduce(0) { $0 + $1.state.withLock { $0.slots.count } } }
  var hits: Int { shards.reduce(0) { $0 + $1.state.withLock { $0.hits } } }
  var evictions: Int { shards.reduce(0) { $0 + $1.state.withLock { $0.evictions } } }
}

/// The room that one operation is making: bytes that it holds of the budget, and entries to free after the lock.
private struct Room {
  let budget: ByteBudget
  private(set) var held = 0
  /// Nearly always one at the most, which then needs no array.
  private var garbage: PackedEntry?
  private var moreGarbage: [PackedEntry] = []

  init(budget: ByteBudget) {
    self.budget = budget
  }

  mutating func hold(_ entry: PackedEntry, cost: Int) {
    held += cost
    if garbage == nil {
      garbage = entry
    } else {
      moreGarbage.append(entry)
    }
  }

  /// Whether this much is held, after reserving what is missing.
  mutating func secure(_ bytes: Int) -> Bool {
    if held >= bytes { return true }
    guard budget.reserve(bytes - held) else { return false }
    held = bytes
    return true
  }

  mutating func dropGarbage() {
    garbage = nil
    moreGarbage = []
  }

  /// Gives back what is held beyond what the tier now keeps.
  mutating func close(keeping kept: Int = 0) {
    dropGarbage()
    budget.release(held - kept)
    held = 0
  }
}
