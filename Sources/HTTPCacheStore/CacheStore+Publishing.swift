// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension CacheStore {
  /// Whether a body of this size must be streamed to its own file.
  ///
  /// - Parameter expected: the size that the body will have, as far as that is known.
  func mustStream(_ entry: NewEntry, bodyCount: Int, expected: Int) -> Bool {
    guard let disk = diskTier(for: entry) else { return false }
    let head = entry.key.bytes.count + entry.metadata.count
    return bodyCount > disk.fileOnlyThreshold && expected <= disk.maximumEntrySize - head
  }

  /// Whether memory has the capacity for a body of this size.
  func memoryTakes(_ entry: NewEntry, bodyCount: Int) -> Bool {
    let head = entry.key.bytes.count + entry.metadata.count
    return entry.tiers.contains(.memory) && bodyCount <= memory.limit - head - EntryBlock.mostOverhead
  }

  /// Whether the disk fails, as far as is known. It does not wait for the disk.
  package var isDiskFailing: Bool { disk?.log.isFailing ?? false }

  /// Whether no body file may be written now, because the disk has failed.
  var isPausingBodies: Bool { disk?.log.isPausingBodies ?? false }

  /// The disk tier, if the entry must be written to it.
  private func diskTier(for entry: NewEntry) -> DiskTier? {
    entry.tiers.contains(.disk) && usesDisk ? disk : nil
  }

  /// Maximum bytes of the disk's configured capacity that one entry may take: memory takes what a full file system does not.
  private var sharedSize: Int {
    guard let share = configuration.maximumEntryShare, usesDisk, let disk else { return .max }
    // As a floating-point number, `Int.max` rounds up to one more, which `Int(exactly:)` rejects.
    return Int(exactly: (Double(disk.configuredCapacity) * share).rounded(.down)) ?? .max
  }

  /// Why none of an entry's tiers can store an entry of any size.
  private func tierObjection(to entry: NewEntry) -> RefusalReason {
    if memory.limit > 0 || usesDisk { return .noTier }
    return unavailable != nil && entry.tiers.contains(.disk) ? .diskUnavailable : .noCapacity
  }

  /// Why none of an entry's tiers can store an entry of this size; `nil` if one of them can.
  func sizeObjection(to entry: NewEntry, bodyCount: Int) -> InsertRefusal? {
    let hasMemory = entry.tiers.contains(.memory) && memory.limit > 0
    let disk = diskTier(for: entry)
    guard hasMemory || disk != nil else { return InsertRefusal(tierObjection(to: entry)) }
    let head = entry.key.bytes.count + entry.metadata.count
    let (inMemory, onDisk) = (hasMemory ? memory.limit : 0, disk?.maximumEntrySize ?? 0)
    let (capacity, maximum) = (max(inMemory, onDisk), min(configuration.maximumEntrySize ?? .max, sharedSize))
    guard bodyCount > min(capacity, maximum) - head || head > Configuration.maximumHeadSize else {
      return nil
    }
    if head > Configuration.maximumHeadSize {
      return InsertRefusal(.tooLarge, byteCount: head, limit: Configuration.maximumHeadSize)
    }
    // The length may have been announced by an untrusted sender.
    let (sum, isBeyond) = head.addingReportingOverflow(bodyCount)
    let reason: RefusalReason =
      maximum < capacity ? .tooLarge : onDisk >= inMemory ? .tooLargeForDisk : .tooLargeForMemory
    return InsertRefusal(reason, byteCount: isBeyond ? .max : sum, limit: min(capacity, maximum))
  }

  /// Makes an entry visible in memory, in a store without a disk.
  func publishInMemory(_ entry: NewEntry, token: RemovalToken?) -> InsertOutcome {
    let hash = hasher.hash(entry.key)
    memory.prepare(hash)
    let id = takeID()
    let reason = memory.place(
      EntryReference(.of(entry, id: id, spares: memory.spares)), key: entry.key, hash: hash,
      isComplete: { true },
      objection: { self.objection(to: entry.key, in: entry.scopes, since: token, hash: hash) })
    guard let reason else { return .stored(EntryID(rawValue: id)) }
    if reason != .removedSince { withdraw(entry, id: id, hash: hash) }
    return .refused(InsertRefusal(reason))
  }

  /// Removes older entries from memory after memory refused an entry. Also records that memory may not have all
  /// variants.
  ///
  /// Do not call it if the key was removed since the entry was fetched: then nothing older is left, and memory may hold
  /// an entry that was fetched later.
  private func withdraw(_ entry: NewEntry, id: UInt64, hash: UInt64) {
    memory.remove(entry.key, hash: hash, variant: entry.variant, olderThan: id)
    memory.markIncomplete(entry.key, hash: hash)
  }

  /// Why an entry must not be published any more. It is called under the lock of the tier that will hold the entry,
  /// after its id was taken (see `Marks` in the essay).
  private func objection(
    to key: StoreKey, in scopes: [StoreScope], since token: RemovalToken?, hash: UInt64
  ) -> RefusalReason? {
    guard isOpen else { return .closed }
    guard let token else { return nil }
    let isOutdated =
      !removals.isCurrent(token.moment, for: hash)
      || invalidations.keepsOut(key, in: scopes, since: token.sequence)
    return isOutdated ? .removedSince : nil
  }

  /// Makes an entry visible, unless the one in its place is more recent.
  ///
  /// - Parameter file: as for ``publish(_:file:token:)``, but the file of an overtaken entry stays.
  func publish(
    _ entry: NewEntry, file: inout BodyFileWriter?, token: RemovalToken?,
    unless isOvertaken: (StoredEntry) -> Bool
  ) -> InsertOutcome {
    let hash = hasher.hash(entry.key)
    return decisions.withLock(hash) {
      guard let current = current(entry.key, entry.variant, hash: hash), isOvertaken(current) else {
        return publish(entry, file: &file, token: token)
      }
      return .refused(InsertRefusal(.overtaken))
    }
  }

  /// Returns the entry of a key and variant, in memory or on disk. The call counts neither as a use nor as a lookup.
  private func current(_ key: StoreKey, _ variant: VariantID, hash: UInt64) -> StoredEntry? {
    let resident = memory.peek(key, hash: hash).first { $0.variant == variant }
    // The disk has a newer entry only if memory had no room for it, or evicted it.
    guard let disk, let candidate = disk.candidate(for: hash, variant: variant.rawValue),
      candidate.id > resident?.id.rawValue ?? 0, case .entry(let entry) = disk.read(candidate, key: key),
      entry.variant == variant
    else { return resident }
    return entry
  }

  /// Makes an entry visible: on disk, then in memory, in the order that the essay on ``CacheStore`` explains.
  ///
  /// - Parameter file: the body, if it was streamed. Afterwards it belongs to the disk tier, or is gone.
  func publish(_ entry: NewEntry, file: inout BodyFileWriter?, token: RemovalToken?) -> InsertOutcome {
    guard isOpen else {
      file?.discard()
      file = nil
      return .refused(InsertRefusal(.closed))
    }
    let hash = hasher.hash(entry.key)
    let id = takeID()
    // Without the whole entry, of which each closure around this one would have a copy.
    let objection = { [key = entry.key, scopes = entry.scopes] in
      self.objection(to: key, in: scopes, since: token, hash: hash)
    }
    let wasStreamed = file != nil
    var moment: StripedCounters.Moment?
    var isOnlyOnDisk = true
    var refusal: RefusalReason?
    var isStored = false
    if let disk {
      if wasStreamed || diskTier(for: entry) != nil && isAdmitted(entry, hash: hash, disk) {
        switch disk.insert(entry, id: id, hash: hash, file: &file, objection: objection) {
        case .stored(let after, let isOnly):
          moment = after
          isOnlyOnDisk = isOnly
          isStored = true
        case .refused(let reason):
          if reason == .removedSince || reason == .superseded || reason == .closed {
            return .refused(InsertRefusal(reason))
          }
          refusal = reason
          moment = changes.moment(for: hash)
          isOnlyOnDisk = false
        }
      } else {
        let (after, isOnly) = disk.yield(hash: hash, variant: entry.variant.rawValue)
        moment = after
        isOnlyOnDisk = isOnly
      }
    }

    let isForMemory = entry.tiers.contains(.memory) && !wasStreamed
    let reason =
      isForMemory ? placeInMemory(entry, id: id, hash: hash, after: moment, isOnlyOnDisk, objection) : .noTier
    if reason == nil {
      isStored = true
    } else if isStored || reason != .removedSince {
      withdraw(entry, id: id, hash: hash)
    }
    if isStored { return .stored(EntryID(rawValue: id)) }
    return .refused(InsertRefusal(refusal ?? reason ?? .noTier))
  }

  /// Whether an entry must be written to disk. The disk turns away only an entry that memory can take, and whose key
  /// has no entry on disk.
  private func isAdmitted(_ entry: NewEntry, hash: UInt64, _ disk: DiskTier) -> Bool {
    guard let doorkeeper, entry.tiers.contains(.memory) else { return true }
    let size = entry.key.bytes.count + entry.metadata.count + entry.body.count
    guard size <= memory.limit / 8, !disk.hasEntry(for: hash), !doorkeeper.admits(hash),
      !disk.pinning.mayBePinned(hash)
    else { return true }
    counters.diskRejections.increment()
    return false
  }

  private func placeInMemory(
    _ entry: NewEntry, id: UInt64, hash: UInt64, after moment: StripedCounters.Moment?, _ isOnlyOnDisk: Bool,
    _ objection: () -> RefusalReason?
  ) -> RefusalReason? {
    memory.place(
      EntryReference(.of(entry, id: id, spares: memory.spares)), key: entry.key, hash: hash,
      isComplete: { isOnlyOnDisk && (moment.map { changes.isCurrent($0, for: hash) } ?? true) },
      objection: {
        if let reason = objection() { return reason }
        // The key changed again since the entry was published on disk: memory may have had, and evicted, a newer one.
        guard let moment, !changes.isCurrent(moment, for: hash) else { return nil }
        return .superseded
      })
  }

  func count(_ outcome: InsertOutcome) {
    switch outcome {
    case .stored: counters.inserts.increment()
    case .refused: counters.refusals.increment()
    }
  }
}
