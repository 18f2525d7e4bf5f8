// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension CacheStore {
  /// Finds the newest entry of every variant of a key, in memory and on disk.
  ///
  /// The entries found count as used. An entry read from disk is copied to memory if its body is small enough. The call
  /// blocks on the disk unless memory is known to hold all variants of the key. A damaged entry is treated as missing.
  ///
  /// - Parameter key: the resource.
  /// - Returns: the entries, newest first; none if the store is closed.
  /// - Complexity: O(variants) on average for entries in memory. Each entry on disk costs one read of its head, and of
  ///   its body unless that has its own file.
  public func lookup(_ key: StoreKey) -> StoredEntries {
    guard disk != nil else {
      return key.bytes.withUnsafeBytes { memory.entries(for: $0, hash: hasher.hash($0)).entries }
    }
    let hash = hasher.hash(key)
    // Take the moment before the lookup in the index: see `changes`.
    let moment = changes.moment(for: hash)
    let resident = key.bytes.withUnsafeBytes { memory.entries(for: $0, hash: hash) }
    guard !resident.isComplete, let disk, isOpen else {
      if resident.entries.isEmpty { counters.misses.increment() }
      return resident.entries
    }
    var (first, others) = disk.candidates(for: hash)
    if others.isEmpty, resident.entries.isEmpty {
      guard let only = first.take() else {
        counters.misses.increment()
        return StoredEntries()
      }
      return read(only, key: key, hash: hash, since: moment, from: disk)
    }
    var found = Array(resident.entries)
    let candidates = (first.map { [$0] } ?? []) + others
    var isWhole = true
    var hasRead = false
    for candidate in candidates {
      if let same = found.first(where: {
        DiskIndexEntry.fingerprint(of: $0.variant.rawValue, hash: hash) == candidate.fingerprint
      }), same.id.rawValue >= candidate.id {
        continue
      }
      guard case .entry(let entry) = disk.read(candidate, key: key) else { continue }
      hasRead = true
      found.removeAll { $0.variant == entry.variant }
      found.append(entry)
      isWhole = copy(entry, key: key, hash: hash, since: moment) && isWhole
    }
    if isWhole, !found.isEmpty {
      memory.markComplete(
        key, hash: hash, ids: candidates.map(\.id), unless: { !changes.isCurrent(moment, for: hash) })
    }
    if hasRead { counters.diskHits.increment() } else if found.isEmpty { counters.misses.increment() }
    return StoredEntries(found.sorted { $0.id > $1.id })
  }

  /// Reads the only entry of a key, which is on disk.
  private func read(
    _ candidate: consuming Catalog.Candidate, key: StoreKey, hash: UInt64,
    since moment: StripedCounters.Moment,
    from disk: DiskTier
  ) -> StoredEntries {
    let id = candidate.id
    guard case .entry(let entry) = disk.read(candidate, key: key) else {
      counters.misses.increment()
      return StoredEntries()
    }
    counters.diskHits.increment()
    if copy(entry, key: key, hash: hash, since: moment) {
      memory.markComplete(
        key, hash: hash, ids: [id], unless: { !changes.isCurrent(moment, for: hash) })
    }
    return StoredEntries(entry)
  }

  /// Copies an entry that was read from disk to memory, unless its body stays in a file. Returns `false` if memory does
  /// not keep it.
  private func copy(
    _ entry: StoredEntry, key: StoreKey, hash: UInt64, since moment: StripedCounters.Moment
  ) -> Bool {
    // Reading one entry must not evict everything else.
    guard entry.isResident, entry.approximateCost <= memory.limit / 8 else { return false }
    let refusal = memory.place(
      EntryReference(entry.block), key: key, hash: hash,
      objection: { changes.isCurrent(moment, for: hash) ? nil : .superseded })
    return refusal == nil
  }
}
