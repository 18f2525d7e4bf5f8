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

  /// Whether the range holds this lowercase ASCII text, in whatever case.
  func matches(_ lowercase: StaticString, in range: ByteRange) -> Bool {
    guard range.count == lowercase.utf8CodeUnitCount else { return false }
    return lowercase.withUTF8Buffer { expected in
      let expected = expected.span
      for offset in 0..<range.count
      where self[range.start + offset].lowercasedASCII != expected[offset] {
        return false
      }
      return true
    }
  }

  func string(_ range: ByteRange) -> String {
    guard !range.isEmpty else { return "" }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(range.count)
    for index in range.start..<range.end { bytes.append(self[index]) }
    return String(decoding: bytes, as: UTF8.self)
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
    switch self {
    case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
      UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
      true
    default: isDigit || isLetter
    }
  }
}
