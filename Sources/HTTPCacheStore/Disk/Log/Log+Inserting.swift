// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension Log {
  enum Outcome: Sendable {
    /// The entry is visible on disk. Carries the moment just after that, and whether the key has no other variant on
    /// disk.
    case stored(StripedCounters.Moment, isOnlyVariant: Bool)
    case refused(RefusalReason)
  }

  /// Appends an entry and makes it visible, without a sync.
  ///
  /// - Parameters:
  ///   - header: of kind `entry` or `entryWithBodyFile`, complete.
  ///   - objection: called under the log's lock, where an earlier removal is visible.
  mutating func insert(
    _ header: RecordHeader, record: RecordBytes, objection: () -> RefusalReason?
  ) -> Outcome {
    guard !isClosed else { return .refused(.closed) }
    if let reason = objection() { return .refused(reason) }
    guard mayTry(), hasDirectory(),
      header.kind != .entryWithBodyFile || header.bodyFile >= oldestBody
    else { return giveUp(header, .inputOutput) }
    let (old, count, oldest) = catalog.withLock { $0.index.standing(of: header) }
    if let old {
      guard old < header.id else { return .refused(.superseded) }
    } else if count >= context.options.variantsPerKey, let oldest {
      forget(hash: header.hash, fingerprint: oldest)
      context.counters.evictions.increment()
    }
    do throws(AppendFailure) {
      let location = try append(record, header)
      let isOnly = publish(header, at: location)
      context.changes.advance(for: header.hash)
      return .stored(context.changes.moment(for: header.hash), isOnlyVariant: isOnly)
    } catch {
      return giveUp(header, error.reason)
    }
  }

  /// Refuses an entry, and still removes the entry that it would have replaced: memory may have something newer.
  private mutating func giveUp(_ header: RecordHeader, _ reason: RefusalReason) -> Outcome {
    forget(hash: header.hash, fingerprint: header.fingerprint)
    context.changes.advance(for: header.hash)
    return .refused(reason)
  }

  private mutating func publish(_ header: RecordHeader, at location: RecordLocation) -> Bool {
    let entry = DiskIndexEntry(
      hash: header.hash, fingerprint: header.fingerprint, id: header.id, location: location,
      storedSeconds: DiskIndexEntry.seconds(header.storedAt))
    let bodyFileSize = header.kind == .entryWithBodyFile ? DiskFormat.bodyFileSize(header.bodyCount) : 0
    let (isPinned, pinLimit) = (pins.list.contains(header.hash), pinLimit)
    let (orphan, isOnly) = catalog.withLock { catalog in
      let old = catalog.index.slot(for: header.hash, fingerprint: header.fingerprint)
      let orphan = old.flatMap { catalog.index.remove($0) }
      let isOnly = !catalog.index.contains(header.hash)
      let slot = catalog.index.insert(entry, hash: header.hash)
      catalog.sweeps.add(header.id, hash: header.hash)
      if bodyFileSize > 0 { catalog.index.setBodyFile((header.bodyFile, bodyFileSize), of: slot) }
      if isPinned { catalog.index.pin(slot, limit: pinLimit) }
      return (orphan, isOnly)
    }
    segments[segments.count - 1].bodyFileBytes += bodyFileSize
    context.counters.bytesStored.increment(by: header.keyCount + header.metadataCount + header.bodyCount)
    if let orphan {
      if buffer.count > 0 { buffer.append(orphan) } else { removeBodyFile(orphan) }
    }
    return isOnly
  }

  /// Appends new metadata for an entry. Returns `false` if the disk does not have the entry, or could not take the
  /// metadata and forgot the entry.
  ///
  /// - Parameter isKeptOut: called under the log's lock.
  mutating func updateMetadata(
    of id: UInt64, hash: UInt64, metadata: [UInt8], storedAt: Int64, revision: UInt64,
    unless isKeptOut: () -> Bool
  ) -> Bool {
    guard !isClosed, !isKeptOut(), let slot = catalog.slot(for: hash, id: id) else { return false }
    let (fingerprint, known) = catalog.withLock {
      ($0.index[slot].fingerprint, $0.index.updates[id]?.revision ?? id)
    }
    guard known < revision else { return true }
    defer { context.changes.advance(for: hash) }
    let isLogged = appendMetadata(
      of: id, hash: hash, fingerprint: fingerprint, metadata: metadata, storedAt: storedAt, revision: revision
    )
    guard catalog.slot(for: hash, id: id) != nil else { return false }
    // The entry must not be found again with its old metadata, after memory has lost the new metadata.
    if !isLogged { forget(hash: hash, fingerprint: fingerprint) }
    return isLogged
  }

  /// Appends new metadata for an entry. Returns `false` if the log did not take it: the entry then keeps its old
  /// metadata.
  mutating func appendMetadata(
    of id: UInt64, hash: UInt64, fingerprint: UInt32, metadata: [UInt8], storedAt: Int64, revision: UInt64
  ) -> Bool {
    var header = RecordHeader(
      kind: .metadata, hash: hash, variant: UInt64(fingerprint), id: id, revision: revision,
      storedAt: storedAt)
    let record = Record.encode(&header, metadata: metadata[...], hasher: context.hasher)
    guard mayTry(), let location = try? append(RecordBytes(record), header) else { return false }
    let pinLimit = pinLimit
    catalog.withLock { catalog in
      // Making room may have reclaimed the entry itself.
      guard let slot = catalog.index.slot(for: hash, id: id) else { return }
      catalog.index.update(
        slot, at: location, revision: revision, storedSeconds: DiskIndexEntry.seconds(storedAt))
      if catalog.index.pinnedBytes > pinLimit { catalog.index.unpin(slot) }
    }
    return true
  }
}
