// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Writes integers and texts in sequence, into memory of a fixed size.
///
/// One of the four files of the engine with unsafe pointers (see `FieldBytes`). Appending to an array takes ninety instructions each
/// time. Appended byte by byte, a head of ten fields took 10,000. Bytes beyond the capacity are not written, but
/// counted.
struct ByteWriter {
  private let memory: UnsafeMutableRawBufferPointer
  private var count = 0

  /// Returns the written bytes as an array.
  ///
  /// - Parameters:
  ///   - expected: about how many bytes there are.
  ///   - write: writes the bytes; called a second time if they exceed the first capacity, which is enough for nearly all
  ///     heads.
  @inline(__always)
  static func bytes(expecting expected: Int = 0, _ write: (inout ByteWriter) -> Void) -> [UInt8] {
    // The size that is allocated on the stack.
    var capacity = Swift.max(1024, expected)
    while true {
      let bytes: [UInt8]? = withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 8) { memory in
        var writer = ByteWriter(memory: memory)
        write(&writer)
        guard writer.count <= memory.count else {
          capacity = writer.count
          return nil
        }
        return [UInt8](UnsafeRawBufferPointer(rebasing: memory[..<writer.count]))
      }
      if let bytes { return bytes }
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
  @inline(__always)
  mutating func append(_ text: String) {
    text.withFieldBytes { append($0) }
  }

  /// Writes the bytes only.
  @inline(__always)
  mutating func append(_ bytes: Span<UInt8>) {
    let end = count &+ bytes.count
    if end <= memory.count {
      bytes.withUnsafeBytes {
        // Not by a slice of the memory, whose checks are not inlined: twenty instructions for each text.
        if let source = $0.baseAddress, let start = memory.baseAddress {
          (start + count).copyMemory(from: source, byteCount: $0.count)
        }
      }
    }
    count = end
  }
}
