// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Synchronization

/// One part of memory. Everything in it happens under its one lock.
struct MemoryShard: ~Copyable {
  let state: Mutex<MemoryShardState>
  let hint = TableHint()
  /// Copies of ``MemoryShardState/count`` and ``MemoryShardState/evictions`` that are read without the lock.
  let shownCount = Atomic<Int>(0)
  let shownEvictions = Atomic<Int>(0)

  init(policy: EvictionPolicy) {
    state = Mutex(MemoryShardState(policy: policy))
  }
}

/// The entries of a shard: a table of them, and the order of their eviction.
///
/// A position is valid until the next insert or removal.
struct MemoryShardState: ~Copyable, Sendable {
  private var table = EntryTable()
  private var order: EvictionOrder
  private(set) var hits = 0
  private(set) var misses = 0
  private(set) var evictions = 0

  init(policy: EvictionPolicy) {
    order = EvictionOrder(policy)
  }

  var count: Int { table.count }
  /// Number of places in the table, including free ones.
  var placeCount: Int { table.length }
  /// See ``EntryTable/meanDisplacement``.
  var meanDisplacement: Double { table.meanDisplacement }

  // MARK: Finding

  /// The result of a search for the only entry of a key. It consists of words only, so that returning it costs nothing.
  struct Use {
    /// The entry, counted as used, with a reference that the caller owns.
    var entry: EntryReference?
    /// Whether memory holds all of the key's variants.
    var isComplete = false
    /// Whether several entries have the tag: ``useAny(_:tag:)`` then finds the entries of the key.
    var hasSeveral = false
  }

  /// Returns the entry of a key that has only one.
  @inline(__always)
  mutating func use(_ key: UnsafeRawBufferPointer, tag: UInt32) -> Use {
    let position = table.only(tag)
    guard position >= 0, let entry = table[position] else { return Use(hasSeveral: position == -2) }
    entry.prefetch(keyCount: key.count)
    guard entry.head.hasKey(key) else { return Use() }
    order.use(position, in: &table)
    hits &+= 1
    entry.retain()
    return Use(entry: entry, isComplete: table.standing(position).isComplete)
  }

  /// Returns the entries of a key, newest first, and whether they are all that the store has. Counts each as used.
  mutating func useAny(
    _ key: UnsafeRawBufferPointer, tag: UInt32
  ) -> (entries: StoredEntries, isComplete: Bool)? {
    let found = variants(of: key, tag: tag)
    guard !found.isEmpty else { return nil }
    hits += 1
    var entries = StoredEntries()
    for position in found {
      order.use(position, in: &table)
      if let entry = entry(position) { entries.append(StoredEntry(entry, tier: .memory)) }
    }
    return (entries, table.standing(found.first).isComplete)
  }

  mutating func countMiss() { misses &+= 1 }

  private func variants(of run: EntryTable.Run, _ key: UnsafeRawBufferPointer) -> Variants {
    var found = Variants()
    for position in run where table[position]?.head.hasKey(key) ?? false { found.append(position) }
    if found.count > 1 { found.sort { (head($0)?.id ?? 0) > (head($1)?.id ?? 0) } }
    return found
  }

  /// Returns the places of a key's variants, the one with the greatest id first.
  func variants(of key: UnsafeRawBufferPointer, tag: UInt32) -> Variants {
    let run = table.run(of: tag)
    return run.isEmpty ? Variants() : variants(of: run, key)
  }

  func entry(_ position: Int) -> EntryBlock? { table[position]?.entry }

  /// The head of an entry, valid until the entry is removed.
  func head(_ position: Int) -> EntryHead? { table[position]?.head }

  func cost(_ position: Int) -> Int { table[position].map { order.policy.cost(of: $0) } ?? 0 }

  func isComplete(_ position: Int) -> Bool { table.standing(position).isComplete }

  /// Sets the mark of all variants of a key.
  mutating func setComplete(_ variants: Variants, _ isComplete: Bool) {
    for position in variants {
      var standing = table.standing(position)
      standing.isComplete = isComplete
      table.setStanding(position, standing)
    }
  }

  @inline(__always)
  func note(in hint: borrowing TableHint) { hint.note(table) }

  // MARK: Adding and removing

  /// Prefetches what ``add(_:tag:cost:isComplete:)`` needs, before room is made for the entry.
  @inline(__always)
  func prepare(_ tag: UInt32) { order.prepare(tag) }

  /// Adds an entry as just used. The table takes over the reference.
  mutating func add(_ entry: EntryReference, tag: UInt32, cost: Int, isComplete: Bool) {
    var standing = order.add(tag: tag, cost: cost, in: &table)
    standing.isComplete = isComplete
    table.insert(entry, tag: tag, standing: standing)
  }

  /// Replaces an entry by another of the same key and variant, and counts it as used. The table takes over the
  /// reference; the caller releases the old entry after the lock.
  mutating func replace(_ position: Int, with entry: EntryReference, cost: Int) -> Detached? {
    guard let old = table.replace(position, with: entry) else { return nil }
    let oldCost = order.policy.cost(of: old)
    order.replace(position, cost: oldCost, by: cost, in: &table)
    return Detached(entry: old, cost: oldCost)
  }

  /// Removes an entry. The caller releases it after the lock.
  mutating func detach(_ position: Int) -> Detached? {
    var none: Int?
    return detach(position, isEvicted: false, keeping: &none)
  }

  private mutating func detach(_ position: Int, isEvicted: Bool, keeping kept: inout Int?) -> Detached? {
    guard let entry = table[position] else { return nil }
    let cost = order.policy.cost(of: entry)
    order.remove(position, cost: cost, isEvicted: isEvicted, in: &table)
    let moved = table.remove(position).moved
    if let old = kept, moved.contains(old - 1) { kept = old - 1 }
    return Detached(entry: entry, cost: cost)
  }

  /// Removes the next victim, to make room; `nil` if there is none left.
  mutating func evictNext() -> Detached? {
    var none: Int?
    return evictNext(keeping: &none)
  }

  /// Removes the next victim except one entry, whose place may change; `nil` if there is no other.
  mutating func evictNext(keeping kept: inout Int?) -> Detached? {
    guard let position = order.victim(except: kept, in: &table) else { return nil }
    let standing = table.standing(position)
    let evicted = evict(position, keeping: &kept)
    order.prepareNext(after: standing, in: table)?.prefetchHeader()
    return evicted
  }

  /// Removes an entry to make room; the remaining variants of its key are no longer complete.
  mutating func evict(_ position: Int) -> Detached? {
    var none: Int?
    return evict(position, keeping: &none)
  }

  private mutating func evict(_ position: Int, keeping kept: inout Int?) -> Detached? {
    let tag = table.tag(position)
    guard let evicted = detach(position, isEvicted: true, keeping: &kept) else { return nil }
    evictions += 1
    let run = table.run(of: tag)
    if !run.isEmpty { setComplete(variants(of: run, evicted.entry.head.key), false) }
    return evicted
  }

  /// Collects entries that are meant, from a tag on, in some hundred places: see ``EntryTable/visit(from:placeCount:_:)``.
  func collect(
    into found: inout [StoredEntry], from tag: UInt32, where isMeant: (EntryHead) -> Bool
  ) -> UInt32? {
    table.visit(from: tag, placeCount: 256) { entry in
      if isMeant(entry.head) { found.append(StoredEntry(entry.entry, tier: .memory)) }
    }
  }

  /// Returns the entries stored at or after a time, last place first, so that a removal leaves the others in place.
  func positions(since time: Int64) -> [Int] {
    (0..<table.length).reversed().filter { position in head(position).map { $0.storedAt >= time } ?? false }
  }

  /// Removes everything. The caller releases it after the lock.
  mutating func removeAll(into all: inout EntryTable) {
    swap(&all, &table)
    order.removeAll()
  }

  /// Releases the memory of free places, if they are half of the table and worth it.
  ///
  /// A removed entry returns its share of the table to the budget. If the table kept its greatest size, many small
  /// entries and then a few large ones would occupy more than the capacity. Call it last: entries change places.
  ///
  /// - Complexity: O(places), but only after half of the entries were removed.
  @inline(__always)
  mutating func compactIfSparse() {
    if table.isSparse { table.compact() }
  }
}

/// The address of a shard's table, so that an insert can prefetch the place of its key before it takes the lock. The
/// place has arrived by the time the entry has been put together. Storing an existing entry again takes 15 % less time
/// with it, and an insert that evicts 8 % less.
///
/// The words are written under the shard's lock and read without it, each by itself. They may be outdated when they are
/// read, and the memory may be reused or free. It is only prefetched, never accessed, so this does no harm.
struct TableHint: ~Copyable, Sendable {
  private let places = Atomic<UInt>(0)
  private let size = Atomic<UInt64>(0)

  @inline(__always)
  func note(_ table: borrowing EntryTable) {
    let (places, size) = table.layout
    self.places.store(UInt(bitPattern: places), ordering: .relaxed)
    self.size.store(size, ordering: .relaxed)
  }

  /// Prefetches the first places of a tag.
  @inline(__always)
  func prefetch(_ tag: UInt32) {
    guard let places = UnsafeRawPointer(bitPattern: places.load(ordering: .relaxed)) else { return }
    EntryTable.prefetch(tag, size: size.load(ordering: .relaxed), in: places)
  }
}
