import SystemPackage

/// Rebuilds the index from the log when a directory is opened.
///
/// Headers are read and bodies are skipped; `Format.md` says what is made of damage.
struct LogRecovery {
  let directory: FilePath
  let files: any FileSystem
  let hasher: KeyHasher
  let counters: DiskCounters

  /// How a segment's scan ended.
  private enum End {
    case whole
    /// The last record was never finished; nothing acknowledged is behind this offset.
    case torn(Int)
    /// Nobody knows what is behind.
    case damaged
  }

  func run(
    names: [String], log initial: Log
  ) throws(FileFailure) -> (Log, Catalog, ScopeMarks.Snapshot, lastSequence: UInt64) {
    var log = initial
    var catalog = Catalog()
    var marks = ScopeMarks.Snapshot()
    var lastSequence: UInt64 = 0
    for number in try survivors(names) {
      let file = try files.open(directory.appending(DiskFormat.segmentName(number)), creating: false)
      var segment = Log.Segment(number: number, file: file, count: try file.size(), isSealed: true)
      catalog.files[number] = file
      let end = try scan(&segment, log: &log, catalog: &catalog, marks: &marks, lastSequence: &lastSequence)
      switch end {
      case .whole:
        segment.isSealed = false
      case .torn(let offset):
        if segment.count > offset { counters.corruptRecords.increment() }
        try file.truncate(to: offset)
        segment.count = offset
        segment.isSealed = false
      case .damaged:
        counters.corruptRecords.increment()
        forgetEverything(before: segment, log: &log, catalog: &catalog)
        segment.slots = []
      }
      // Without even its first record, nobody knows whether it was to begin with marks. The next one does.
      if segment.count <= DiskFormat.segmentHeaderSize { segment.isSealed = true }
      log.used += segment.count
      log.segments.append(segment)
      log.nextNumber = number + 1
    }
    for index in log.segments.indices.dropLast() { log.segments[index].isSealed = true }
    try settleBodyFiles(names, log: &log, catalog: &catalog)
    // What was misread may read well the next time, and need marks that seem to be of no use now.
    if !log.suspectsAll { marks.drop(upTo: catalog.index.lowestID ?? .max) }
    return (log, catalog, marks, lastSequence)
  }

  /// The segments after the last gap in the numbers. The others are removed.
  private func survivors(_ names: [String]) throws(FileFailure) -> [UInt32] {
    let numbers = names.compactMap(DiskFormat.segmentNumber).sorted()
    var first = numbers.endIndex
    while first > 0, first == numbers.endIndex || numbers[first - 1] + 1 == numbers[first] { first -= 1 }
    for number in numbers[..<first] {
      try files.unlink(directory.appending(DiskFormat.segmentName(number)))
    }
    return Array(numbers[first...])
  }

  private func scan(
    _ segment: inout Log.Segment, log: inout Log, catalog: inout Catalog, marks: inout ScopeMarks.Snapshot,
    lastSequence: inout UInt64
  ) throws(FileFailure) -> End {
    var window = ScanWindow(file: segment.file, size: segment.count)
    guard let start = try window.bytes(at: 0, count: DiskFormat.segmentHeaderSize) else { return .torn(0) }
    guard Array(start) == DiskFormat.segmentHeader(segment.number, hasher: hasher) else {
      return try window.isZero(from: 0) ? .torn(0) : .damaged
    }
    var offset = DiskFormat.segmentHeaderSize
    while offset < segment.count {
      guard let bytes = try window.bytes(at: offset, count: RecordHeader.size) else { return .torn(offset) }
      guard let header = bytes.withUnsafeBytes({ RecordHeader($0, hasher: hasher) }) else {
        return try window.isZero(from: offset) ? .torn(offset) : .damaged
      }
      guard header.recordCount <= segment.count - offset else { return .torn(offset) }
      let location = RecordLocation(
        segment: segment.number, offset: UInt32(offset), count: UInt32(header.recordCount))
      if header.kind == .marks {
        // A mark that cannot be read may have been of anything before it.
        guard let record = try segment.file.read(header.recordCount, at: offset),
          let made = Record.marks(record, hasher: hasher)
        else { return .damaged }
        marks.add(made)
      } else {
        apply(header, at: location, segment: &segment, catalog: &catalog)
      }
      lastSequence = max(lastSequence, header.id, header.revision)
      offset += header.recordCount
    }
    return .whole
  }

  private func apply(
    _ header: RecordHeader, at location: RecordLocation, segment: inout Log.Segment, catalog: inout Catalog
  ) {
    switch header.kind {
    case .entry, .entryWithBodyFile:
      if let old = catalog.index.slot(for: header.hash, variant: header.variant) { catalog.index.remove(old) }
      guard catalog.index.count < DiskIndex.maximumCount else { return }
      var entry = DiskIndexEntry(
        hash: header.hash, variant: header.variant, id: header.id, location: location,
        storedAt: header.storedAt)
      if header.kind == .entryWithBodyFile {
        let size = DiskFormat.bodyFileSize(header.bodyCount)
        entry.hasBodyFile = true
        catalog.index.bodyFiles[header.id] = (header.bodyFile, size)
        segment.bodyFileBytes += size
      }
      segment.slots.append(catalog.index.insert(entry))
    case .metadata:
      guard let slot = catalog.index.slot(for: header.hash, variant: header.variant),
        catalog.index[slot].id == header.id
      else { return }
      catalog.index.updates[header.id] = (location, header.revision)
      catalog.index[slot].hasUpdate = true
      catalog.index[slot].storedSeconds = DiskIndexEntry.seconds(header.storedAt)
    case .removeVariant:
      if let slot = catalog.index.slot(for: header.hash, variant: header.variant) {
        catalog.index.remove(slot)
      }
    case .removeKey:
      for slot in catalog.index.slots(for: header.hash) { catalog.index.remove(slot) }
    case .clear:
      _ = catalog.index.clear(since: header.storedAt)
    case .marks:
      break
    }
  }

  /// The removals that damage has swallowed may have been of anything before it.
  private func forgetEverything(before segment: Log.Segment, log: inout Log, catalog: inout Catalog) {
    catalog.index = DiskIndex()
    for index in log.segments.indices { log.segments[index].slots = [] }
    // What was misread once may read well the next time: a removal until then must be logged to count.
    log.suspectsAll = true
  }

  /// Removes body files that nothing names, and entries whose body file is not there.
  private func settleBodyFiles(
    _ names: [String], log: inout Log, catalog: inout Catalog
  ) throws(FileFailure) {
    var unnamed = Set(names.compactMap(DiskFormat.bodyNumber))
    for slot in catalog.index.entries.indices where catalog.index.entries[slot].hasBodyFile {
      guard let file = catalog.index.bodyFiles[catalog.index.entries[slot].id] else { continue }
      if unnamed.remove(file.number) != nil {
        log.used += file.size
      } else {
        counters.corruptRecords.increment()
        catalog.index.remove(UInt32(slot))
      }
    }
    for number in unnamed {
      try files.unlink(directory.appending(DiskFormat.bodyName(number)))
    }
  }
}

/// A window on a file that is read from front to back with gaps: many small records cost one read.
private struct ScanWindow {
  private static let size = 128 * 1024

  let file: any File
  let size: Int
  private var start = 0
  private var bytes: [UInt8] = []

  init(file: any File, size: Int) {
    self.file = file
    self.size = size
  }

  /// Some bytes of the file; `nil` when it ends before.
  mutating func bytes(at offset: Int, count: Int) throws(FileFailure) -> ArraySlice<UInt8>? {
    guard count <= size - offset else { return nil }
    if offset < start || offset + count > start + bytes.count {
      bytes = try file.read(min(Self.size, size - offset), at: offset) ?? []
      start = offset
      // The file became shorter under us.
      guard bytes.count >= count else { return nil }
    }
    return bytes[offset - start..<offset - start + count]
  }

  /// Whether there is nothing but zeros from an offset to the end of the file.
  mutating func isZero(from offset: Int) throws(FileFailure) -> Bool {
    var offset = offset
    while offset < size {
      let count = min(Self.size, size - offset)
      guard let bytes = try bytes(at: offset, count: count), bytes.allSatisfy({ $0 == 0 }) else {
        return false
      }
      offset += count
    }
    return true
  }
}
