import Synchronization
import SystemPackage

extension DiskTier {
  /// An entry that the index knows, and the open files to read it from.
  struct Candidate: Sendable {
    /// Where a record is: in a file, or still on its way there.
    struct Source: Sendable {
      let location: RecordLocation
      let file: any File
      let buffered: RecordBytes?

      /// The bytes of the record; `nil` when the file ends before.
      func read() throws(FileFailure) -> [UInt8]? {
        if let buffered { return buffered.joined }
        return try file.read(Int(location.count), at: Int(location.offset))
      }
    }

    let hash: UInt64
    let fingerprint: UInt32
    let id: UInt64
    let source: Source
    /// Its body is in a file of its own.
    let hasBodyFile: Bool
    /// Where its metadata is, if that was updated.
    let update: Update?

    /// Rare, and apart: it would make every candidate half as large again.
    final class Update: Sendable {
      let source: Source

      init(_ source: Source) {
        self.source = source
      }
    }
  }

  /// What reading a candidate came to.
  enum Found: Sendable {
    case entry(PackedEntry)
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
  @inline(__always)
  func candidates(for hash: UInt64) -> (first: Candidate?, others: [Candidate]) {
    var first: Candidate?
    var others: [Candidate] = []
    // Not as what the closure gives, which would be copied on its way.
    catalog.withLock { catalog in
      var slot: UInt32?
      var otherSlots: [UInt32] = []
      catalog.index.forEach(under: hash) { found in
        if slot == nil { slot = found } else { otherSlots.append(found) }
      }
      guard let slot else { return }
      first = catalog.hit(slot, hash: hash)
      for slot in otherSlots {
        guard let other = catalog.hit(slot, hash: hash) else { continue }
        if first == nil { first = other } else { others.append(other) }
      }
    }
    return (first, others)
  }

  /// The entry on disk of one variant under a hash. It does not count as hit.
  func candidate(for hash: UInt64, variant: UInt64) -> Candidate? {
    let fingerprint = DiskIndexEntry.fingerprint(of: variant, hash: hash)
    return catalog.withLock { catalog in
      catalog.index.slot(for: hash, fingerprint: fingerprint).flatMap { catalog.candidate($0, hash: hash) }
    }
  }

  /// Reads a candidate and verifies all of it: one read, or two when its metadata was updated.
  func read(_ candidate: Candidate, key: StoreKey) -> Found {
    do throws(FileFailure) {
      if candidate.update == nil, candidate.source.buffered == nil, !candidate.hasBodyFile {
        return try readInPlace(candidate, key: key)
      }
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
        guard let record = try update.source.read(),
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

  /// Reads a record that has all of its entry to where it is handed out from.
  ///
  /// What is made of it is one allocation, and not a byte is copied: see ``EntryRecord``.
  private func readInPlace(_ candidate: Candidate, key: StoreKey) throws(FileFailure) -> Found {
    let location = candidate.source.location
    var isOtherKey = false
    let read = try EntryRecord(capacity: Int(location.count), keyStart: RecordHeader.size) {
      record throws(FileFailure) in
      guard try candidate.source.file.read(into: record, at: Int(location.offset)) == record.count,
        let header = Record.verifiedHeader(UnsafeRawBufferPointer(record), hasher: hasher),
        header.kind == .entry, header.id == candidate.id
      else { return nil }
      isOtherKey = !header.hasKey(key.bytes, in: UnsafeRawBufferPointer(record))
      guard !isOtherKey,
        hasher.checksum(UnsafeRawBufferPointer(rebasing: record[header.bodyRange])) == header.bodyChecksum
      else { return nil }
      return EntryHead.Fields(
        id: header.id, revision: header.revision, variant: header.variant, storedAt: header.storedAt,
        keyCount: header.keyCount, metadataCount: header.metadataCount, bodyCount: header.bodyCount)
    }
    if let read { return .entry(.record(read)) }
    return isOtherKey ? .otherKey : corrupt(candidate)
  }

  /// Makes an entry of what was read.
  private func assemble(
    _ candidate: Candidate, header: RecordHeader, record: [UInt8],
    newer: (header: RecordHeader, metadata: ArraySlice<UInt8>)?
  ) throws(FileFailure) -> Found {
    let storedAt = newer?.header.storedAt ?? header.storedAt
    let metadata = newer?.metadata ?? record[header.metadataRange]
    let revision = newer?.header.revision ?? header.revision
    func block(with body: Range<Int>) -> EntryBlock {
      record.withUnsafeBytes { record in
        metadata.withUnsafeBytes { metadata in
          EntryBlock(
            id: header.id, revision: revision, variant: header.variant, storedAt: storedAt,
            key: UnsafeRawBufferPointer(rebasing: record[RecordHeader.size...].prefix(header.keyCount)),
            metadata: metadata, body: UnsafeRawBufferPointer(rebasing: record[body]))
        }
      }
    }
    if header.kind != .entryWithBodyFile {
      let range = header.bodyRange
      if range.count <= PackedEntry.packedBodyLimit { return .entry(.whole(block(with: range))) }
      let body = StoredBody(record[range])
      return .entry(.split(SplitEntry(block(with: 0..<0), body: body, ownerCount: record.count)))
    }
    let path = directory.appending(DiskFormat.bodyName(header.bodyFile))
    do throws(FileFailure) {
      let file = try files.open(path, creating: false)
      guard try file.size() == DiskFormat.bodyFileSize(header.bodyCount) else { return corrupt(candidate) }
      let body = BodyFileReader(
        file: file, count: header.bodyCount, checksum: header.bodyChecksum, tier: self, candidate: candidate)
      return .entry(.split(SplitEntry(block(with: 0..<0), body: StoredBody(body), ownerCount: 0)))
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

  /// Drops an entry whose body file cannot be read, wherever its record is by now: the file is the same.
  func dropUnreadableBody(_ candidate: Candidate) {
    _ = dropUnreadable(hash: candidate.hash, id: candidate.id, location: nil)
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
  @inline(__always)
  fileprivate mutating func hit(_ slot: UInt32, hash: UInt64) -> DiskTier.Candidate? {
    guard let candidate = candidate(slot, hash: hash) else { return nil }
    if !index[slot].isHit { index[slot].isHit = true }
    return candidate
  }

  /// What is known of an entry; `nil` if its file is gone.
  @inline(__always)
  func candidate(_ slot: UInt32, hash: UInt64) -> DiskTier.Candidate? {
    let entry = index[slot]
    guard let source = source(of: entry.location) else { return nil }
    let update = entry.hasUpdate ? index.updates[entry.id] : nil
    return DiskTier.Candidate(
      hash: hash, fingerprint: entry.fingerprint, id: entry.id, source: source,
      hasBodyFile: entry.hasBodyFile,
      update: update.flatMap { self.source(of: $0.location) }.map(DiskTier.Candidate.Update.init))
  }
}
