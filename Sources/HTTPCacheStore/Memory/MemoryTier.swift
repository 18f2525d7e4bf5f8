// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CPlatform
import CacheMutex

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The memory tier: shards by the key's hash, with one budget over all of them.
///
/// An insert makes room in its own shard, by the policy of that shard, or in another shard that has an eighth more
/// entries. It evicts a few entries of a shard, and then continues in the next one. So a large entry does not empty its
/// shard, and the shards keep about the same entries as if the policy chose among all. If each insert made all its room
/// in its own shard, a Zipf trace with sizes between 10 bytes and 10 MB would have 50 % misses with LRU in 24 MiB and 8
/// shards, instead of 45 %; with the hyperbolic policy 50 % instead of 21 %.
///
/// An insert never locks two shards at once. Bytes of evicted entries pass to the insert that evicted them without going
/// through the budget. So no other thread can take them, and no insert waits for another. Evicted and replaced entries
/// are freed after the lock.
final class MemoryTier: Sendable {
  /// Why an entry is placed, which decides the entry that it may replace.
  enum Purpose: Equatable {
    /// A new entry. It replaces the entry of its variant unless that is newer.
    case insert
    /// New metadata. It replaces the entry with the same id unless that has newer metadata; otherwise nothing is
    /// changed.
    case update
  }

  /// Number of entries that an insert evicts from a shard before it continues in the next one.
  private static let mostEvictions = 4

  private let shards: MemoryShards
  private let budget: ByteBudget
  /// Blocks of evicted entries, from which new entries are made.
  let spares: SpareBlocks
  private let resizing = Mutex(())
  /// Atomic, because every insert reads it, and a lock would cost 12 ns.
  private let capacity: Atomic<Int>
  private let variantsPerKey: Int
  private let hasDisk: Bool

  init(capacity: Int, shardCount: Int?, policy: EvictionPolicy, variantsPerKey: Int, hasDisk: Bool) {
    shards = MemoryShards(
      count: shardCount ?? Self.defaultShardCount(capacity: capacity), policy: policy)
    budget = ByteBudget(limit: capacity)
    spares = SpareBlocks(capacity: capacity)
    self.capacity = Atomic(capacity)
    self.variantsPerKey = variantsPerKey
    self.hasDisk = hasDisk
  }

  /// Returns the default number of shards: one per 4 MiB, at most 64. Each shard has its own eviction order, so shards
  /// with few entries would cost hits.
  static func defaultShardCount(capacity: Int) -> Int {
    var count = 1
    while count < 64, count * 2 <= capacity >> 22 { count *= 2 }
    return count
  }

  /// The half of a hash by which a shard's table knows a key; the other half chooses the shard.
  @inline(__always)
  private func tag(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash) }

  // MARK: Finding

  /// Returns the entries of a key in memory, each counted as used.
  @inline(__always)
  func entries(for key: UnsafeRawBufferPointer, hash: UInt64) -> ResidentLookup {
    let found = shards.withLock(hash) { state in
      let found = state.use(key, tag: tag(hash))
      // With a disk, it is not yet known whether this is a miss.
      if !hasDisk, found.entry == nil, !found.hasSeveral { state.countMiss() }
      return found
    }
    if let entry = found.entry {
      return ResidentLookup(
        entries: StoredEntries(StoredEntry(entry.take(), tier: .memory)),
        isComplete: !hasDisk || found.isComplete)
    }
    if found.hasSeveral { return severalEntries(for: key, hash: hash) }
    return ResidentLookup(entries: StoredEntries(), isComplete: !hasDisk)
  }

  /// Handles a tag that several entries have: variants, or other keys.
  @inline(never)
  private func severalEntries(for key: UnsafeRawBufferPointer, hash: UInt64) -> ResidentLookup {
    shards.withLock(hash) { state in
      guard let (entries, isComplete) = state.useAny(key, tag: tag(hash)) else {
        if !hasDisk { state.countMiss() }
        return ResidentLookup(entries: StoredEntries(), isComplete: !hasDisk)
      }
      return ResidentLookup(entries: entries, isComplete: !hasDisk || isComplete)
    }
  }

  /// Calls `work` with a shard and the places of a key in it.
  private func withVariants<Result: Sendable>(
    _ key: StoreKey, _ hash: UInt64, _ work: (inout MemoryShardState, Variants) -> Result
  ) -> Result {
    key.bytes.withUnsafeBytes { bytes in
      shards.withLock(hash) { state in
        let variants = state.variants(of: bytes, tag: tag(hash))
        return work(&state, variants)
      }
    }
  }

  /// Returns the entries of a key in memory, without counting them as used.
  func peek(_ key: StoreKey, hash: UInt64) -> [StoredEntry] {
    withVariants(key, hash) { state, variants in
      variants.compactMap { state.entry($0).map { StoredEntry($0, tier: .memory) } }
    }
  }

  /// Records that memory holds all variants of a key, if it holds these and nothing changed since.
  func markComplete(_ key: StoreKey, hash: UInt64, ids: [UInt64], unless isStale: () -> Bool) {
    withVariants(key, hash) { state, variants in
      guard !isStale() else { return }
      let held = Set(variants.compactMap { state.head($0)?.id })
      if held.isSuperset(of: ids) { state.setComplete(variants, true) }
    }
  }

  /// Records that the store has variants of a key that memory does not hold.
  func markIncomplete(_ key: StoreKey, hash: UInt64) {
    withVariants(key, hash) { state, variants in state.setComplete(variants, false) }
  }

  // MARK: Adding

  /// Prefetches the place of an entry with this hash. Best called before the entry is put together.
  @inline(__always)
  func prepare(_ hash: UInt64) { shards.prefetch(hash, tag: tag(hash)) }

  /// Adds or replaces an entry.
  ///
  /// - Parameters:
  ///   - new: the entry; the tier takes over its reference.
  ///   - isComplete: whether the store has no other variant; called under the shard's lock if the key is new to memory.
  ///   - objection: called under the shard's lock, where an earlier removal is visible.
  /// - Returns: why the entry was not placed; `nil` if it was.
  func place(
    _ new: EntryReference, key: StoreKey, hash: UInt64, purpose: Purpose = .insert,
    isComplete: () -> Bool = { false }, objection: () -> RefusalReason? = { nil }
  ) -> RefusalReason? {
    let cost = shards.cost(of: new)
    guard cost <= limit else {
      new.release()
      return .tooLargeForMemory
    }
    var room = Room(budget: budget, spares: spares)
    // Bytes that another thread has reserved but not yet used cannot be evicted; a moment later they can.
    for _ in 0..<4 {
      let result = key.bytes.withUnsafeBytes { key in
        shards.change(number: shards.number(of: hash)) { state in
          switch purpose {
          case .insert:
            return insert(
              new, cost: cost, key: key, hash: hash, room: &room, state: &state, isComplete: isComplete,
              objection: objection)
          case .update:
            if let reason = objection() { return .refused(reason) }
            let variants = state.variants(of: key, tag: tag(hash))
            return update(
              new, cost: cost, hash: hash, variants: variants, room: &room, state: &state)
          }
        }
      }
      room.dropGarbage()
      switch result {
      case .placed:
        room.close(keeping: cost)
        return nil
      case .refused(let reason):
        room.close()
        new.release()
        return reason
      case .needsRoom(let bytes):
        evict(from: otherShard(hash), need: bytes, room: &room)
      }
    }
    room.close()
    new.release()
    return .noRoom
  }

  private enum Attempt: Sendable {
    case placed
    case refused(RefusalReason)
    /// The room needs this many bytes, and other shards must evict entries for it.
    case needsRoom(Int)
  }

  @inline(__always)
  private func insert(
    _ new: EntryReference, cost: Int, key: UnsafeRawBufferPointer, hash: UInt64, room: inout Room,
    state: inout MemoryShardState, isComplete: () -> Bool, objection: () -> RefusalReason?
  ) -> Attempt {
    if let reason = objection() { return .refused(reason) }
    let tag = tag(hash)
    state.prepare(tag)
    let variants = state.variants(of: key, tag: tag)
    if !variants.isEmpty {
      let (id, variant) = (new.head.id, new.head.variant)
      if let same = variants.first(where: { state.head($0)?.variant == variant }) {
        guard state.head(same).map({ $0.id < id }) ?? false else { return .refused(.superseded) }
        if variants.count == 1 { state.setComplete(variants, isComplete()) }
        return replace(same, with: new, cost: cost, hash: hash, room: &room, state: &state)
      }
      if variants.count >= variantsPerKey { room.hold(state.evict(variants.last)) }
    }
    var share: Int?
    while !room.secure(cost) {
      let rest = share ?? self.share(ofOwn: state.count, hash)
      guard rest > 0, let evicted = state.evictNext() else { return .needsRoom(cost) }
      room.hold(evicted)
      share = rest - 1
    }
    // Evaluated only now: the eviction may have removed another variant.
    let siblings = variants.isEmpty ? variants : state.variants(of: key, tag: tag)
    let mark = siblings.isEmpty ? isComplete() : state.isComplete(siblings.first)
    state.add(new, tag: tag, cost: cost, isComplete: mark)
    return .placed
  }

  /// Replaces an entry by the same entry with newer metadata.
  private func update(
    _ new: EntryReference, cost: Int, hash: UInt64, variants: Variants, room: inout Room,
    state: inout MemoryShardState
  ) -> Attempt {
    let (id, revision) = (new.head.id, new.head.revision)
    guard let same = variants.first(where: { state.head($0)?.id == id }),
      state.head(same).map({ $0.revision < revision }) ?? false
    else { return .refused(.superseded) }
    return replace(same, with: new, cost: cost, hash: hash, room: &room, state: &state)
  }

  /// Replaces an entry by another.
  ///
  /// The old entry stays until there is room in this shard. It is never absent while the shard is unlocked, because a
  /// removal would then miss it. If all shards must evict for it, it may be evicted too: an update is then refused.
  private func replace(
    _ position: Int, with new: EntryReference, cost: Int, hash: UInt64, room: inout Room,
    state: inout MemoryShardState
  ) -> Attempt {
    var kept: Int? = position
    let missing = cost - state.cost(position)
    var share: Int?
    while !room.secure(missing) {
      let rest = share ?? self.share(ofOwn: state.count, hash)
      guard rest > 0, let evicted = state.evictNext(keeping: &kept) else { return .needsRoom(missing) }
      room.hold(evicted)
      share = rest - 1
    }
    room.hold(state.replace(kept ?? position, with: new, cost: cost))
    return .placed
  }

  /// Returns the shard that an insert compares with its own; sometimes it is the same.
  private func otherShard(_ hash: UInt64) -> Int {
    Int(truncatingIfNeeded: hash) & (shards.count - 1)
  }

  /// Returns the number of entries that one insert evicts from its own shard, which has `count` entries.
  private func share(ofOwn count: Int, _ hash: UInt64) -> Int {
    guard shards.count > 1 else { return .max }
    return shards.entryCount(number: otherShard(hash)) * 8 > count * 9 ? 0 : Self.mostEvictions
  }

  /// Evicts from all shards in turn, until the room owns the bytes or nothing is left.
  private func evict(from first: Int, need: Int, room: inout Room) {
    var isEmpty = false
    while room.held < need, !isEmpty {
      isEmpty = true
      for step in 0..<shards.count where room.held < need {
        shards.change(number: (first + step) & (shards.count - 1)) { state in
          for _ in 0..<Self.mostEvictions {
            guard !room.secure(need), let evicted = state.evictNext() else { return }
            room.hold(evicted)
            isEmpty = false
          }
        }
        room.dropGarbage()
      }
    }
  }

  /// Replaces the metadata of the entry with this id. Returns `false` if memory does not hold it.
  ///
  /// - Parameter isKeptOut: called under the shard's lock.
  func updateMetadata(
    of id: UInt64, key: StoreKey, hash: UInt64, metadata: [UInt8], storedAt: Int64, revision: UInt64,
    unless isKeptOut: () -> Bool = { false }
  ) -> Bool {
    let old = withVariants(key, hash) { state, variants in
      variants.first { state.head($0)?.id == id }.flatMap { state.entry($0) }
    }
    guard let old else { return false }
    let new = metadata.withUnsafeBytes {
      old.replacingMetadata($0, storedAt: storedAt, revision: revision)
    }
    let refusal = place(
      EntryReference(new), key: key, hash: hash, purpose: .update,
      objection: { isKeptOut() ? .superseded : nil })
    if let refusal, refusal != .superseded {
      remove(key, hash: hash, variant: new.variant, olderThan: id + 1)
      markIncomplete(key, hash: hash)
    }
    return refusal == nil
  }

  // MARK: Removing

  /// Removes one variant of a key, or all variants; only entries older than `id`, if it is given.
  ///
  /// - Returns: the ids of the entries.
  @discardableResult
  func remove(
    _ key: StoreKey, hash: UInt64, variant: VariantID? = nil, olderThan id: UInt64 = .max
  ) -> [UInt64] {
    var room = Room(budget: budget, spares: spares)
    let removed = key.bytes.withUnsafeBytes { key in
      shards.change(number: shards.number(of: hash)) { state in
        let found = state.variants(of: key, tag: tag(hash)).filter { position in
          guard let head = state.head(position) else { return false }
          return (variant == nil || head.variant == variant?.rawValue) && head.id < id
        }
        let ids = found.compactMap { state.head($0)?.id }
        // The last place first: a removal then leaves the places before it unchanged.
        for position in found.sorted(by: >) { room.hold(state.detach(position)) }
        return ids
      }
    }
    room.close()
    return removed
  }

  var shardCount: Int { shards.count }

  /// Returns the entries of a shard that are meant. They do not count as used.
  ///
  /// An entry that is in the shard all the while is found. The lock is released after some hundred entries each.
  ///
  /// - Parameter isMeant: called under the shard's lock.
  func entries(inShard number: Int, where isMeant: (EntryHead) -> Bool = { _ in true }) -> [StoredEntry] {
    var found: [StoredEntry] = []
    var next: UInt32? = 0
    while let tag = next { next = add(to: &found, inShard: number, from: tag, where: isMeant) }
    return found
  }

  /// Adds some hundred entries of a shard, in the order of their tags.
  ///
  /// - Returns: the tag to continue with; `nil` at the end of the shard.
  func add(
    to found: inout [StoredEntry], inShard number: Int, from tag: UInt32,
    where isMeant: (EntryHead) -> Bool
  ) -> UInt32? {
    shards.withLock(number: number) { $0.collect(into: &found, from: tag, where: isMeant) }
  }

  func removeAll() {
    givingBack {
      // A lower capacity would wait for the bytes of entries that are in no shard any more.
      resizing.withLock { _ in
        var emptied = EmptiedShards()
        for number in 0..<shards.count {
          emptied.add(shards.removeAll(number: number))
          // The first at once, so that inserts find room while the others are sorted.
          if number == 0 { emptied.release(cost: shards.cost, budget.release) }
        }
        emptied.release(cost: shards.cost, budget.release)
      }
      spares.removeAll()
    }
  }

  func removeAll(since time: Int64) {
    givingBack {
      for number in 0..<shards.count {
        var room = Room(budget: budget, spares: spares)
        shards.change(number: number) { state in
          for position in state.positions(since: time) { room.hold(state.detach(position)) }
        }
        room.close()
      }
    }
  }

  /// Removes entries, and then returns free memory to the system if there is much less in use. Otherwise nearly all of it
  /// would stay with the process: glibc returns only the memory at the end of its heaps.
  func givingBack<Result>(_ remove: () -> Result) -> Result {
    let before = bytes
    defer { if before - bytes >= Self.worthGivingBack { store_give_back_memory() } }
    return remove()
  }
  private static let worthGivingBack = 8 << 20

  // MARK: Size

  /// Changes the capacity, and evicts the excess from the shards in turn.
  func setCapacity(_ bytes: Int) {
    givingBack {
      resizing.withLock { _ in
        // A lower capacity is published only once it is met.
        if bytes > limit { capacity.store(bytes, ordering: .sequentiallyConsistent) }
        budget.setLimit(bytes)
        while budget.excess > 0 {
          var isEmpty = true
          for number in 0..<shards.count where budget.excess > 0 {
            var room = Room(budget: budget, spares: spares)
            shards.change(number: number) { state in room.hold(state.evictNext()) }
            isEmpty = isEmpty && room.held == 0
            room.close()
          }
          // The rest is reserved by inserts in progress. They wait for nothing; one of them may still add its entry.
          if isEmpty { sched_yield() }
        }
        capacity.store(bytes, ordering: .sequentiallyConsistent)
        spares.setCapacity(bytes)
      }
    }
  }

  var limit: Int { capacity.load(ordering: .sequentiallyConsistent) }
  var bytes: Int { budget.used }
  var count: Int { shards.entryCount }
  /// Number of places in the tables, including free ones.
  var placeCount: Int { sum { $0.placeCount } }
  /// The greatest mean displacement of a shard: see ``EntryTable/meanDisplacement``.
  var meanDisplacement: Double {
    (0..<shards.count).reduce(0) { most, number in
      max(most, shards.withLock(number: number) { $0.meanDisplacement })
    }
  }
  var hits: Int { sum { $0.hits } }
  /// Lookups that found nothing, in a store without a disk.
  var misses: Int { sum { $0.misses } }
  var evictions: Int { shards.evictions }

  private func sum(_ value: (borrowing MemoryShardState) -> Int) -> Int {
    (0..<shards.count).reduce(0) { sum, number in sum + shards.withLock(number: number) { value($0) } }
  }
}
