// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Writes a log line into memory of a fixed size. Bytes that do not fit are counted, but not written.
///
/// This is the only file of the log with unsafe pointers. Appending the pieces of a line to an array, one by one, takes
/// three times as long, which is 7 % of the cost of a hit.
struct LineWriter {
  private let memory: UnsafeMutableRawBufferPointer
  private var count = 0

  /// Appends the written bytes to an array.
  ///
  /// - Parameter write: called a second time if the line has more bytes than nearly all lines.
  @inline(__always)
  static func append(to bytes: inout [UInt8], _ write: (inout LineWriter) -> Void) {
    // The memory that is taken from the stack.
    var capacity = 1024
    while true {
      let missing: Int = withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 8) { memory in
        var writer = LineWriter(memory: memory)
        write(&writer)
        if writer.count <= memory.count {
          bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: memory[..<writer.count]))
        }
        return writer.count - memory.count
      }
      if missing <= 0 { return }
      capacity += missing
    }
  }

  private init(memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

  // MARK: - Text of the proxy

  @inline(__always)
  mutating func append(_ text: StaticString) {
    append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  mutating func append(token text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  mutating func append(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { append($0) }
  }

  /// Appends a non-negative number.
  mutating func append(decimal number: Int, width: Int = 1) {
    // The digits of up to eight places are computed last first: they are collected in a word.
    var (rest, digits, places) = (number, UInt64(0), 0)
    while places < 8, rest > 0 || places < width {
      digits = digits << 8 | UInt64(truncatingIfNeeded: 0x30 + rest % 10)
      rest /= 10
      places += 1
    }
    if rest > 0 { append(decimal: rest) }
    if count + 8 <= memory.count {
      memory.storeBytes(of: digits.littleEndian, toByteOffset: count, as: UInt64.self)
      count += places
    } else {
      for place in 0..<places { append(UInt8(truncatingIfNeeded: digits >> (8 * place))) }
    }
  }

  mutating func append(seconds microseconds: Int64) {
    append(decimal: Int(microseconds / 1_000_000))
    append(".")
    append(decimal: Int(microseconds % 1_000_000), width: 6)
  }

  // MARK: - Text from clients

  /// Maximum bytes that are logged of each text from a client; the rest is cut off.
  static let textLimit = 8 << 10

  /// How special characters are escaped.
  enum Escape {
    /// As `\x22`, as nginx does: a quoted text ends at the next quotation mark, whatever is in it.
    case hexadecimal
    /// As `\u0022`. A byte beyond ASCII becomes the character of the same number: octets of clients have no encoding.
    case json
    /// The same for a text of the proxy, whose UTF-8 stays.
    case jsonText
  }

  mutating func append(_ text: String, escape: Escape) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0), escape: escape) }
  }

  /// Appends the bytes of the value as received: a conversion to a string might change them.
  mutating func append(valueOf field: HTTPField, escape: Escape) {
    field.withUnsafeBytesOfValue { append(UnsafeRawBufferPointer($0), escape: escape) }
  }

  /// Escapes quotation marks, backslashes, control characters, and, in octets, everything beyond ASCII.
  mutating func append(_ bytes: UnsafeRawBufferPointer, escape: Escape) {
    let bytes = UnsafeRawBufferPointer(
      start: bytes.baseAddress, count: Swift.min(bytes.count, Self.textLimit))
    if Self.isPlain(bytes) { return append(bytes) }
    for byte in bytes {
      if Self.isPlain(byte) || (escape == .jsonText && byte >= 0x80) {
        append(byte)
      } else {
        append(escape == .hexadecimal ? "\\x" : "\\u00")
        append(Self.digit(byte >> 4))
        append(Self.digit(byte & 15))
      }
    }
  }

  @inline(__always)
  private static func isPlain(_ byte: UInt8) -> Bool {
    (byte &- 0x20 < 0x5F) && (byte != 0x22) && (byte != 0x5C)
  }

  /// Whether all bytes are plain; eight are tested together.
  @inline(__always)
  private static func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var (position, found) = (0, UInt64(0))
    while bytes.count - position >= 8 {
      let word = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
      // The upper bit of each byte that is below 0x20, a quotation mark, a backslash, 0x7F, or beyond ASCII.
      found |= word &- 0x2020_2020_2020_2020 & ~word
      found |= zeros(word ^ 0x2222_2222_2222_2222) | zeros(word ^ 0x5C5C_5C5C_5C5C_5C5C)
      found |= zeros(word ^ 0x7F7F_7F7F_7F7F_7F7F) | word
      position += 8
    }
    var isPlain = found & 0x8080_8080_8080_8080 == 0
    while position < bytes.count {
      isPlain = isPlain && Self.isPlain(bytes[position])
      position += 1
    }
    return isPlain
  }

  /// Returns the upper bit of each byte that is zero. If there is one, bits of other bytes may be set too.
  @inline(__always)
  private static func zeros(_ word: UInt64) -> UInt64 { (word &- 0x0101_0101_0101_0101) & ~word }

  private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }

  // MARK: - Bytes

  @inline(__always)
  private mutating func append(_ bytes: UnsafeRawBufferPointer) {
    let end = count + bytes.count
    if end <= memory.count {
      UnsafeMutableRawBufferPointer(rebasing: memory[count..<end]).copyMemory(from: bytes)
    }
    count = end
  }

  private mutating func append(_ byte: UInt8) {
    if count < memory.count { memory[count] = byte }
    count += 1
  }
}
