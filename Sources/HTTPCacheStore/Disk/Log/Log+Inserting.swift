extension DiskTier {
  /// The most bytes that key, metadata and body of an entry may have together: half of the capacity. A body of unknown
  /// length that turns out to be larger has then not pushed out everything before it is refused.
  var maximumEntrySize: Int { capacity / 2 }

  /// Bodies of more bytes than this get a file of their own.
  var largeBodyThreshold: Int { options.largeBodyThreshold(for: capacity) }

  /// Inserts an entry whose body is in memory, or was streamed.
  ///
  /// - Parameter file: the streamed body; it is the tier's, or gone, afterwards.
  func insert(
    _ entry: NewEntry, id: UInt64, hash: UInt64, file: inout BodyFileWriter?, objection: () -> RefusalReason?
  ) -> Outcome {
    var header = RecordHeader(
      kind: .entry, hash: hash, variant: entry.variant.rawValue, id: id, revision: id,
      storedAt: entry.storedAt)
    do throws(AppendFailure) {
      if file == nil, entry.body.count > largeBodyThreshold {
        // Before anything is reclaimed for it.
        guard entry.body.count + entry.key.bytes.count + entry.metadata.count <= maximumEntrySize else {
          _ = self.yield(hash: hash, variant: entry.variant.rawValue)
          return .refused(.tooLargeForDisk)
        }
        file = try BodyFileWriter(tier: self)
        try file?.append(entry.body[...])
      }
      if let checksum = try file?.finish(), let file {
        header.kind = .entryWithBodyFile
        header.bodyFile = file.number
        header.bodyCount = file.count
        header.bodyChecksum = checksum
      }
    } catch {
      file?.discard()
      file = nil
      _ = self.yield(hash: hash, variant: entry.variant.rawValue)
      return .refused(error.reason)
    }
    let record = record(of: entry, &header)
    var outcome = Outcome.refused(.tooLargeForDisk)
    if room(for: record.count) <= options.segmentSize(for: capacity) {
      outcome = insert(header, record: record, objection: objection)
    } else {
      _ = self.yield(hash: hash, variant: entry.variant.rawValue)
    }
    if case .stored = outcome { file?.keep() } else { file?.discard() }
    file = nil
    // Its body is known as the entry's by now, so that it is synced too, and goes once if it cannot be.
    if case .stored = outcome, options.sync == .everyStore, !sync(withBodies: true) {
      _ = self.yield(hash: hash, fingerprint: header.fingerprint)
      return .refused(.inputOutput)
    }
    return outcome
  }

  private func record(of entry: NewEntry, _ header: inout RecordHeader) -> RecordBytes {
    let isInline = header.kind == .entry
    if isInline, options.writeBuffer > 0, entry.body.count >= RecordBytes.leastBody {
      return Record.encodeApart(
        &header, key: entry.key.bytes, metadata: entry.metadata, body: entry.body, hasher: hasher)
    }
    return RecordBytes(
      Record.encode(
        &header, key: entry.key.bytes[...], metadata: entry.metadata[...],
        inlineBody: isInline ? entry.body[...] : nil, hasher: hasher))
  }
}
