// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Access to the bytes of a field value without copying them.
///
/// This file, `Octets`, `ByteWriter` and `SelectingBytes` are the only ones of the engine with unsafe pointers; all others use a
/// bounds-checked `Span`.
extension String {
  /// Calls `body` with the UTF-8 bytes of this string.
  @inlinable @inline(__always)
  package func withFieldBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    if let result = utf8.withContiguousStorageIfAvailable({ body($0.span) }) {
      return result
    }
    var copy = self  // A bridged string of Apple's systems is made native first.
    return copy.withUTF8 { body($0.span) }
  }
}

extension HTTPField {
  /// Calls `body` with the octets of the value as they were received: they need not be UTF-8 (RFC 9110 §5.5).
  @inline(__always)
  package func withOctets<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    withUnsafeBytesOfValue { body($0.span) }
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

  /// Returns the range without optional whitespace (OWS, RFC 9110 §5.6.3) at its ends.
  func trimmed(_ range: ByteRange) -> ByteRange {
    var range = range
    while range.start < range.end, self[range.start].isOptionalWhitespace { range.start += 1 }
    while range.end > range.start, self[range.end - 1].isOptionalWhitespace { range.end -= 1 }
    return range
  }

  /// Whether the range contains exactly this ASCII text, in any case.
  ///
  /// Compares eight or four bytes at a time, and with constants if the text is a literal. Byte by byte, the names of
  /// directives took a third of the instructions of parsing Cache-Control. With a call for each, those of fields took
  /// 160 to identify one.
  ///
  /// - Parameter lowercase: the text in lowercase; it contains only letters, digits, and ASCII characters below the
  ///   capital letters.
  @inline(__always)
  func matches(_ lowercase: StaticString, in range: ByteRange) -> Bool {
    let count = lowercase.utf8CodeUnitCount
    guard range.count == count else { return false }
    let expected = UnsafeRawPointer(lowercase.utf8Start)
    if count >= 8 { return bytes.matches(expected, from: range.start, count, by: UInt64.self) }
    if count >= 4 { return bytes.matches(expected, from: range.start, count, by: UInt32.self) }
    return bytes.matches(expected, from: range.start, count, by: UInt8.self)
  }

  /// Whether the bytes contain a byte; checks eight at a time.
  package func contains(_ byte: UInt8) -> Bool {
    var position = 0
    while count - position >= 8 {
      if word(at: position).bytes(equalTo: byte) != 0 { return true }
      position += 8
    }
    while position < count {
      if self[position] == byte { return true }
      position += 1
    }
    return false
  }

  func isASCII(_ range: ByteRange) -> Bool {
    for position in range.start..<range.end where self[position] >= 0x80 { return false }
    return true
  }

  var isASCII: Bool {
    var position = 0
    var all: UInt64 = 0
    if count >= 8 {
      while position < count {
        // The last word may overlap the one before it.
        all |= word(at: Swift.min(position, count - 8))
        position += 8
      }
    } else {
      while position < count {
        all |= UInt64(self[position])
        position += 1
      }
    }
    return all & UInt64.upperBits == 0
  }

  /// Whether both are the same text of ASCII.
  @inline(__always)
  func isSameASCII(_ other: Span<UInt8>) -> Bool {
    guard count == other.count else { return false }
    var difference: UInt64 = 0
    var position = 0
    if count >= 8 {
      while position < count {
        // The last word may overlap the one before it.
        let start = Swift.min(position, count - 8)
        let word = word(at: start)
        difference |= (word ^ other.word(at: start)) | (word & UInt64.upperBits)
        position += 8
      }
    } else {
      while position < count {
        difference |= UInt64((self[position] ^ other[position]) | (self[position] & 0x80))
        position += 1
      }
    }
    return difference == 0
  }

  /// Whether these are the bytes of a text, or of its lowercase form.
  ///
  /// - Parameter text: the text; of the characters from `@` on, it contains letters only.
  @inline(__always)
  package func equals(_ text: StaticString, inLowercase isLowercase: Bool) -> Bool {
    guard text.utf8CodeUnitCount == count else { return false }
    let expected = UnsafeRawPointer(text.utf8Start)
    return count >= 8
      ? equals(expected, by: UInt64.self, inLowercase: isLowercase)
      : equals(expected, by: UInt8.self, inLowercase: isLowercase)
  }

  /// The last word may overlap the one before it.
  @inline(__always)
  private func equals<Word: FixedWidthInteger & BitwiseCopyable>(
    _ expected: UnsafeRawPointer, by _: Word.Type, inLowercase isLowercase: Bool
  ) -> Bool {
    let width = MemoryLayout<Word>.size
    // Only letters have bit 6 set; bit 5 is their case.
    let bit6 = isLowercase ? Word.max / 0xFF * 0x40 : 0
    var offset = 0
    while offset < count {
      offset = Swift.min(offset, count - width)
      let word = expected.loadUnaligned(fromByteOffset: offset, as: Word.self)
      if bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: Word.self) != word | ((word & bit6) >> 1) {
        return false
      }
      offset += width
    }
    return true
  }

  /// Returns eight bytes, the first as the lowest. The bytes must exist.
  @inlinable
  @inline(__always)
  package func word(at position: Int) -> UInt64 {
    UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self))
  }

  /// Whether the range contains only characters of tokens (RFC 9110 §5.6.2).
  func isToken(_ range: ByteRange) -> Bool {
    for position in range.start..<range.end where !self[position].isTokenCharacter { return false }
    return true
  }

  func string(_ range: ByteRange) -> String {
    guard !range.isEmpty else { return "" }
    // Without a copy in between: a short text needs no separate memory.
    return String(unsafeUninitializedCapacity: range.count) { text in
      for offset in 0..<range.count { text[offset] = self[range.start + offset] }
      return range.count
    }
  }

  /// Returns the text of a range in lowercase; the range must be ASCII.
  func lowercasedString(_ range: ByteRange) -> String {
    guard !range.isEmpty else { return "" }
    return String(unsafeUninitializedCapacity: range.count) { text in
      for offset in 0..<range.count { text[offset] = self[range.start + offset].lowercasedASCII }
      return range.count
    }
  }
}

extension RawSpan {
  /// Whether the bytes from `start` on are those of a lowercase text, in any case.
  ///
  /// Words at the end may overlap. Of the characters in such a text, only letters have bit 6 set: bit 5 is their case,
  /// and all other bits must be equal.
  @inline(__always)
  fileprivate func matches<Word: FixedWidthInteger & BitwiseCopyable>(
    _ lowercase: UnsafeRawPointer, from start: Int, _ count: Int, by _: Word.Type
  ) -> Bool {
    let width = MemoryLayout<Word>.size
    let bit6 = Word.max / 0xFF * 0x40
    var offset = 0
    while offset < count {
      offset = Swift.min(offset, count - width)
      let expected = lowercase.loadUnaligned(fromByteOffset: offset, as: Word.self)
      let word = unsafeLoadUnaligned(fromByteOffset: start + offset, as: Word.self)
      if word | ((expected & bit6) >> 1) != expected { return false }
      offset += width
    }
    return true
  }
}

/// Operations on eight bytes at once. The upper bit of each byte of the result marks a match. In a row of marked bytes,
/// all but the first may be marked by mistake.
extension UInt64 {
  @inlinable
  package static var ones: UInt64 { .max / 0xFF }

  /// Returns a mask of the bytes that equal a given one.
  @inlinable
  @inline(__always)
  package func bytes(equalTo byte: UInt8) -> UInt64 {
    // A zero byte, and no other, borrows from its upper bit; the bytes that match are zero here.
    let difference = self ^ (Self.ones &* UInt64(byte))
    return (difference &- Self.ones) & ~difference & Self.upperBits
  }

  /// The upper bit of each byte.
  @inlinable
  package static var upperBits: UInt64 { ones << 7 }

  /// Returns a mask of the bytes that are greater than a given one; all must be ASCII. No byte is marked by mistake.
  @inline(__always)
  func bytes(above byte: UInt8) -> UInt64 {
    (self &+ Self.ones &* UInt64(0x7F - byte)) & Self.upperBits
  }

  /// Returns a mask of the bytes that are less than a given one, which is at most 128.
  @inline(__always)
  func bytes(below byte: UInt8) -> UInt64 {
    (self &- Self.ones &* UInt64(byte)) & ~self & Self.upperBits
  }
}

extension [UInt8] {
  /// Makes an array of several runs of bytes in sequence, with one allocation.
  ///
  /// Composed on the stack: appending takes 90 instructions a run. An array made with uninitialized memory takes 500,
  /// to find the type of its storage.
  init(joining first: Span<UInt8>, _ second: Span<UInt8>, _ third: Span<UInt8>) {
    let count = first.count + second.count + third.count
    self = withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { buffer in
      var free = buffer
      first.copy(to: &free)
      second.copy(to: &free)
      third.copy(to: &free)
      return [UInt8](buffer)
    }
  }

  /// Appends bytes.
  mutating func append(_ bytes: Span<UInt8>) {
    bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
  }
}

extension Span<UInt8> {
  /// Copies these bytes to the start of the memory, and leaves the rest unchanged.
  @inline(__always)
  fileprivate func copy(to memory: inout UnsafeMutableRawBufferPointer) {
    withUnsafeBytes { memory.copyMemory(from: $0) }
    memory = UnsafeMutableRawBufferPointer(rebasing: memory[count...])
  }
}

extension ArraySlice<UInt8> {
  /// Calls `body` with these bytes.
  func withBytes<Result>(_ body: (RawSpan) -> Result) -> Result {
    withUnsafeBytes { body($0.bytes) }
  }
}

/// The bytes of a stored response. A range outside of them is a programming error, and ends the process.
extension RawSpan {
  /// Reads a little-endian integer.
  @inline(__always)
  func integer<Integer: FixedWidthInteger & BitwiseCopyable>(at position: Int) -> Integer {
    Integer(littleEndian: unsafeLoadUnaligned(fromByteOffset: position, as: Integer.self))
  }

  /// Returns the text of these bytes; invalid UTF-8 is replaced.
  func string(_ range: ByteRange) -> String {
    withBytes(range) { bytes in
      bytes.withMemoryRebound(to: UInt8.self) { String(decoding: $0, as: UTF8.self) }
    }
  }

  func octets(_ range: ByteRange) -> Octets {
    isASCII(range)
      ? Octets(ofASCII: string(range))
      : withBytes(range) { bytes in
        bytes.withMemoryRebound(to: UInt8.self) { Octets($0.span, $0.span.whole) }
      }
  }

  func array(_ range: ByteRange) -> [UInt8] { withBytes(range) { [UInt8]($0) } }

  /// Makes a field with these bytes as its value.
  func field(_ name: HTTPField.Name, _ value: ByteRange) -> HTTPField {
    // HTTPTypes makes a field more slowly from bytes than from a text; but a value may be other than UTF-8.
    isASCII(value)
      ? HTTPField(name: name, value: string(value)) : withBytes(value) { HTTPField(name: name, value: $0) }
  }

  /// Makes the field of a line of a stored form.
  func field(_ line: StoredLine) -> HTTPField? {
    let name =
      line.number == 0 ? HTTPField.Name(string(line.name)) : FieldNameTable.name(numbered: line.number)
    return name.map { field($0, line.value) }
  }

  /// Whether all bytes are printable characters of ASCII, or blanks.
  package var isPrintableASCII: Bool { isPrintableASCII(ByteRange(start: 0, end: byteCount)) }

  func isPrintableASCII(_ range: ByteRange) -> Bool {
    var position = range.start
    guard range.count >= 8 else {
      while position < range.end {
        let byte: UInt8 = integer(at: position)
        if byte < 0x20 || byte > 0x7E { return false }
        position += 1
      }
      return true
    }
    while position < range.end {
      // The last word may overlap the one before it.
      let word: UInt64 = integer(at: Swift.min(position, range.end - 8))
      // The sum marks DEL, and what is above it is marked already.
      if (word.bytes(below: 0x20) | (word &+ UInt64.ones) | word) & UInt64.upperBits != 0 { return false }
      position += 8
    }
    return true
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

  /// The kind of the field with this name, and whether a 304 response has it.
  func nameFacts(_ name: ByteRange) -> (kind: FieldKind, isInNotModified: Bool) {
    withBytes(name) { bytes in
      bytes.withMemoryRebound(to: UInt8.self) { (FieldKind($0.span), $0.span.isNameInNotModified) }
    }
  }

  func isSame(as other: RawSpan) -> Bool {
    guard byteCount == other.byteCount else { return false }
    return withUnsafeBytes { bytes in other.withUnsafeBytes { bytes.elementsEqual($0) } }
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

  /// Whether the byte is a `tchar` of RFC 9110 §5.6.2.
  var isTokenCharacter: Bool {
    // A bitmask of these characters: !#$%&'*+-.^_`|~, digits and letters.
    let (lower, upper): (UInt64, UInt64) = (0x03FF_6CFA_0000_0000, 0x57FF_FFFF_C7FF_FFFE)
    return self < 0x80 && ((self < 0x40 ? lower : upper) >> UInt64(self & 0x3F)) & 1 == 1
  }
}
