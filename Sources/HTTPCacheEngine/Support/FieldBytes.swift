import HTTPTypes

/// Access to the bytes of a field value without copying them.
///
/// This file and `SelectingBytes` are the only ones of the engine that meet an unsafe pointer; everybody else gets a
/// bounds-checked `Span`.
extension String {
  /// Calls `body` with the UTF-8 bytes of this string.
  func withFieldBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    if let result = utf8.withContiguousStorageIfAvailable({ body($0.span) }) {
      return result
    }
    var copy = self  // A bridged string of Apple's systems: made native first.
    return copy.withUTF8 { body($0.span) }
  }
}

/// A half-open range of positions in the bytes of a field value.
struct ByteRange {
  var start: Int
  var end: Int

  var isEmpty: Bool { start >= end }
  var count: Int { Swift.max(0, end - start) }
}

extension Span where Element == UInt8 {
  var whole: ByteRange { ByteRange(start: 0, end: count) }

  /// The range without optional whitespace (OWS, RFC 9110 §5.6.3) at its ends.
  func trimmed(_ range: ByteRange) -> ByteRange {
    var range = range
    while range.start < range.end, self[range.start].isOptionalWhitespace { range.start += 1 }
    while range.end > range.start, self[range.end - 1].isOptionalWhitespace { range.end -= 1 }
    return range
  }

  /// Whether the range holds this ASCII text, in whatever case.
  ///
  /// Compared by eight bytes at a time, or four: one by one, the names of directives took a third of the instructions of
  /// parsing Cache-Control.
  ///
  /// - Parameter lowercase: has letters, digits, `-`, `/` and `=` only.
  func matches(_ lowercase: StaticString, in range: ByteRange) -> Bool {
    let count = range.count
    guard count == lowercase.utf8CodeUnitCount else { return false }
    return lowercase.withUTF8Buffer { expected in
      let expected = expected.span.bytes
      if count >= 8 { return bytes.matches(expected, from: range.start, count, by: UInt64.self) }
      if count >= 4 { return bytes.matches(expected, from: range.start, count, by: UInt32.self) }
      return bytes.matches(expected, from: range.start, count, by: UInt8.self)
    }
  }

  /// Whether a byte is among them; eight are looked at together.
  func contains(_ byte: UInt8) -> Bool {
    let (bytes, ones) = (bytes, UInt64.max / 0xFF)
    var position = 0
    while count - position >= 8 {
      // A byte of zero, where the word has the byte looked for, and no other, borrows from its upper bit.
      let word = bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self) ^ (ones &* UInt64(byte))
      if (word &- ones) & ~word & (ones << 7) != 0 { return true }
      position += 8
    }
    while position < count {
      if self[position] == byte { return true }
      position += 1
    }
    return false
  }

  func string(_ range: ByteRange) -> String {
    guard !range.isEmpty else { return "" }
    // Without a copy in between: what is short needs no memory of its own at all.
    return String(unsafeUninitializedCapacity: range.count) { text in
      for offset in 0..<range.count { text[offset] = self[range.start + offset] }
      return range.count
    }
  }

  /// The text of a range in lowercase, which must be of ASCII alone.
  func lowercasedString(_ range: ByteRange) -> String {
    guard !range.isEmpty else { return "" }
    return String(unsafeUninitializedCapacity: range.count) { text in
      for offset in 0..<range.count { text[offset] = self[range.start + offset].lowercasedASCII }
      return range.count
    }
  }
}

extension Span<UInt8> {
  /// The texts of some ranges in lowercase, which must be of ASCII alone, with a character between any two.
  func lowercasedString(_ ranges: [ByteRange], separator: UInt8) -> String {
    let count = ranges.reduce(0) { $0 + $1.count + 1 } - 1
    guard count > 0 else { return "" }
    return String(unsafeUninitializedCapacity: count) { text in
      var end = 0
      for range in ranges {
        if end > 0 {
          text[end] = separator
          end += 1
        }
        for offset in 0..<range.count { text[end + offset] = self[range.start + offset].lowercasedASCII }
        end += range.count
      }
      return end
    }
  }
}

extension RawSpan {
  /// Whether the bytes from `start` on are those of a lowercase text, in whatever case.
  ///
  /// Words at the end may overlap. Of the characters that such a text has, the letters alone have bit 6 set: bit 5 is
  /// their case, and all other bits must be equal.
  @inline(__always)
  fileprivate func matches<Word: FixedWidthInteger & BitwiseCopyable>(
    _ lowercase: RawSpan, from start: Int, _ count: Int, by _: Word.Type
  ) -> Bool {
    let width = MemoryLayout<Word>.size
    let bit6 = Word.max / 0xFF * 0x40
    var offset = 0
    while offset < count {
      offset = Swift.min(offset, count - width)
      let expected = lowercase.unsafeLoadUnaligned(fromByteOffset: offset, as: Word.self)
      let word = unsafeLoadUnaligned(fromByteOffset: start + offset, as: Word.self)
      if word | ((expected & bit6) >> 1) != expected { return false }
      offset += width
    }
    return true
  }
}

extension [UInt8] {
  /// Adds bytes.
  mutating func append(_ bytes: Span<UInt8>) {
    bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
  }
}

extension ArraySlice<UInt8> {
  /// Calls `body` with these bytes.
  func withBytes<Result>(_ body: (RawSpan) -> Result) -> Result {
    withUnsafeBytes { body($0.bytes) }
  }
}

/// The bytes of a stored response. A range outside of them is a mistake of ours, and ends the process.
extension RawSpan {
  /// A little-endian integer.
  @inline(__always)
  func integer<Integer: FixedWidthInteger & BitwiseCopyable>(at position: Int) -> Integer {
    Integer(littleEndian: unsafeLoadUnaligned(fromByteOffset: position, as: Integer.self))
  }

  /// The text of these bytes; what is no UTF-8 in them is replaced.
  func string(_ range: ByteRange) -> String {
    withBytes(range) { bytes in
      bytes.withMemoryRebound(to: UInt8.self) { String(decoding: $0, as: UTF8.self) }
    }
  }

  /// A field with these bytes as its value.
  func field(_ name: HTTPField.Name, _ value: ByteRange) -> HTTPField {
    // Of bytes, HTTPTypes makes a field more slowly than of a text; but a value need not be UTF-8.
    isASCII(value)
      ? HTTPField(name: name, value: string(value)) : withBytes(value) { HTTPField(name: name, value: $0) }
  }

  private func isASCII(_ range: ByteRange) -> Bool {
    withBytes(range) { bytes in
      var position = 0
      var all: UInt64 = 0
      while bytes.count &- position >= 8 {
        all |= bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
        position &+= 8
      }
      while position < bytes.count {
        all |= UInt64(bytes[position])
        position &+= 1
      }
      return all & 0x8080_8080_8080_8080 == 0
    }
  }

  @inline(__always)
  private func withBytes<Result>(_ range: ByteRange, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range.start..<range.end])) }
  }
}

extension UInt8 {
  var isOptionalWhitespace: Bool { self == 0x20 || self == 0x09 }
  var isDigit: Bool { self >= 0x30 && self <= 0x39 }
  var isLetter: Bool { (self | 0x20) >= 0x61 && (self | 0x20) <= 0x7A }
  var lowercasedASCII: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }

  /// `tchar` of RFC 9110 §5.6.2.
  var isTokenCharacter: Bool {
    // The characters that are, each a bit: !#$%&'*+-.^_`|~, digits and letters.
    let (lower, upper): (UInt64, UInt64) = (0x03FF_6CFA_0000_0000, 0x57FF_FFFF_C7FF_FFFE)
    return self < 0x80 && ((self < 0x40 ? lower : upper) >> UInt64(self & 0x3F)) & 1 == 1
  }
}
