// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The fixed part of a record in the log: 96 bytes, described field by field in `Format.md`.
struct RecordHeader: Equatable {
  enum Kind: UInt8 {
    /// An entry with its body in the record.
    case entry = 1
    /// An entry whose body is a separate file.
    case entryWithBodyFile = 2
    /// New metadata for an entry earlier in the log.
    case metadata = 3
    /// Removes one variant of a key.
    case removeVariant = 4
    /// Removes every variant of a key.
    case removeKey = 5
    /// Removes entries stored at or after a time.
    case clear = 6
    /// Marks scopes: entries in them with a lower id are outdated.
    case marks = 7
    /// Lists the records before it in the segment, for opening.
    case summary = 8
  }

  static let size = 96
  static let magic: UInt32 = 0x3152_4348  // "HCR1"

  var kind: Kind
  var hash: UInt64 = 0
  /// In an entry, its variant; in a record that refers to an entry, the fingerprint by which the index knows it.
  var variant: UInt64 = 0
  var id: UInt64
  var revision: UInt64
  var storedAt: Int64 = 0
  var keyCount = 0
  var metadataCount = 0
  var bodyCount = 0
  var bodyChecksum: UInt64 = 0
  var bodyFile: UInt64 = 0
  var headChecksum: UInt64 = 0

  /// The bytes of the body that are in the record.
  var inlineBodyCount: Int { kind == .entry ? bodyCount : 0 }

  /// The record's length in the log, including padding.
  var recordCount: Int {
    (Self.size + keyCount + metadataCount + inlineBodyCount + 7) & ~7
  }

  var headRange: Range<Int> { Self.size..<Self.size + keyCount + metadataCount }
  var metadataRange: Range<Int> { Self.size + keyCount..<Self.size + keyCount + metadataCount }
  var bodyRange: Range<Int> {
    let start = Self.size + keyCount + metadataCount
    return start..<start + inlineBodyCount
  }

  /// Whether the record has this key.
  func hasKey(_ key: [UInt8], in record: UnsafeRawBufferPointer) -> Bool {
    guard key.count == keyCount else { return false }
    return key.withUnsafeBytes { key in
      UnsafeRawBufferPointer(rebasing: record[Self.size..<Self.size + keyCount]).matches(key)
    }
  }

  /// The fingerprint by which the index knows the entry.
  var fingerprint: UInt32 {
    switch kind {
    case .entry, .entryWithBodyFile: DiskIndexEntry.fingerprint(of: variant, hash: hash)
    default: UInt32(truncatingIfNeeded: variant)
    }
  }

  // MARK: Coding

  func encode(into bytes: UnsafeMutableRawBufferPointer, hasher: KeyHasher) {
    func put<Value: FixedWidthInteger>(_ value: Value, _ offset: Int) {
      bytes.storeBytes(of: value.littleEndian, toByteOffset: offset, as: Value.self)
    }
    put(Self.magic, 0)
    put(UInt32(kind.rawValue), 4)
    put(hash, 8)
    put(variant, 16)
    put(id, 24)
    put(revision, 32)
    put(storedAt, 40)
    put(UInt32(keyCount), 48)
    put(UInt32(metadataCount), 52)
    put(UInt64(bodyCount), 56)
    put(bodyChecksum, 64)
    put(bodyFile, 72)
    put(headChecksum, 80)
    put(hasher.checksum(UnsafeRawBufferPointer(rebasing: bytes[..<88])), 88)
  }

  /// Reads the header from the first bytes of a buffer; `nil` if its checksum is wrong or a field is out of range.
  init?(_ bytes: UnsafeRawBufferPointer, hasher: KeyHasher) {
    func get<Value: FixedWidthInteger>(_ offset: Int, _ type: Value.Type = Value.self) -> Value {
      Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }
    guard bytes.count >= Self.size, get(0) == Self.magic,
      get(88) == hasher.checksum(UnsafeRawBufferPointer(rebasing: bytes[..<88])),
      let kind = UInt8(exactly: get(4, UInt32.self)).flatMap(Kind.init(rawValue:)),
      let bodyCount = Int(exactly: get(56, UInt64.self))
    else { return nil }
    self.kind = kind
    hash = get(8)
    variant = get(16)
    id = get(24)
    revision = get(32)
    storedAt = get(40)
    keyCount = Int(get(48, UInt32.self))
    metadataCount = Int(get(52, UInt32.self))
    self.bodyCount = bodyCount
    bodyChecksum = get(64)
    bodyFile = get(72)
    headChecksum = get(80)
    guard id < DiskFormat.numberLimit, revision < DiskFormat.numberLimit else { return nil }
    // No record is larger than a segment, and no file is larger than an exbibyte; so sums of the other lengths cannot
    // overflow.
    guard inlineBodyCount <= DiskFormat.maximumSegmentSize, bodyCount <= 1 << 60 else { return nil }
  }

  init(
    kind: Kind, hash: UInt64 = 0, variant: UInt64 = 0, id: UInt64, revision: UInt64, storedAt: Int64 = 0
  ) {
    self.kind = kind
    self.hash = hash
    self.variant = variant
    self.id = id
    self.revision = revision
    self.storedAt = storedAt
  }
}

/// A record of the log with its bytes.
enum Record {
  /// Encodes a record; completes the header's lengths and checksums.
  static func encode(
    _ header: inout RecordHeader, key: ArraySlice<UInt8> = [], metadata: ArraySlice<UInt8> = [],
    inlineBody: ArraySlice<UInt8>? = nil, hasher: KeyHasher
  ) -> [UInt8] {
    header.keyCount = key.count
    header.metadataCount = metadata.count
    if let inlineBody {
      header.bodyCount = inlineBody.count
      header.bodyChecksum = hasher.checksum(inlineBody)
    }
    return encode(
      header, count: header.recordCount, key: key, metadata: metadata, body: inlineBody ?? [], hasher)
  }

  /// Encodes a record as above, but leaves the body in its array.
  static func encodeApart(
    _ header: inout RecordHeader, key: [UInt8], metadata: [UInt8], body: [UInt8], hasher: KeyHasher
  ) -> RecordBytes {
    header.keyCount = key.count
    header.metadataCount = metadata.count
    header.bodyCount = body.count
    header.bodyChecksum = hasher.checksum(body)
    let head = encode(
      header, count: header.headRange.upperBound, key: key[...], metadata: metadata[...], body: [], hasher)
    return RecordBytes(head: head, body: body)
  }

  private static func encode(
    _ header: RecordHeader, count: Int, key: ArraySlice<UInt8>, metadata: ArraySlice<UInt8>,
    body: ArraySlice<UInt8>, _ hasher: KeyHasher
  ) -> [UInt8] {
    [UInt8](capacity: count) { bytes in
      var header = header
      var index = RecordHeader.size
      for part in [key, metadata, body] {
        UnsafeMutableRawBufferPointer(rebasing: bytes[index...]).copyBytes(from: part)
        index += part.count
      }
      UnsafeMutableRawBufferPointer(rebasing: bytes[index...]).initializeMemory(as: UInt8.self, repeating: 0)
      header.headChecksum = hasher.checksum(UnsafeRawBufferPointer(rebasing: bytes[header.headRange]))
      header.encode(into: bytes, hasher: hasher)
      return count
    }
  }

  /// Returns the header of a whole record; `nil` if its header or its head is damaged.
  static func verifiedHeader(_ record: [UInt8], hasher: KeyHasher) -> RecordHeader? {
    record.withUnsafeBytes { verifiedHeader($0, hasher: hasher) }
  }

  @inline(__always)
  static func verifiedHeader(_ record: UnsafeRawBufferPointer, hasher: KeyHasher) -> RecordHeader? {
    guard let header = RecordHeader(record, hasher: hasher), header.recordCount == record.count,
      hasher.checksum(UnsafeRawBufferPointer(rebasing: record[header.headRange])) == header.headChecksum
    else { return nil }
    return header
  }

  /// Most heads are shorter, and little of a body is read in vain.
  private static let headSize = 2048

  /// Reads the header of a record and its first bytes, which include key and metadata; `nil` if they are damaged.
  static func readHead(
    at location: RecordLocation, of file: any File, buffered: RecordBytes? = nil, hasher: KeyHasher
  ) -> (header: RecordHeader, bytes: [UInt8])? {
    let (count, offset) = (Int(location.count), Int(location.offset))
    guard var bytes = buffered?.head ?? (try? file.read(min(count, headSize), at: offset)),
      let header = bytes.withUnsafeBytes({ RecordHeader($0, hasher: hasher) }), header.recordCount == count
    else { return nil }
    if header.headRange.upperBound > bytes.count {
      guard let more = try? file.read(header.headRange.upperBound, at: offset) else { return nil }
      bytes = more
    }
    guard hasher.checksum(bytes[header.headRange]) == header.headChecksum else { return nil }
    return (header, bytes)
  }
}

extension Record {
  /// Encodes a record of marks: their table takes the place of the metadata.
  static func encode(_ marks: Invalidations.Marks, hasher: KeyHasher) -> (RecordHeader, [UInt8]) {
    var header = RecordHeader(
      kind: .marks, variant: marks.floor, id: marks.latest, revision: marks.latest)
    var table: [UInt8] = []
    table.reserveCapacity(marks.numbers.count * 16)
    for (hash, number) in marks.numbers {
      table += DiskFormat.littleEndianBytes(hash)
      table += DiskFormat.littleEndianBytes(number)
    }
    let record = encode(&header, metadata: table[...], hasher: hasher)
    return (header, record)
  }

  /// Returns the marks of a whole record; `nil` if it is damaged.
  static func marks(_ record: [UInt8], hasher: KeyHasher) -> Invalidations.Marks? {
    guard let header = verifiedHeader(record, hasher: hasher), header.kind == .marks else { return nil }
    let words = DiskFormat.words(Array(record[header.metadataRange]))
    var marks = Invalidations.Marks(floor: header.variant)
    for index in stride(from: 0, to: words.count - words.count % 2, by: 2) {
      marks.numbers[words[index]] = words[index + 1]
    }
    return marks
  }
}
