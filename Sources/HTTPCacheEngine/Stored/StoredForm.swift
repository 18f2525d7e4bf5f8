// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The stored form of a response: the bytes that are stored with its content.
///
/// All integers are little-endian. Version 6 begins with the facts that decide on reuse, at fixed offsets, so that a
/// decision reads them without copying:
///
/// | at | bytes | what |
/// |---|---|---|
/// | 0 | 1 | version |
/// | 1 | 1 | source of the lifetime |
/// | 2 | 2 | flags of ``ReuseFacts`` |
/// | 4 | 2 | status code |
/// | 6 | 2 | what is special: see ``Special`` |
/// | 8 | 8 × 4 | lifetime, initial age, response time, date; milliseconds |
/// | 40 | 4 × 2 | stale-while-revalidate, stale-if-error; seconds |
/// | 48 | 4 | number of selecting fields |
/// | 52 | | the selecting fields |
///
/// Each selecting field has the length of its name (3), its kind (1, see ``SelectingKind``), the length of its stored
/// value (4), the name, and the stored value: octets. ``SelectingKind/lineAndValue`` adds its normalised value as a text.
///
/// The rest is needed only to answer:
///
/// | bytes | what |
/// |---|---|
/// | text | reason phrase |
/// | 4, fields | number of fields; of each its name and, as a text, its value |
/// | 4, 8 × 2 × n, 8, 1 | if in parts: their number; of each start and end; the complete length or -1; whether others may be combined |
/// | 4, texts | if in groups: their number, and the groups |
/// | 4, tags | if tagged: the length of the tags, and the tags |
///
/// The tags are the number of their fields (4), and of each field its name as a text, the number of its tags (4), and these
/// as texts.
///
/// A text is its length in bytes (4) and its UTF-8. The name of a field is its number in ``FieldNameTable`` (1), or 0
/// and a text.
///
/// Version 5 has the same layout, without ``ReuseFacts/Flags/hadLifetime``, which follows from its lifetime. In it, several
/// responses could share one content (bit 2 of what is special), which a 304 had chosen for the requests of other clients.
/// Such a content may be for one client only, so it is not read.
enum StoredForm {
  static let version: UInt8 = 6
  /// The earliest version that is read.
  static let earliest: UInt8 = 5
  /// The offset of the selecting fields.
  static let frontCount = 52
  /// Maximum number of fields: `HTTPFields` accepts at most 65,534, and an answer adds some.
  static let mostFields = 65_000

  struct Special: OptionSet {
    let rawValue: UInt16

    /// Only parts of the content are stored.
    static let inParts = Special(rawValue: 1 << 0)
    /// `Vary: *`.
    static let unmatchable = Special(rawValue: 1 << 1)
    /// There are tags. What was written before there were tags has no such bit, and a reader that does not know it reads
    /// nothing: so the version stayed.
    static let tagged = Special(rawValue: 1 << 3)
    static let all: Special = [.inParts, .unmatchable, .tagged]
  }

  /// How the value of a selecting field is stored.
  enum SelectingKind: UInt8 {
    /// No value: the request did not have the field.
    case absent
    /// The normalised value of a field with several lines.
    case lines
    /// The only line, which is already normalised.
    case line
    /// The only line. Its normalised value follows as a text.
    case lineAndValue
    /// The digest of the normalised value, which must not be stored.
    case digest
  }

  static let longestSelectingName = 0xFF_FFFF
}

/// The front of a stored form.
struct StoredFront {
  let facts: ReuseFacts
  let status: Int
  let special: StoredForm.Special
  let selectingCount: Int

  /// Reads the front; `nil` if the bytes are not a stored form, or have another version.
  @inline(__always)
  init?(_ bytes: RawSpan) {
    guard bytes.byteCount >= StoredForm.frontCount else { return nil }
    let word: UInt64 = bytes.integer(at: 0)
    let lifetime: Int64 = bytes.integer(at: 8)
    let initialAge: Int64 = bytes.integer(at: 16)
    let whileRevalidate: UInt32 = bytes.integer(at: 40)
    let ifError: UInt32 = bytes.integer(at: 44)
    let count: UInt32 = bytes.integer(at: 48)
    special = StoredForm.Special(rawValue: UInt16(truncatingIfNeeded: word >> 48))
    status = Int(UInt16(truncatingIfNeeded: word >> 32))
    selectingCount = Int(count)
    let version = UInt8(truncatingIfNeeded: word)
    guard version == StoredForm.version || version == StoredForm.earliest,
      let source = FreshnessLifetime.Source(rawValue: UInt8(truncatingIfNeeded: word >> 8)),
      lifetime >= 0, initialAge >= 0, (100...999).contains(status), special.isSubset(of: .all)
    else { return nil }
    var flags = ReuseFacts.Flags(rawValue: UInt16(truncatingIfNeeded: word >> 16))
    let freshness = FreshnessLifetime(milliseconds: lifetime, source: source)
    if version != StoredForm.version, freshness.counts(after: initialAge) { flags.insert(.hadLifetime) }
    facts = ReuseFacts(
      flags: flags, lifetime: freshness, initialAge: initialAge,
      responseTime: Timestamp(milliseconds: bytes.integer(at: 24)),
      date: Timestamp(milliseconds: bytes.integer(at: 32)),
      staleWhileRevalidate: DeltaSeconds(Int64(whileRevalidate)), staleIfError: DeltaSeconds(Int64(ifError)))
  }
}

/// Reads the bytes after the front, in order. Every range that it returns lies within the bytes.
struct StoredFormReader {
  private(set) var position: Int

  init(position: Int) { self.position = position }

  /// Makes a reader at the reason phrase; `nil` if the bytes end before it.
  @inline(__always)
  init?(afterSelectingOf bytes: RawSpan, _ front: StoredFront) {
    position = StoredForm.frontCount
    for _ in 0..<front.selectingCount {
      guard selecting(bytes) != nil else { return nil }
    }
  }

  // A position is never beyond the end of the bytes, and a length has at most 32 bits: no sum of them overflows.

  @inline(__always)
  private mutating func take(_ count: Int, _ bytes: RawSpan) -> Int? {
    let start = position
    guard count <= bytes.byteCount &- start else { return nil }
    position = start &+ count
    return start
  }

  @inline(__always)
  mutating func byte(_ bytes: RawSpan) -> UInt8? {
    take(1, bytes).map { bytes.integer(at: $0) }
  }

  @inline(__always)
  mutating func count(_ bytes: RawSpan) -> Int? {
    take(4, bytes).map { Int(bytes.integer(at: $0) as UInt32) }
  }

  mutating func number(_ bytes: RawSpan) -> Int64? {
    take(8, bytes).map { bytes.integer(at: $0) }
  }

  @inline(__always)
  mutating func text(_ bytes: RawSpan) -> ByteRange? {
    guard let count = count(bytes), let start = take(count, bytes) else { return nil }
    return ByteRange(start: start, end: start &+ count)
  }

  /// Reads one selecting field: its name, its only line, and its normalised value.
  @inline(__always)
  mutating func selecting(_ bytes: RawSpan) -> Selecting? {
    guard let start = take(8, bytes) else { return nil }
    let word: UInt64 = bytes.integer(at: start)
    let nameCount = Int(truncatingIfNeeded: word & 0xFF_FFFF)
    let keptCount = Int(truncatingIfNeeded: word >> 32)
    guard let kind = StoredForm.SelectingKind(rawValue: UInt8(truncatingIfNeeded: word >> 24)), nameCount > 0,
      let nameStart = take(nameCount &+ keptCount, bytes)
    else { return nil }
    let name = ByteRange(start: nameStart, end: nameStart &+ nameCount)
    let kept = ByteRange(start: name.end, end: name.end &+ keptCount)
    switch kind {
    case .absent: return kept.isEmpty ? Selecting(name: name, kind: kind, line: nil, value: nil) : nil
    case .lines, .digest: return Selecting(name: name, kind: kind, line: nil, value: kept)
    case .line: return Selecting(name: name, kind: kind, line: kept, value: kept)
    case .lineAndValue:
      guard let value = text(bytes) else { return nil }
      return Selecting(name: name, kind: kind, line: kept, value: value)
    }
  }

  struct Selecting {
    var name: ByteRange
    var kind: StoredForm.SelectingKind
    var line: ByteRange?
    var value: ByteRange?
  }

  /// Reads one field.
  @inline(__always)
  mutating func line(_ bytes: RawSpan) -> StoredLine? {
    // The number and a length: of the value, or of the name.
    guard let start = take(5, bytes) else { return nil }
    let number: UInt8 = bytes.integer(at: start)
    let count = Int(bytes.integer(at: start &+ 1) as UInt32)
    guard let text = take(count, bytes) else { return nil }
    let first = ByteRange(start: text, end: text &+ count)
    if number != 0 {
      return number <= FieldNameTable.count
        ? StoredLine(number: number, name: ByteRange(start: 0, end: 0), value: first) : nil
    }
    guard isName(first, bytes), let value = self.text(bytes) else { return nil }
    return StoredLine(number: 0, name: first, value: value)
  }

  /// Reads so many fields.
  ///
  /// Not inlined: with the rest of a stored form in registers too, each field took 30 instructions more.
  @inline(never)
  mutating func lines(_ count: Int, _ bytes: RawSpan) -> ByteRange? {
    var reader = self
    for _ in 0..<count {
      guard reader.line(bytes) != nil else { return nil }
    }
    let lines = ByteRange(start: position, end: reader.position)
    self = reader
    return lines
  }

  /// RFC 9110 §5.1.
  private func isName(_ range: ByteRange, _ bytes: RawSpan) -> Bool {
    if range.isEmpty { return false }
    for position in range.start..<range.end where !(bytes.integer(at: position) as UInt8).isTokenCharacter {
      return false
    }
    return true
  }
}
