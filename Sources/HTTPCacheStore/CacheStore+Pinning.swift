// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

extension CacheStore {
  /// Pins a key: its entries are not evicted from the disk.
  ///
  /// The pin belongs to the key, not to an entry. All variants that are stored now or later are pinned, so the pin
  /// stays when an entry is replaced. An entry that only memory holds is written to the disk. If the key has no entry,
  /// those that follow are pinned. The entries may be evicted from memory: a lookup finds them on disk.
  ///
  /// A pin only stops eviction. Removals, sweeps and marks concern pinned entries like all others, and leave the pin,
  /// with two exceptions: ``remove(_:)-(StoreKey)`` and ``removeAll()`` also remove pins. At most
  /// ``StoreCapacity/pinned`` bytes can be pinned. An insert or update that would exceed them takes effect, but the entry
  /// is not pinned; then ``PinnedKey/isProtected`` is `false`, until room is found for it and the key is pinned again.
  /// Inserts of other keys are refused before a pinned entry is evicted. Three things can cost pinned entries: a lowered
  /// capacity, a disk that is too full for a removal, and damage.
  ///
  /// The call blocks until the pin, and the entries of the key, would survive a crash (see ``Configuration/sync``).
  /// Pinning a key again has no effect, except on entries that are not pinned.
  ///
  /// - Parameter key: the resource.
  /// - Throws: ``StoreError`` with one of these codes; the key is then as before:
  ///   - `noDisk`: the store has no disk, or its capacity is 0;
  ///   - `pinLimit`: the entries would exceed ``StoreCapacity/pinned``, or the list of keys 1/64 of the disk's capacity;
  ///   - `noRoom`: entries that are being written fill the disk;
  ///   - `inputOutput`: the disk failed;
  ///   - `closed`: the store is closed.
  /// - Complexity: O(pinned keys): a file with all of them is written. The first pin may also evict the oldest entries,
  ///   to make room for carrying pinned entries forward.
  public func pin(_ key: StoreKey) throws(StoreError) {
    guard isOpen else { throw StoreError(.closed) }
    guard let disk, usesDisk else { throw StoreError(.noDisk) }
    let hash = hasher.hash(key)
    let start = removalToken(for: key)
    let wasPinned = disk.pinning.isPinned(key, hash: hash)
    let inMemory = entriesInMemoryOnly(key, hash: hash, disk)
    let evicted = try disk.pinning.pin(key, hash: hash, adding: inMemory.reduce(0) { $0 + $1.diskCost(key) })
    do throws(StoreError) {
      try writeToDisk(key, hash: hash, evicted: evicted, since: start, disk)
      guard disk.pinning.areEntriesPinned(hash) else {
        let (used, needed) = (usage.pinnedBytes, evicted.reduce(0) { $0 + $1.diskCost(key) })
        throw StoreError(.pinLimit(key: key, needed: needed, used: used, limit: disk.pinning.limit))
      }
      try disk.pinning.sync()
    } catch {
      if !wasPinned { _ = try? disk.pinning.unpin(key, hash: hash) }
      throw error
    }
  }

  /// Unpins a key. Its entries stay until they are evicted.
  ///
  /// The call blocks until the change would survive a crash (see ``Configuration/sync``).
  ///
  /// - Parameter key: the resource.
  /// - Returns: whether the key was pinned.
  /// - Throws: ``StoreError`` if the disk failed. The key is then unpinned, but may be pinned again when the directory
  ///   is opened the next time.
  /// - Complexity: O(pinned keys).
  @discardableResult
  public func unpin(_ key: StoreKey) throws(StoreError) -> Bool {
    try disk?.pinning.unpin(key, hash: hasher.hash(key)) ?? false
  }

  /// Unpins some keys, with a single write. If the disk fails, they may be pinned again when the directory is opened the
  /// next time.
  package func unpin(where isMeant: (StoreKey) -> Bool) { disk?.pinning.unpin(where: isMeant) }

  /// Whether a key is pinned.
  ///
  /// - Complexity: O(1) on average.
  public func isPinned(_ key: StoreKey) -> Bool {
    disk?.pinning.isPinned(key, hash: hasher.hash(key)) ?? false
  }

  /// The pinned keys, in the order in which they were pinned, and what they occupy.
  ///
  /// - Complexity: O(pinned keys).
  public var pinned: [PinnedKey] { disk?.pinning.pinned ?? [] }

  // MARK: Entries that only memory holds

  private func entriesInMemoryOnly(_ key: StoreKey, hash: UInt64, _ disk: DiskTier) -> [StoredEntry] {
    memory.peek(key, hash: hash).filter { isInMemoryOnly($0, hash: hash, disk) }
  }

  private func isInMemoryOnly(_ entry: StoredEntry, hash: UInt64, _ disk: DiskTier) -> Bool {
    // Memory may also hold an older entry, which it had no room to replace.
    disk.candidate(for: hash, variant: entry.variant.rawValue).map { $0.id < entry.id.rawValue } ?? true
  }

  /// Writes entries to the disk that only memory holds, or that were evicted from the disk just now.
  private func writeToDisk(
    _ key: StoreKey, hash: UInt64, evicted: [StoredEntry], since start: RemovalToken, _ disk: DiskTier
  ) throws(StoreError) {
    for entry in evicted {
      let moment = changes.moment(for: hash)
      let inMemory = memory.peek(key, hash: hash)
      guard isInMemoryOnly(entry, hash: hash, disk),
        !inMemory.contains(where: { $0.variant == entry.variant })
      else { continue }
      try writeToDisk(entry, key: key, hash: hash, since: moment, start, disk)
    }
    // After each attempt, an entry is on disk, or was changed meanwhile and is looked at again.
    for _ in 0..<configuration.variantsPerKey + 16 {
      let (moment, token) = (changes.moment(for: hash), removalToken(for: key))
      guard let entry = entriesInMemoryOnly(key, hash: hash, disk).first else { return }
      try writeToDisk(entry, key: key, hash: hash, since: moment, token, disk)
    }
    throw StoreError(.noRoomToPin(key: key))
  }

  /// Writes an entry to the disk, with its id: marks and removals know it by that.
  ///
  /// A concurrent update of its metadata comes before or after: both take the lock of the key. A concurrent sweep finds
  /// the entry in memory, and knows from `Sweeps` that it was not on disk when the sweep was there. It does not find an
  /// entry that neither tier has: such an entry is not written during a sweep.
  private func writeToDisk(
    _ entry: StoredEntry, key: StoreKey, hash: UInt64, since moment: StripedCounters.Moment,
    _ token: RemovalToken, _ disk: DiskTier
  ) throws(StoreError) {
    guard let body = try? entry.body.readAll() else { return }
    let refusal = decisions.withLock(hash) { () -> RefusalReason? in
      let resident = memory.peek(key, hash: hash).first { $0.id == entry.id }
      let present = resident ?? entry
      let new = NewEntry(
        key: key, variant: present.variant, metadata: present.metadata, body: Array(body),
        storedAt: present.storedAt)
      var file: BodyFileWriter?
      let outcome = disk.insert(
        new, id: present.id.rawValue, revision: present.revision, hash: hash, file: &file,
        objection: {
          if !self.isOpen { return .closed }
          let isOld =
            !self.removals.isCurrent(token.moment, for: hash)
            || self.invalidations.isSwept(since: token.sequence)
          if isOld { return .removedSince }
          if resident == nil, disk.sweeper.isSweeping { return .superseded }
          return self.changes.isCurrent(moment, for: hash) ? nil : .superseded
        })
      if case .refused(let reason) = outcome { return reason }
      return nil
    }
    switch refusal {
    case nil, .some(.removedSince), .some(.superseded): return
    case .some(.closed): throw StoreError(.closed)
    case .some(.noRoom): throw StoreError(.noRoomToPin(key: key))
    case .some(.inputOutput):
      throw StoreError(.io(operation: "write", path: disk.context.directory, errno: Errno.ioError.rawValue))
    case .some:
      let size = entry.diskCost(key)
      throw StoreError(
        .pinLimit(key: key, needed: size, used: usage.pinnedBytes, limit: disk.maximumEntrySize))
    }
  }
}

extension StoredEntry {
  /// The bytes that the entry takes on disk, at most.
  fileprivate func diskCost(_ key: StoreKey) -> Int {
    var metadataCount = 0
    withMetadata { metadataCount = $0.byteCount }
    return RecordHeader.size + key.bytes.count + metadataCount + DiskFormat.bodyFileSize(bodyCount) + 8
      + SegmentSummary.longestRow
  }
}

/// A key whose entries the disk does not evict, as ``CacheStore/pinned`` lists it.
public struct PinnedKey: Sendable, Hashable {
  /// The key.
  public let key: StoreKey
  /// Number of its variants on disk; 0 if none is stored at the moment.
  public let entryCount: Int
  /// Bytes that they occupy on disk.
  public let byteCount: Int
  /// Whether all of them are pinned. `false` if one was stored that would have exceeded
  /// ``StoreCapacity/pinned``.
  public let isProtected: Bool
}
