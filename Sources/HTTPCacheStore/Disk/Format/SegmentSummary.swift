// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The list of a segment's records, in a table at its end: see `Format.md`.
struct SegmentSummary {
  /// What an opening needs to know of one record.
  struct Row: Equatable {
    var kind: RecordHeader.Kind
    var hash: UInt64
    var fingerprint: UInt32
    var id: UInt64
    var storedSeconds: UInt32
    var offset: UInt32
    var count: UInt32
    /// For metadata, its revision; for an entry with a body file, the number of the file.
    var number: UInt64 = 0
    /// The length of a body that has its own file.
    var bodyCount = 0

    init(_ header: RecordHeader, offset: Int) {
      kind = header.kind
      hash = header.hash
      fingerprint = header.fingerprint
      id = header.id
      storedSeconds = DiskIndexEntry.seconds(header.storedAt)
      self.offset = UInt32(offset)
      count = UInt32(header.recordCount)
      if kind == .metadata { number = header.revision }
      if kind == .entryWithBodyFile {
        number = header.bodyFile
        bodyCount = header.bodyCount
      }
    }

    /// The bytes of the row in the table.
    var size: Int { Self.size(kind) }

    static func size(_ kind: RecordHeader.Kind) -> Int {
      kind == .metadata || kind == .entryWithBodyFile ? 48 : 32
    }
  }

  static let footerSize = 48
  /// The bytes of the longest row.
  static let longestRow = 48
  static let magic: UInt64 = 0x444E_4548_4341_4348  // "HCACHEND"

  /// The rows, as they are in the file.
  private(set) var table: [UInt8] = []
  private(set) var count = 0
  /// No record of the segment up to here has a higher number.
  private(set) var highest: UInt64
  /// Where the previous summary ends in the segment, which covers the records before it; 0 if there is none.
  private(set) var previousEnd = 0

  init(floor: UInt64 = 0) {
    highest = floor == 0 ? 0 : floor - 1
  }

  // MARK: Making

  /// Bytes that the summary will take in the file.
  var recordCount: Int { count == 0 ? 0 : RecordHeader.size + table.count + Self.footerSize }

  /// Bytes that one more row will take.
  func growth(_ kind: RecordHeader.Kind) -> Int {
    Row.size(kind) + (count == 0 ? RecordHeader.size + Self.footerSize : 0)
  }

  mutating func add(_ row: Row, highest number: UInt64) {
    func put(_ word: UInt64) { withUnsafeBytes(of: word.littleEndian) { table.append(contentsOf: $0) } }
    put(row.hash)
    put(row.id << 16 | UInt64(row.kind.rawValue))
    put(UInt64(row.storedSeconds) << 32 | UInt64(row.fingerprint))
    put(UInt64(row.count) << 32 | UInt64(row.offset))
    if row.size > 32 {
      put(row.number)
      put(UInt64(row.bodyCount))
    }
    count += 1
    highest = max(highest, number)
  }

  mutating func raise(_ number: UInt64) { highest = max(highest, number) }

  /// Begins a new summary after one that ends here.
  mutating func begin(after end: Int) {
    table = []
    count = 0
    previousEnd = end
  }

  /// Returns the record of the summary, to be written at an offset.
  func record(at offset: Int, segment: UInt32, hasher: KeyHasher) -> [UInt8] {
    var footer = DiskFormat.littleEndianBytes(Self.magic)
    for word in [
      UInt64(count) << 32 | UInt64(offset), highest, hasher.checksum(table),
      UInt64(segment) << 32 | UInt64(previousEnd),
    ] {
      footer += DiskFormat.littleEndianBytes(word)
    }
    footer += DiskFormat.littleEndianBytes(hasher.checksum(footer))
    var header = RecordHeader(kind: .summary, id: highest, revision: highest)
    return Record.encode(&header, metadata: (table + footer)[...], hasher: hasher)
  }

  // MARK: Reading

  /// Number of bytes that are read first from the end of a segment: most summaries are shorter.
  private static let firstRead = 64 * 1024

  /// Reads the summary that ends at an offset of a segment; `nil` if there is none, or it is damaged.
  static func read(
    from file: any File, endingAt end: Int, segment: UInt32, hasher: KeyHasher
  ) throws(FileFailure) -> SegmentSummary? {
    let start = max(0, end - firstRead)
    guard end % 8 == 0, let tail = try file.read(end - start, at: start), tail.count >= footerSize else {
      return nil
    }
    let footer = DiskFormat.words(Array(tail.suffix(footerSize)))
    guard footer[0] == magic, footer[5] == hasher.checksum(tail.suffix(footerSize).dropLast(8)),
      footer[2] < DiskFormat.numberLimit, footer[4] >> 32 == segment
    else { return nil }
    let tableStart = Int(footer[1] & 0xFFFF_FFFF) + RecordHeader.size
    let tableEnd = end - footerSize
    guard tableStart <= tableEnd else { return nil }
    var summary = SegmentSummary()
    if tableStart >= start {
      summary.table = Array(tail[(tableStart - start)..<(tableEnd - start)])
    } else {
      guard let whole = try file.read(tableEnd - tableStart, at: tableStart) else { return nil }
      summary.table = whole
    }
    guard hasher.checksum(summary.table) == footer[3] else { return nil }
    summary.count = Int(footer[1] >> 32)
    summary.highest = footer[2]
    summary.previousEnd = Int(footer[4] & 0xFFFF_FFFF)
    // Each summary must be before the next, so that following them ends.
    guard summary.previousEnd <= tableStart - RecordHeader.size, summary.count <= summary.table.count / 32
    else { return nil }
    return summary
  }

  /// Calls `body` with all rows. Returns `false` if they cannot be rows of a segment of this length.
  func forEach(below end: Int, _ body: (Row) -> Void) -> Bool {
    table.withUnsafeBytes { bytes in
      func word(_ offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      }
      var offset = 0
      while offset + 32 <= bytes.count {
        guard let kind = RecordHeader.Kind(rawValue: UInt8(truncatingIfNeeded: word(offset + 8))) else {
          return false
        }
        let size = Row.size(kind)
        guard offset + size <= bytes.count else { return false }
        let (times, place) = (word(offset + 16), word(offset + 24))
        var row = Row(
          kind: kind, hash: word(offset), fingerprint: UInt32(truncatingIfNeeded: times),
          id: word(offset + 8) >> 16, storedSeconds: UInt32(times >> 32),
          offset: UInt32(truncatingIfNeeded: place), count: UInt32(place >> 32))
        if size > 32 {
          row.number = word(offset + 32)
          row.bodyCount = Int(truncatingIfNeeded: word(offset + 40) & (1 << 60 - 1))
        }
        guard Int(row.offset) + Int(row.count) <= end, row.count >= UInt32(RecordHeader.size) else {
          return false
        }
        body(row)
        offset += size
      }
      return offset == bytes.count
    }
  }
}

extension SegmentSummary.Row {
  fileprivate init(
    kind: RecordHeader.Kind, hash: UInt64, fingerprint: UInt32, id: UInt64, storedSeconds: UInt32,
    offset: UInt32, count: UInt32
  ) {
    self.kind = kind
    self.hash = hash
    self.fingerprint = fingerprint
    self.id = id
    self.storedSeconds = storedSeconds
    self.offset = offset
    self.count = count
  }
}
