import HTTPTypes

/// The bytes a stored response is kept as, beside its content.
///
/// All integers are little-endian. Version 2:
///
/// | bytes | what |
/// |---|---|
/// | 1 | version |
/// | 1 | source of the lifetime |
/// | 2 | flags of ``ReuseFacts`` |
/// | 8 × 4 | lifetime, initial age, response time, date; milliseconds |
/// | 4 × 2 | stale-while-revalidate, stale-if-error; seconds |
/// | 2 | status code |
/// | text | reason phrase |
/// | 1 | whether the response varies on `*` |
/// | 4, texts | number of selecting fields; of each its name, whether it was present (1 byte), its value |
/// | 4, fields | number of fields; of each its name and, as a text, its value |
/// | 4 | number of stored ranges of the content; 0 if it is whole |
/// | 8 × 2 × n, 8, 1 | of each range its start and end; the complete length or -1; whether others may be combined |
/// | 4, texts | number of groups, and the groups; only if the flags say that there are some |
///
/// A text is its length in bytes (4) and its UTF-8. A name is its number in ``FieldNameTable`` (1), or 0 and a text. The decision's integers come first and have fixed places, so that
/// they can be read without the rest.
extension StoredResponse {
  private static let version: UInt8 = 2

  /// The bytes to store.
  public func encoded() -> [UInt8] {
    var writer = ByteWriter()
    writer.bytes.reserveCapacity(128 + fields.count * 48)
    writer.write(Self.version)
    writer.write(facts.lifetime.source.rawValue)
    writer.write(facts.flags.rawValue)
    writer.write(facts.lifetime.milliseconds)
    writer.write(facts.initialAge)
    writer.write(facts.responseTime.milliseconds)
    writer.write(facts.date.milliseconds)
    writer.write(UInt32(facts.staleWhileRevalidate.seconds))
    writer.write(UInt32(facts.staleIfError.seconds))
    writer.write(UInt16(status.code))
    writer.write(status.reasonPhrase)
    writer.write(UInt8(selecting.isUnmatchable ? 1 : 0))
    writer.write(UInt32(selecting.fields.count))
    for field in selecting.fields {
      writer.write(field.name)
      writer.write(UInt8(field.value == nil ? 0 : 1))
      writer.write(field.value ?? "")
    }
    writer.write(UInt32(fields.count))
    for field in fields {
      let number = FieldNameTable.number(of: field.name)
      writer.write(number)
      if number == 0 { writer.write(field.name.rawName) }
      // The bytes, not the text: a value need not be UTF-8 (RFC 9110 §5.5), and is kept as it came.
      field.withUnsafeBytesOfValue { writer.write(bytes: $0) }
    }
    Self.write(parts, to: &writer)
    if facts.flags.contains(.hasGroups) {
      writer.write(UInt32(groups.count))
      for group in groups { writer.write(group) }
    }
    return writer.bytes
  }

  /// Reads what ``encoded()`` wrote; `nil` for anything else, whatever the bytes are.
  public init?(decoding bytes: ArraySlice<UInt8>) {
    var reader = ByteReader(bytes)
    guard reader.readByte() == Self.version,
      let source = reader.readByte().flatMap(FreshnessLifetime.Source.init(rawValue:)),
      let flags: UInt16 = reader.readInteger(), let lifetime: Int64 = reader.readInteger(),
      let initialAge: Int64 = reader.readInteger(), let responseTime: Int64 = reader.readInteger(),
      let date: Int64 = reader.readInteger(), let whileRevalidate: UInt32 = reader.readInteger(),
      let ifError: UInt32 = reader.readInteger(), let code: UInt16 = reader.readInteger(),
      lifetime >= 0, initialAge >= 0, (100...999).contains(code), let phrase = reader.readText(),
      let unmatchable = reader.readByte(),
      let selecting = Self.readSelecting(&reader), let fields = Self.readFields(&reader),
      let parts = Self.readParts(&reader),
      let groups = Self.readGroups(&reader, ReuseFacts.Flags(rawValue: flags)), reader.isAtEnd
    else { return nil }
    self.init(
      status: HTTPResponse.Status(code: Int(code), reasonPhrase: phrase), fields: fields,
      selecting: SelectingFields(fields: selecting, isUnmatchable: unmatchable != 0),
      facts: ReuseFacts(
        flags: ReuseFacts.Flags(rawValue: flags),
        lifetime: FreshnessLifetime(milliseconds: lifetime, source: source), initialAge: initialAge,
        responseTime: Timestamp(milliseconds: responseTime), date: Timestamp(milliseconds: date),
        staleWhileRevalidate: DeltaSeconds(Int64(whileRevalidate)),
        staleIfError: DeltaSeconds(Int64(ifError))))
    self.parts = parts.stored
    if !groups.isEmpty { self.groups = groups }
  }

  private static func write(_ parts: StoredParts?, to writer: inout ByteWriter) {
    writer.write(UInt32(parts?.ranges.count ?? 0))
    guard let parts else { return }
    for range in parts.ranges {
      writer.write(range.lowerBound)
      writer.write(range.upperBound)
    }
    writer.write(parts.completeLength ?? -1)
    writer.write(UInt8(parts.isCombinable ? 1 : 0))
  }

  /// `nil` for what cannot be read, as against a content that is whole.
  private static func readParts(_ reader: inout ByteReader) -> (stored: StoredParts?, Void)? {
    guard let count: UInt32 = reader.readInteger(), count <= UInt32(StoredParts.limit) else { return nil }
    if count == 0 { return (nil, ()) }
    var ranges: [Range<Int64>] = []
    for _ in 0..<count {
      guard let start: Int64 = reader.readInteger(), let end: Int64 = reader.readInteger(), start < end
      else { return nil }
      ranges.append(start..<end)
    }
    guard let length: Int64 = reader.readInteger(), let isCombinable = reader.readByte(),
      let parts = StoredParts(
        ranges: ranges, completeLength: length < 0 ? nil : length, isCombinable: isCombinable != 0)
    else { return nil }
    return (parts, ())
  }

  private static func readGroups(_ reader: inout ByteReader, _ flags: ReuseFacts.Flags) -> [String]? {
    guard flags.contains(.hasGroups) else { return [] }
    guard let count: UInt32 = reader.readInteger() else { return nil }
    var groups: [String] = []
    for _ in 0..<count {
      guard let group = reader.readText() else { return nil }
      groups.append(group)
    }
    return groups
  }

  private static func readSelecting(_ reader: inout ByteReader) -> [SelectingFields.Field]? {
    guard let count: UInt32 = reader.readInteger() else { return nil }
    var fields: [SelectingFields.Field] = []
    // No reservation by the count: it may be anything, and the bytes run out first.
    for _ in 0..<count {
      guard let name = reader.readText(), let present = reader.readByte(), let value = reader.readText()
      else { return nil }
      fields.append(.init(name: name, value: present == 0 ? nil : value))
    }
    return fields
  }

  private static func readFields(_ reader: inout ByteReader) -> HTTPFields? {
    guard let count: UInt32 = reader.readInteger() else { return nil }
    var fields = HTTPFields()
    fields.reserveCapacity(Int(Swift.min(count, 64)))
    for _ in 0..<count {
      guard let number = reader.readByte() else { return nil }
      let name =
        number == 0
        ? reader.readText().flatMap(HTTPField.Name.init(_:)) : FieldNameTable.name(numbered: number)
      guard let name, let value = reader.readBytes() else { return nil }
      fields.append(HTTPField(name: name, value: value))
    }
    return fields
  }
}

private struct ByteWriter {
  var bytes: [UInt8] = []

  mutating func write(_ integer: some FixedWidthInteger) {
    for shift in stride(from: 0, to: integer.bitWidth, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: integer >> shift))
    }
  }

  mutating func write(_ text: String) {
    write(bytes: text.utf8)
  }

  mutating func write(bytes: some Collection<UInt8>) {
    write(UInt32(truncatingIfNeeded: bytes.count))
    self.bytes += bytes
  }
}

private struct ByteReader {
  private let bytes: ArraySlice<UInt8>
  private var position: Int

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    position = bytes.startIndex
  }

  var isAtEnd: Bool { position == bytes.endIndex }

  mutating func readByte() -> UInt8? {
    guard position < bytes.endIndex else { return nil }
    defer { position += 1 }
    return bytes[position]
  }

  mutating func readInteger<Integer: FixedWidthInteger>() -> Integer? {
    let width = Integer.bitWidth / 8
    guard bytes.endIndex - position >= width else { return nil }
    var value: Integer = 0
    for offset in 0..<width {
      value |= Integer(truncatingIfNeeded: bytes[position + offset]) << (offset * 8)
    }
    position += width
    return value
  }

  mutating func readBytes() -> ArraySlice<UInt8>? {
    guard let length: UInt32 = readInteger(), bytes.endIndex - position >= Int(length) else { return nil }
    defer { position += Int(length) }
    return bytes[position..<position + Int(length)]
  }

  mutating func readText() -> String? {
    readBytes().map { String(decoding: $0, as: UTF8.self) }
  }
}
