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
  public func lookup(_ key: StoreKey) -> StoredEntries { lookup(key, atOnce: false) ?? StoredEntries() }

  /// Does the same, without waiting if the caller must not wait.
  ///
  /// - Parameter atOnce: whether the call must not block.
  /// - Returns: `nil` if the call would block: the page cache of the system does not have the bytes to read, or an entry
  ///   is damaged. On systems other than Linux, that is any entry on disk. Repeat the call where it may block;
  ///   this one counts nothing then.
  package func lookup(_ key: StoreKey, atOnce: Bool) -> StoredEntries? {
    let (hash, resident) = key.bytes.withUnsafeBytes { bytes in
      let hash = hasher.hash(bytes)
      return (hash, memory.entries(for: bytes, hash: hash))
    }
    // Without a disk, memory counts the misses.
    guard !resident.isComplete, let disk else { return resident.entries }
    return lookup(key, hash: hash, resident: resident.entries, on: disk, atOnce: atOnce)
  }

  /// Adds what is on disk to the entries that were found in memory.
  @inline(never)  // A hit in memory does without.
  private func lookup(
    _ key: StoreKey, hash: UInt64, resident: StoredEntries, on disk: DiskTier, atOnce: Bool
  ) -> StoredEntries? {
    guard isOpen else {
      if resident.isEmpty { counters.misses.increment() }
      return resident
    }
    // Take the moment before the lookup in the index: see `changes`.
    let moment = changes.moment(for: hash)
    var (first, others) = disk.candidates(for: hash)
    if others.isEmpty, resident.isEmpty {
      guard let only = first.take() else {
        counters.misses.increment()
        return StoredEntries()
      }
      return read(only, key: key, hash: hash, since: moment, from: disk, atOnce: atOnce)
    }
    var found = Array(resident)
    let candidates = (first.map { [$0] } ?? []) + others
    var isWhole = true
    var hasRead = false
    for candidate in candidates {
      if let same = found.first(where: {
        DiskIndexEntry.fingerprint(of: $0.variant.rawValue, hash: hash) == candidate.fingerprint
      }), same.id.rawValue >= candidate.id {
        continue
      }
      let entry: StoredEntry
      switch disk.read(candidate, key: key, atOnce: atOnce) {
      case .entry(let read): entry = read
      case .otherKey: continue
      case .lost:
        isWhole = false
        continue
      case .wouldWait: return nil
      }
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
    since moment: StripedCounters.Moment, from disk: DiskTier, atOnce: Bool
  ) -> StoredEntries? {
    let id = candidate.id
    let entry: StoredEntry
    switch disk.read(candidate, key: key, atOnce: atOnce) {
    case .entry(let read): entry = read
    case .otherKey, .lost:
      counters.misses.increment()
      return StoredEntries()
    case .wouldWait: return nil
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
