// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Writes integers and texts in sequence, into memory of a fixed size: stored forms, and the heads of messages.
///
/// One of the four files of the engine with unsafe pointers (see `FieldBytes`). Appending to an array takes ninety instructions each
/// time. Appended byte by byte, a head of ten fields took 10,000. Bytes beyond the capacity are not written, but
/// counted.
package struct ByteWriter {
  @usableFromInline let memory: UnsafeMutableRawBufferPointer
  @usableFromInline var count = 0

  /// Returns the written bytes as an array; see ``written(expecting:_:as:)``.
  @inline(__always)
  static func bytes(expecting expected: Int = 0, _ write: (inout ByteWriter) -> Void) -> [UInt8] {
    written(expecting: expected, write) { [UInt8]($0) }
  }

  /// Returns the written bytes as a text; see ``written(expecting:_:as:)``.
  @inline(__always)
  static func text(_ write: (inout ByteWriter) -> Void) -> String {
    written(expecting: 0, write) { String(decoding: $0, as: UTF8.self) }
  }

  /// - Parameters:
  ///   - expected: about how many bytes there are.
  ///   - write: writes the bytes; called a second time if they exceed the first capacity, which is enough for nearly all
  ///     heads.
  ///   - result: makes the result of the bytes.
  @inline(__always)
  private static func written<Result>(
    expecting expected: Int, _ write: (inout ByteWriter) -> Void,
    as result: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    // The size that is allocated on the stack.
    var capacity = Swift.max(1024, expected)
    while true {
      let made: Result? = withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 8) { memory in
        var writer = ByteWriter(memory: memory)
        write(&writer)
        guard writer.count <= memory.count else {
          capacity = writer.count
          return nil
        }
        return result(UnsafeRawBufferPointer(rebasing: memory[..<writer.count]))
      }
      if let made { return made }
    }
  }

  /// Writes to the end of a span, if its free capacity is enough.
  ///
  /// - Returns: `nil` if the bytes are written; otherwise how many they are, and none is in the span.
  package static func append(to span: inout OutputRawSpan, _ write: (inout ByteWriter) -> Void) -> Int? {
    span.withUnsafeMutableBytes { bytes, initialized in
      var writer = ByteWriter(memory: UnsafeMutableRawBufferPointer(rebasing: bytes[initialized...]))
      write(&writer)
      guard writer.count <= writer.memory.count else { return writer.count }
      initialized += writer.count
      return nil
    }
  }

  private init(memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

  /// Writes an integer in little-endian order.
  @inline(__always)
  mutating func write(_ integer: some FixedWidthInteger & BitwiseCopyable) {
    let end = count &+ integer.bitWidth / 8
    if end <= memory.count {
      memory.storeBytes(of: integer.littleEndian, toByteOffset: count, as: type(of: integer))
    }
    count = end
  }

  /// Writes the length in bytes (4), and the UTF-8.
  @inline(__always)
  mutating func write(_ text: String) {
    text.withFieldBytes {
      write(UInt32(truncatingIfNeeded: $0.count))
      append($0)
    }
  }

  /// Writes the length in bytes (4), and the octets.
  mutating func write(_ octets: Octets) {
    if let text = octets.ascii { write(text) } else { write(octets.bytes) }
  }

  /// Writes the octets only.
  mutating func append(_ octets: Octets) {
    if let text = octets.ascii { append(text) } else { append(octets.bytes.span) }
  }

  /// Writes the length in bytes (4), and the bytes.
  mutating func write(_ bytes: [UInt8]) {
    write(UInt32(truncatingIfNeeded: bytes.count))
    append(bytes.span)
  }

  /// Writes the length in bytes (4), and the text, if it is ASCII; returns `false` if not.
  @inline(__always)
  mutating func write(ascii text: String) -> Bool {
    text.withFieldBytes {
      guard $0.isASCII else { return false }
      write(UInt32(truncatingIfNeeded: $0.count))
      append($0)
      return true
    }
  }

  /// Writes the length in bytes (4), and the original bytes: a value may be other than UTF-8 (RFC 9110 §5.5).
  mutating func writeValue(of field: HTTPField) {
    field.withUnsafeBytesOfValue { bytes in
      write(UInt32(truncatingIfNeeded: bytes.count))
      append(bytes.span)
    }
  }

  /// Writes the UTF-8 only.
  @inlinable @inline(__always)
  package mutating func append(_ text: String) {
    text.withFieldBytes { append($0.bytes) }
  }

  @inlinable
  package mutating func append(literal text: StaticString) {
    append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Writes a number in decimal digits.
  ///
  /// - Parameter digits: minimum number of digits; zeros come before a shorter number.
  package mutating func append(decimal number: Int64, digits least: Int = 1) {
    if number < 0 { append(literal: "-") }
    var rest = number.magnitude
    // 2^64 has 20 digits.
    withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { digits in
      var first = digits.count
      repeat {
        first -= 1
        digits[first] = UInt8(0x30 + rest % 10)
        rest /= 10
      } while rest > 0 || digits.count - first < least
      append(UnsafeRawBufferPointer(rebasing: digits[first...]))
    }
  }

  /// Writes a field line and its end (RFC 9112 §5).
  package mutating func appendLine(_ field: HTTPField) {
    append(field.name.rawName)
    append(literal: ": ")
    field.withUnsafeBytesOfValue { append(UnsafeRawBufferPointer($0)) }
    append(literal: "\r\n")
  }

  package mutating func appendLine(_ name: String, _ value: String) {
    append(name)
    append(literal: ": ")
    append(value)
    append(literal: "\r\n")
  }

  /// Writes the bytes only.
  @inline(__always)
  mutating func append(_ bytes: Span<UInt8>) {
    bytes.withUnsafeBytes { append($0) }
  }

  /// Writes the bytes only.
  @inlinable @inline(__always)
  package mutating func append(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { append($0) }
  }

  @inlinable @inline(__always)
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    let end = count &+ bytes.count
    // Not by a slice of the memory, whose checks are not inlined: twenty instructions for each text.
    if end <= memory.count, let source = bytes.baseAddress, let start = memory.baseAddress {
      (start + count).copyMemory(from: source, byteCount: bytes.count)
    }
    count = end
  }
}
