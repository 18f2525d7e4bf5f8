// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension CacheStore {
  /// Says whether a sweep covers an entry, by the bytes of its key and its scopes.
  ///
  /// Without scopes, which the store does not know, it says whether an entry with this key may be covered. Without a key, it
  /// says whether the scopes alone are enough. It is called on any thread, at any time, also under a lock, while inserts in
  /// flight may be older than the sweep. The bytes are valid during the call only: they are read where memory keeps the
  /// entry, without a copy.
  package typealias Coverage = @Sendable (_ key: UnsafeRawBufferPointer?, _ scopes: [StoreScope]?) -> Bool

  /// An entry that a sweep visits, without its body.
  package struct SweptEntry: Sendable {
    package let id: EntryID
    package let key: StoreKey
    package let variant: VariantID
    /// The time that the caller gave, in milliseconds since 1970.
    package let storedAt: Int64
    /// The caller's latest opaque bytes.
    package let metadata: [UInt8]
  }

  /// What a sweep does with an entry.
  package enum SweepAction: Sendable, Hashable {
    case keep
    case remove
    case update(metadata: [UInt8])
  }

  /// Visits the stored entries, and removes or updates them as `decide` says. Returns when the changes would survive a
  /// crash (see ``Configuration/sync``).
  ///
  /// The sweep visits entries that were stored before the call, in memory and on disk. Entries stored later stay, with
  /// one exception: an insert or update that the sweep covers is refused if its token is older than the call. No lookup
  /// waits for the sweep, and an insert waits for some dozens of entries at most. The sweep removes an entry on disk that
  /// cannot be read.
  ///
  /// - Parameters:
  ///   - covers: which entries the sweep concerns.
  ///   - keys: where to look, if that is known; `nil` looks everywhere.
  ///   - decide: called on the calling thread for each entry that may be covered, by its key, without a lock; it must not
  ///     call the store.
  /// - Returns: the number of entries that were removed or updated.
  /// - Complexity: O(entries), with one read for each entry on disk; O(entries of the keys) if keys are given.
  @discardableResult
  package func sweep(
    _ covers: @escaping Coverage, in keys: [StoreKey]? = nil, _ decide: (SweptEntry) -> SweepAction
  ) -> Int {
    guard isOpen else { return 0 }
    counters.removals.increment()
    return memory.givingBack { visit(covers, invalidations.fence(covers) { takeID() }, in: keys, decide) }
  }

  /// Visits the stored entries as a sweep does, but refuses no insert in flight.
  func visitAll(_ decide: (SweptEntry) -> SweepAction) {
    guard isOpen else { return }
    _ = memory.givingBack { visit({ _, _ in true }, takeID(), in: nil, decide) }
  }

  /// - Parameter number: entries with this id or a greater one are newer than the sweep.
  private func visit(
    _ covers: @escaping Coverage, _ number: UInt64, in keys: [StoreKey]?,
    _ decide: (SweptEntry) -> SweepAction
  ) -> Int {
    var sweep = Sweeping(covers: covers, number: number)
    if let disk {
      sweep.disk = disk.sweeper.begin(sweep.number)
      if let keys {
        for key in keys {
          let heads = sweep.heads(for: hasher.hash(key), disk)
          change(heads.filter { $0.key == key && sweep.covers(key) }, &sweep, decide)
        }
      } else {
        while let heads = sweep.nextHeads(disk) {
          change(heads.filter { sweep.covers($0.key) }, &sweep, decide)
        }
      }
    }
    if disk != nil {
      // A lookup that has read an entry whose place was reclaimed before the sweep came there must not copy it to memory.
      if let keys { for key in keys { changes.advance(for: hasher.hash(key)) } } else { changes.advanceAll() }
    }
    if let keys {
      for key in keys where sweep.covers(key) {
        change(memory.peek(key, hash: hasher.hash(key)).filter { $0.id.rawValue < number }, &sweep, decide)
      }
    } else {
      for shard in 0..<memory.shardCount {
        let found = memory.entries(inShard: shard) { $0.id < number && covers($0.key, nil) }
        change(found, &sweep, decide)
      }
    }
    if let disk {
      // What a pin has written meanwhile, and memory has evicted since.
      for hash in disk.sweeper.missedHashes {
        let heads = sweep.heads(for: hash, disk)
        change(heads.filter { sweep.covers($0.key) }, &sweep, decide)
      }
    }
    if let disk, let ended = sweep.disk { disk.sweeper.finish(ended) }
    return sweep.count
  }

  /// A sweep in progress.
  private struct Sweeping: Sendable {
    let covers: Coverage
    /// Entries with this id or a greater one are newer than the sweep.
    let number: UInt64
    var disk: Sweeper.Sweep?
    var count = 0

    init(covers: @escaping Coverage, number: UInt64) {
      self.covers = covers
      self.number = number
    }

    func covers(_ key: StoreKey) -> Bool { key.bytes.withUnsafeBytes { covers($0, nil) } }

    mutating func apply(_ changes: [Sweeper.Change], _ tier: DiskTier?) {
      guard let tier, var sweep = disk, !changes.isEmpty else { return }
      tier.sweeper.apply(changes, &sweep)
      disk = sweep
    }

    mutating func heads(for hash: UInt64, _ tier: DiskTier) -> [Sweeper.Head] {
      guard var sweep = disk else { return [] }
      defer { disk = sweep }
      return tier.sweeper.heads(for: hash, &sweep)
    }

    mutating func nextHeads(_ tier: DiskTier) -> [Sweeper.Head]? {
      guard var sweep = disk else { return nil }
      defer { disk = sweep }
      return tier.sweeper.nextHeads(&sweep)
    }
  }

  /// As for heads, but only a few entries at a time: an entry in memory may need a copy of its head.
  private func change(
    _ entries: [StoredEntry], _ sweep: inout Sweeping, _ decide: (SweptEntry) -> SweepAction
  ) {
    var heads: [Sweeper.Head] = []
    for entry in entries {
      let key = StoreKey(entry.key)
      if disk?.sweeper.hasVisited(hasher.hash(key), id: entry.id.rawValue) ?? false { continue }
      heads.append(entry.head(key))
      if heads.count == 64 {
        change(heads, &sweep, decide)
        heads = []
      }
    }
    change(heads, &sweep, decide)
  }

  /// Decides on some entries, and changes them: on disk first, then in memory.
  ///
  /// A concurrent read-change-write update comes before or after this change; if it comes before, the sweep includes
  /// it.
  private func change(
    _ heads: [Sweeper.Head], _ sweep: inout Sweeping, _ decide: (SweptEntry) -> SweepAction
  ) {
    var removed: [Sweeper.Head] = []
    for head in heads {
      let entry = SweptEntry(
        id: EntryID(rawValue: head.id), key: head.key, variant: VariantID(rawValue: head.variant),
        storedAt: head.storedAt, metadata: head.metadata)
      switch decide(entry) {
      case .keep: break
      case .remove: removed.append(head)
      case .update(let metadata): update(head, metadata, &sweep)
      }
    }
    sweep.apply(removed.map { Sweeper.Change(hash: hasher.hash($0.key), id: $0.id, update: nil) }, disk)
    for head in removed {
      memory.remove(
        head.key, hash: hasher.hash(head.key), variant: VariantID(rawValue: head.variant),
        olderThan: head.id + 1)
    }
    sweep.count += removed.count
  }

  private func update(_ head: Sweeper.Head, _ metadata: [UInt8], _ sweep: inout Sweeping) {
    let hash = hasher.hash(head.key)
    sweep = decisions.withLock(hash) { [sweep] in
      var sweep = sweep
      let revision = takeID()
      sweep.apply(
        [Sweeper.Change(hash: hash, id: head.id, update: (metadata, head.storedAt, revision))], disk)
      _ = memory.updateMetadata(
        of: head.id, key: head.key, hash: hash, metadata: metadata, storedAt: head.storedAt,
        revision: revision)
      sweep.count += 1
      return sweep
    }
  }
}

extension StoredEntry {
  /// Returns the head of an entry in memory, without the body.
  func head(_ key: StoreKey) -> Sweeper.Head {
    Sweeper.Head(
      id: id.rawValue, variant: variant.rawValue, storedAt: storedAt, key: key, metadata: metadata,
      bodyCount: bodyCount, diskBytes: 0)
  }
}
