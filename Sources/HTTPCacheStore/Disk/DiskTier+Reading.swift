import Synchronization
import SystemPackage

extension DiskTier {
  /// An entry that the index knows, and the open files to read it from.
  struct Candidate: Sendable {
    /// Where a record is: in a file, or still on its way there.
    struct Source: Sendable {
      let location: RecordLocation
      let file: any File
      let buffered: [UInt8]?

      /// The bytes of the record; `nil` when the file ends before.
      func read() throws(FileFailure) -> [UInt8]? {
        if let buffered { return buffered }
        return try file.read(Int(location.count), at: Int(location.offset))
      }
    }

    let hash: UInt64
    let fingerprint: UInt32
    let id: UInt64
    let source: Source
    let update: Source?
  }

  /// What reading a candidate came to.
  enum Found: Sendable {
    /// The entry; what memory may keep of it, unless its body stays in a file.
    case entry(StoredEntry, forMemory: PackedEntry?)
    /// Another key has the same hash.
    case otherKey
    /// It was lost: removed meanwhile, or it could not be read and has been dropped.
    case lost
  }

  /// Whether anything on disk has this hash.
  func hasEntry(for hash: UInt64) -> Bool {
    catalog.withLock { $0.index.contains(hash) }
  }

  /// The entries on disk under a hash; each counts as hit. There is one, as a rule, and it costs no array.
  func candidates(for hash: UInt64) -> (first: Candidate?, others: [Candidate]) {
    catalog.withLock { catalog in
      var first: UInt32?
      var others: [UInt32] = []
      catalog.index.forEach(under: hash) { slot in
        if first == nil { first = slot } else { others.append(slot) }
      }
      guard let first else { return (nil, []) }
      let found = catalog.hit(first, hash: hash)
      if others.isEmpty { return (found, []) }
      let all = ([found] + others.map { catalog.hit($0, hash: hash) }).compactMap { $0 }
      return (all.first, Array(all.dropFirst()))
    }
  }

  /// Reads a candidate and verifies all of it: one read, or two when its metadata was updated.
  func read(_ candidate: Candidate, key: StoreKey) -> Found {
    do throws(FileFailure) {
      guard let record = try candidate.source.read(),
        let header = Record.verifiedHeader(record, hasher: hasher),
        header.id == candidate.id
      else { return corrupt(candidate) }
      guard record.matches(key.bytes, at: RecordHeader.size, count: header.keyCount) else { return .otherKey }
      guard
        header.kind == .entryWithBodyFile || hasher.checksum(record[header.bodyRange]) == header.bodyChecksum
      else { return corrupt(candidate) }

      var newer: (header: RecordHeader, metadata: ArraySlice<UInt8>)?
      if let update = candidate.update {
        guard let record = try update.read(),
          let header = Record.verifiedHeader(record, hasher: hasher),
          header.kind == .metadata, header.id == candidate.id
        else { return corrupt(candidate) }
        newer = (header, record[header.metadataRange])
      }
      return try assemble(candidate, header: header, record: record, newer: newer)
    } catch {
      counters.ioErrors.increment()
      _ = dropUnreadable(candidate)
      return .lost
    }
  }

  private func assemble(
    _ candidate: Candidate, header: RecordHeader, record: [UInt8],
    newer: (header: RecordHeader, metadata: ArraySlice<UInt8>)?
  ) throws(FileFailure) -> Found {
    let storedAt = newer?.header.storedAt ?? header.storedAt
    let isWhole = header.kind != .entryWithBodyFile
    let metadata = newer?.metadata ?? record[header.metadataRange]
    let revision = newer?.header.revision ?? header.revision
    let keyBytes = record[RecordHeader.size..<RecordHeader.size + header.keyCount]
    if isWhole {
      let packed = PackedEntry(
        id: header.id, revision: revision, variant: header.variant, storedAt: storedAt, key: keyBytes,
        metadata: metadata, body: record[header.bodyRange], ownerCount: record.count)
      return .entry(StoredEntry(packed, tier: .disk), forMemory: packed)
    }
    let path = directory.appending(DiskFormat.bodyName(header.bodyFile))
    do throws(FileFailure) {
      let file = try files.open(path, creating: false)
      guard try file.size() == DiskFormat.bodyFileSize(header.bodyCount) else { return corrupt(candidate) }
      let body = BodyFileReader(
        file: file, count: header.bodyCount, checksum: header.bodyChecksum, tier: self, candidate: candidate)
      let block = EntryBlock(
        id: header.id, revision: revision, variant: header.variant, storedAt: storedAt, key: keyBytes,
        metadata: metadata, body: [])
      let packed = PackedEntry.split(SplitEntry(block, body: StoredBody(body), ownerCount: 0))
      return .entry(StoredEntry(packed, tier: .disk), forMemory: nil)
    } catch {
      // Gone because the entry was removed after the index was asked: no failure.
      if currentSlot(hash: candidate.hash, id: candidate.id) == nil { return .lost }
      throw error
    }
  }

  private func corrupt(_ candidate: Candidate) -> Found {
    if dropUnreadable(candidate) { counters.corruptRecords.increment() }
    return .lost
  }

  /// Drops what a candidate points to, unless that has changed.
  func dropUnreadable(_ candidate: Candidate) -> Bool {
    dropUnreadable(hash: candidate.hash, id: candidate.id, location: candidate.source.location)
  }
}

extension Catalog {
  func source(of location: RecordLocation) -> DiskTier.Candidate.Source? {
    guard let file = files[location.segment] else { return nil }
    return DiskTier.Candidate.Source(location: location, file: file, buffered: buffered(at: location))
  }
}

extension Catalog {
  /// What is known of an entry, which counts as hit; `nil` if its file is gone.
  fileprivate mutating func hit(_ slot: UInt32, hash: UInt64) -> DiskTier.Candidate? {
    let entry = index[slot]
    guard let source = source(of: entry.location) else { return nil }
    if !entry.isHit { index[slot].isHit = true }
    let update = entry.hasUpdate ? index.updates[entry.id] : nil
    return DiskTier.Candidate(
      hash: hash, fingerprint: entry.fingerprint, id: entry.id, source: source,
      update: update.flatMap { self.source(of: $0.location) })
  }
}
