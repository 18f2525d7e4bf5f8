// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The order in which the entries of a shard are evicted, by its policy: ``LRU``, ``S3FIFO`` or ``Hyperbolic``.
///
/// Each policy has the methods below that it needs, and this is the only place that selects among them.
// A stored property for each policy, of which one is used: an enum would move its payload out and in again for each
// change.
struct EvictionOrder {
  let policy: EvictionPolicy
  private var lru = LRU()
  private var s3fifo = S3FIFO()
  private var hyperbolic = Hyperbolic()

  init(_ policy: EvictionPolicy) {
    self.policy = policy
  }

  /// Counts a use of an entry.
  @inline(__always)
  mutating func use(_ position: Int, in table: inout EntryTable) {
    switch policy.kind {
    case .lru: lru.use(position, in: &table)
    case .s3fifo: S3FIFO.use(position, in: &table)
    case .hyperbolic: hyperbolic.use(position, in: &table)
    }
  }

  /// Prefetches what ``add(tag:cost:in:)`` needs.
  @inline(__always)
  func prepare(_ tag: UInt32) {
    if policy == .s3fifo { s3fifo.prepare(tag) }
  }

  /// Returns the standing of an entry that will be added.
  mutating func add(tag: UInt32, cost: Int, in table: inout EntryTable) -> Standing {
    switch policy.kind {
    case .lru: lru.add(in: &table)
    case .s3fifo: s3fifo.add(tag: tag, cost: cost)
    case .hyperbolic: hyperbolic.add(cost: cost, in: &table)
    }
  }

  /// Removes an entry from the order, before it is removed from the table.
  mutating func remove(_ position: Int, cost: Int, isEvicted: Bool, in table: inout EntryTable) {
    if policy == .s3fifo { s3fifo.remove(position, cost: cost, isEvicted: isEvicted, in: &table) }
  }

  /// Replaces the cost of an entry that stays in place, and counts a use.
  mutating func replace(_ position: Int, cost: Int, by newCost: Int, in table: inout EntryTable) {
    switch policy.kind {
    case .lru: break
    case .s3fifo: s3fifo.replace(position, cost: cost, by: newCost, in: table)
    case .hyperbolic: Hyperbolic.replace(position, by: newCost, in: &table)
    }
    use(position, in: &table)
  }

  /// Returns the entry to evict next, which stays until it is removed; `nil` if the excepted entry is the only one.
  mutating func victim(except kept: Int?, in table: inout EntryTable) -> Int? {
    guard table.count > (kept == nil ? 0 : 1) else { return nil }
    return switch policy.kind {
    case .lru: lru.victim(except: kept, in: table)
    case .s3fifo: s3fifo.victim(except: kept, in: &table)
    case .hyperbolic: hyperbolic.victim(except: kept, in: table)
    }
  }

  /// Selects the next victim, so that its memory can be prefetched until then.
  ///
  /// An eviction reads the cost of the entry, and then releases it. Without the prefetch it waited for that memory,
  /// which was unused for long, for a third of the time of an insert.
  ///
  /// - Parameter evicted: the standing of the entry just evicted. S3-FIFO nearly always takes the next from the same
  ///   queue.
  mutating func prepareNext(after evicted: Standing, in table: borrowing EntryTable) -> EntryReference? {
    switch policy.kind {
    case .lru: lru.prepareNext(in: table)
    case .s3fifo: s3fifo.prepareNext(after: evicted, in: table)
    case .hyperbolic: hyperbolic.prepareNext(in: table)
    }
  }

  mutating func removeAll() {
    self = EvictionOrder(policy)
  }
}

extension EvictionPolicy {
  /// Returns the bytes that an entry occupies, including its share of the policy's data.
  func cost(of entry: EntryBlock) -> Int { entry.cost + share }

  /// Returns the same cost for an entry that a table owns.
  @inline(__always)
  func cost(of entry: EntryReference) -> Int { entry.cost + share }

  @inline(__always)
  private var share: Int { self == .s3fifo ? S3FIFO.bytesPerEntry : 0 }
}
