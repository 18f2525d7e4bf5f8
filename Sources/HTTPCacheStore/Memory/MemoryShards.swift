// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// The shards of memory, chosen by the upper bits of a key's hash.
///
/// They are at least two cache lines apart. So the locks of two shards never share a line, nor the pair of lines that
/// processors fetch together.
// Unchecked because of the pointer, which lets a hit reach a shard without counting a reference to it. The pointer is
// set once, and is freed with this object. Other code reaches its target only through the shards' locks.
final class MemoryShards: @unchecked Sendable {
  private static let alignment = 128

  let count: Int
  private let policy: EvictionPolicy
  private let memory: UnsafeMutableRawPointer
  private let stride: Int
  private let shift: UInt64

  /// - Parameter count: a power of two.
  init(count: Int, policy: EvictionPolicy) {
    self.count = count
    self.policy = policy
    stride = (MemoryLayout<MemoryShard>.stride + Self.alignment - 1) & ~(Self.alignment - 1)
    shift = UInt64(64 - count.trailingZeroBitCount)
    memory = .allocate(byteCount: stride * count, alignment: Self.alignment)
    for number in 0..<count {
      shard(number).initialize(to: MemoryShard(policy: policy))
    }
  }

  deinit {
    for number in 0..<count { shard(number).deinitialize(count: 1) }
    memory.deallocate()
  }

  @inline(__always)
  private func shard(_ number: Int) -> UnsafeMutablePointer<MemoryShard> {
    (memory + number &* stride).assumingMemoryBound(to: MemoryShard.self)
  }

  @inline(__always)
  func number(of hash: UInt64) -> Int {
    // A smart shift: with one shard it shifts everything out.
    Int(truncatingIfNeeded: hash >> shift)
  }

  @inline(__always)
  func withLock<Result: Sendable>(_ hash: UInt64, _ work: (inout MemoryShardState) -> Result) -> Result {
    withLock(number: number(of: hash), work)
  }

  @inline(__always)
  func withLock<Result: Sendable>(number: Int, _ work: (inout MemoryShardState) -> Result) -> Result {
    shard(number).pointee.state.withLock { work(&$0) }
  }

  /// Adds to a shard, or removes from it, under its lock. Then publishes the address of its table and its number of
  /// entries, which costs only two stores to a line that is in the cache.
  @inline(__always)
  func change<Result: Sendable>(number: Int, _ work: (inout MemoryShardState) -> Result) -> Result {
    let shard = shard(number)
    return shard.pointee.state.withLock { state in
      let result = work(&state)
      state.compactIfSparse()
      state.note(in: shard.pointee.hint)
      shard.pointee.shownCount.store(state.count, ordering: .relaxed)
      shard.pointee.shownEvictions.store(state.evictions, ordering: .relaxed)
      return result
    }
  }

  /// Number of entries in all shards. It takes no lock, so that metrics can read it after each insert.
  var entryCount: Int { (0..<count).reduce(0) { $0 + shard($1).pointee.shownCount.value } }

  /// Number of entries in one shard. It takes no lock.
  func entryCount(number: Int) -> Int { shard(number).pointee.shownCount.value }

  /// Number of evictions of all shards. It takes no lock.
  var evictions: Int { (0..<count).reduce(0) { $0 + shard($1).pointee.shownEvictions.value } }

  /// Prefetches the place of a tag.
  @inline(__always)
  func prefetch(_ hash: UInt64, tag: UInt32) { shard(number(of: hash)).pointee.hint.prefetch(tag) }

  @inline(__always)
  func cost(of entry: EntryReference) -> Int { policy.cost(of: entry) }

  /// Empties a shard, and returns what was in it.
  func removeAll(number: Int) -> EntryTable {
    var all = EntryTable()
    change(number: number) { $0.removeAll(into: &all) }
    return all
  }
}
