// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension CacheStore {
  /// An entry in a listing, without its body.
  package struct ListedEntry: Sendable {
    package let id: EntryID
    package let key: StoreKey
    package let variant: VariantID
    /// The time that the caller gave, in milliseconds since 1970.
    package let storedAt: Int64
    /// The caller's latest opaque bytes.
    package let metadata: [UInt8]
    package let bodyCount: Int
    /// Bytes that it occupies in memory; 0 if it is not there.
    package let memoryBytes: Int
    /// Bytes that it occupies on disk; 0 if it is not there.
    package let diskBytes: Int
  }

  /// A position in a listing of the entries.
  package struct ListPosition: Sendable {
    /// The listing has the entries with lower ids.
    fileprivate let number: UInt64
    fileprivate var slot = 0
    /// The next place in memory, once the disk has been listed.
    fileprivate var inMemory: (shard: Int, tag: UInt32)?
  }

  /// Number of slots of the disk's index for each page: each is a read.
  private static let listedSlots = 256

  /// The position before the first entry.
  package var startOfList: ListPosition { ListPosition(number: upcomingNumber) }

  /// Returns some hundred entries at most, and moves the position behind them. It may block on the disk.
  ///
  /// Entries that are stored and not changed from the start of the listing to its end are listed once: first those on
  /// disk, then those in memory alone. An entry that is written to the disk because its key is pinned meanwhile may be
  /// missing. An entry that was in both tiers, and loses its place on disk, may be listed twice. Entries on disk that cannot
  /// be read are left out. A listing counts neither as a use nor as a lookup, and holds no lock between two calls.
  ///
  /// - Returns: the entries, possibly none; `nil` at the end.
  /// - Complexity: O(entries of the page), with one read for each on disk.
  package func page(at position: inout ListPosition) -> [ListedEntry]? {
    guard isOpen else { return nil }
    if position.inMemory == nil {
      if let heads = disk?.sweeper.listedHeads(
        from: &position.slot, count: Self.listedSlots, before: position.number)
      {
        return heads.map { head in
          let copy = memory.peek(head.key, hash: hasher.hash(head.key)).first { $0.id.rawValue == head.id }
          return ListedEntry(head, memoryBytes: copy?.approximateCost ?? 0)
        }
      }
      position.inMemory = (0, 0)
    }
    guard let (shard, tag) = position.inMemory, shard < memory.shardCount else { return nil }
    var found: [StoredEntry] = []
    let number = position.number
    let next = memory.add(to: &found, inShard: shard, from: tag) { $0.id < number }
    position.inMemory = next.map { (shard, $0) } ?? (shard + 1, 0)
    return found.compactMap { entry in
      let key = entry.storeKey
      if disk?.currentSlot(hash: hasher.hash(key), id: entry.id.rawValue) != nil { return nil }
      return ListedEntry(entry.head(key), memoryBytes: entry.approximateCost)
    }
  }
}

extension CacheStore.ListedEntry {
  fileprivate init(_ head: Sweeper.Head, memoryBytes: Int) {
    (id, key, variant) = (EntryID(rawValue: head.id), head.key, VariantID(rawValue: head.variant))
    (storedAt, metadata) = (head.storedAt, head.metadata)
    (bodyCount, diskBytes) = (head.bodyCount, head.diskBytes)
    self.memoryBytes = memoryBytes
  }
}
