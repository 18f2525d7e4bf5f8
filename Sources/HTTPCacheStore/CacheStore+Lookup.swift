// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension CacheStore {
  /// Finds the newest entry of every variant of a key, in memory and on disk.
  ///
  /// The entries found count as used. An entry read from disk is copied to memory if its body is small enough. Blocks on the
  /// disk unless memory is known to hold all variants of the key. A damaged entry is treated as missing.
  ///
  /// - Parameter key: the resource.
  /// - Returns: the entries, newest first; none if the store is closed.
  /// - Complexity: O(variants) on average for entries in memory; one read for each entry on disk, of its head and of a body
  ///   that has no file of its own.
  public func lookup(_ key: StoreKey) -> StoredEntries {
    guard disk != nil else {
      return key.bytes.withUnsafeBytes { memory.entries(for: $0, hash: hasher.hash($0)).entries }
    }
    let hash = hasher.hash(key)
    // Before the index is asked: see `changes`.
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

  /// Reads the one entry there is of a key, on disk.
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

  /// Keeps what was read in memory, too, unless its body stays in a file. `false` when it is not kept there.
  private func copy(
    _ entry: StoredEntry, key: StoreKey, hash: UInt64, since moment: StripedCounters.Moment
  ) -> Bool {
    // One entry must not push everything else out by being read.
    guard entry.isResident, entry.approximateCost <= memory.limit / 8 else { return false }
    let refusal = memory.place(
      EntryReference(entry.block), key: key, hash: hash,
      objection: { changes.isCurrent(moment, for: hash) ? nil : .superseded })
    return refusal == nil
  }
}
